"""Waiting for a run: a sign of life for people, and the wait itself, which Ctrl-C ends."""

from __future__ import annotations

import sys
import time

from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from atm.ui.cli.session import Session
    from atm.wiring.runs import RunNews

SLICE, TICK = 0.1, 1.0
SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Spinner:
    """One line on a terminal that says what is waited for, and for how long; one plain line without a terminal."""

    def __init__(self, session: Session, what: str) -> None:
        self._what = what
        self._live = sys.stderr.isatty() and not session.as_json
        self._began = time.monotonic()
        self._turns = 0
        self._session = session

    def __enter__(self) -> Self:
        if not self._live:
            self._session.warn(f"{self._what} …")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def turn(self) -> None:
        with interruptions:
            if self._live:
                gone = time.monotonic() - self._began
                sys.stderr.write(f"\r\x1b[K{SIGNS[self._turns % len(SIGNS)]} {self._what}  {gone:.0f} s")
                sys.stderr.flush()
            self._turns += 1


def wait_for(news: RunNews, known: object) -> None:
    """For a second, or until something is not as it was before the last look: what came meanwhile is not missed."""
    end = time.monotonic() + TICK
    with interruptions:
        while news.now() == known and (left := end - time.monotonic()) > 0:
            time.sleep(min(SLICE, left))
