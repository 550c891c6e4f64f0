"""Clean-up and the lock that others respect too: it is held from the first look to the last write, and waited for."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import FileBusy
from atm.files.adapters.disk import RealDisk
from atm.mail.formats.inbox import only
from atm.mail.services.retention import compact
from atm.testing import make_message
from atm.wiring.mail import build_room


@pytest.fixture
def inbox(home, room):
    path = home / ".claude/teams/crew/inboxes/ann.json"
    old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(8)]
    path.write_bytes(only([row.raw for row in old]))
    return path


class Watching(RealDisk):
    """Notes at every look at an inbox and at every exchange whether its lock is there."""

    def __init__(self, inbox):
        super().__init__()
        self.inbox = inbox
        self.held: list[tuple[str, bool]] = []

    def note(self, what: str) -> None:
        self.held.append((what, self.inbox.with_name("ann.json.lock").is_dir()))

    def open_read(self, path: str) -> int:
        if path == str(self.inbox):
            self.note("read")
        return super().open_read(path)

    def exchange(self, one: str, other: str) -> bool:
        self.note("write")
        return super().exchange(one, other)


@proves("R000-compaction-03", "R000-compaction-10")
def test_the_lock_is_held_from_the_reading_on_which_it_decides_to_the_writing(layout, inbox):
    disk = Watching(inbox)
    room = build_room(layout, disk=disk)
    room.policy.keep_read, room.policy.keep_days = 2, 1
    assert compact(room, "crew", "ann").removed == 6
    whats = [what for what, _ in disk.held]
    assert whats.index("read") < whats.index("write")
    assert all(is_held for _, is_held in disk.held)
    assert not inbox.with_name("ann.json.lock").exists()


@proves("R000-compaction-10")
def test_beside_somebody_elses_lock_nothing_is_cleaned_up(layout, inbox):
    before = inbox.read_bytes()
    inbox.with_name("ann.json.lock").mkdir()
    room = build_room(layout)
    room.policy.keep_read, room.policy.keep_days = 2, 1
    with pytest.raises(FileBusy):
        compact(room, "crew", "ann", patience=0.2)
    assert inbox.read_bytes() == before
    assert inbox.with_name("ann.json.lock").is_dir()
