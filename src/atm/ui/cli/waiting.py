"""A sign of life for people at a terminal, while something is waited for."""

from __future__ import annotations

import sys
import threading
import time

from atm.domain.untrusted_text import one_line
from atm.ui.views.fitting import cut
from atm.ui.views.style import terminal_columns
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from atm.ui.cli.session import Session

SLICE, PATIENCE = 0.1, 0.3
"""Seconds. What takes less than the last needs no sign."""
SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Spinner:
    """
    One line on a terminal that says what is waited for, and for how long. Elsewhere nothing, or one plain line.

    It is drawn by a thread of its own: whoever waits is inside of something that knows nothing of it.
    """

    def __init__(self, session: Session, what: str, *, otherwise: str = "") -> None:
        self._what = one_line(what)
        self._otherwise = otherwise
        self._live = sys.stderr.isatty() and not session.as_json and session.environment.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="atm-spinner", daemon=True)
        self._session = session

    def __enter__(self) -> Self:
        if self._live:
            self._thread.start()
        elif self._otherwise:
            self._session.warn(self._otherwise)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._live:
            self._thread.join()
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self) -> None:
        turns = 0
        while not self._over.wait(SLICE if turns else PATIENCE):
            gone = time.monotonic() - self._began
            most = max(10, (terminal_columns(sys.stderr) or 80) - 12)
            sys.stderr.write(f"\r\x1b[K{SIGNS[turns % len(SIGNS)]} {cut(self._what, most)}  {gone:.0f} s")
            sys.stderr.flush()
            turns += 1

    def turn(self) -> None:
        """For whoever waits in steps: Ctrl-C counts here."""
        with interruptions:
            return
