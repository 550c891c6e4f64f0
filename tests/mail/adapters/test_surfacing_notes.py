"""What is being shown, on disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from atm.files.adapters.disk import RealDisk
from atm.mail.adapters.surfacing_notes import SurfacingNotes
from atm.mail.rules.surfacing import HOOK, ShowingNote
from atm.wiring.files import build_locks


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
def test_what_is_being_shown_is_nobody_elses_business(room, layout):
    former = os.umask(0)
    try:
        turn = room.surfacings.turn("crew", "ann")
        with turn:
            turn.begin(ShowingNote(keys=["m-1"], channel=HOOK, at=1.0))
            note = Path(layout.surfacing("crew", "ann"))
            assert [path.stat().st_mode & 0o777 for path in (note, note.parent)] == [0o600, 0o700]
            turn.end()
    finally:
        os.umask(former)


def test_where_nobody_can_see_what_is_being_shown_that_is_told(layout):
    class Refusing(RealDisk):
        def look(self, path):
            raise PermissionError(13, "Permission denied", path)

    told: list[str] = []
    notes = SurfacingNotes(Refusing(), build_locks(layout), layout, told.append)
    assert notes.cut_off_since("crew", "ann") is None
    (said,) = told
    assert layout.surfacing("crew", "ann") in said
