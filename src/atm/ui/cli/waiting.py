"""A sign of life for people at a terminal, while something is waited for."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager

from atm.core.untrusted_text import one_line
from atm.ui.views.fitting import cut, last_lines
from atm.ui.views.style import terminal_columns
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from atm.ui.cli.session import Session

SLICE, PATIENCE = 0.1, 0.3
"""Seconds. What takes less than the last needs no sign."""
SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TAIL = 2
"""Lines of what a command that runs said last, the command itself among them."""


class Spinner:
    """
    A line on a terminal that says what is waited for, and for how long; below it the end of what a check says that runs
    meanwhile. It goes when the wait is over. Elsewhere nothing, or one plain line; nothing on a terminal that is to be
    left plain, nor to an agent at one, which would read every turn of it.

    It is drawn by a thread of its own: whoever waits is inside of something that knows nothing of it.
    """

    def __init__(self, session: Session, what: str, *, otherwise: str = "") -> None:
        self.what = one_line(what)
        self._otherwise = otherwise
        said = session.environment
        is_plain = said.get("TERM") == "dumb" or said.get("NO_COLOR") or said.get("ATM_NO_COLOR")
        is_seen = sys.stderr.isatty() and not is_plain
        self._live = is_seen and not session.as_json and not session.is_of_an_agent
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._turn_round, name="atm-spinner", daemon=True)
        self._session = session
        self._drawn = 0
        self._pen = threading.Lock()

    def __enter__(self) -> Self:
        self._live = self._live and self._session.makes_room is None  # whoever waits for the whole sees that already
        if self._live:
            self._session.makes_room, self._session.heard = self.aside, b""
            self._thread.start()
        elif self._otherwise:
            self._session.warn(self._otherwise)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._live:
            self._thread.join()
            self._erase()
            self._session.makes_room = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """For whoever has something to say meanwhile: the line makes room, and comes again below it."""
        with self._pen:
            self._erase()
            yield

    def turn(self) -> None:
        """For whoever waits in steps: Ctrl-C counts here."""
        with interruptions:
            return

    def _turn_round(self) -> None:
        turns = 0
        while not self._over.wait(SLICE if turns else PATIENCE):
            with self._pen:
                self._erase()
                self._draw(SIGNS[turns % len(SIGNS)])
            turns += 1

    def _draw(self, sign: str) -> None:
        gone = time.monotonic() - self._began
        columns = terminal_columns(sys.stderr) or 80
        time_gone = f"{gone:.0f} s" if gone < 120 else f"{gone // 60:.0f} min {gone % 60:.0f} s"
        lines = [f"{sign} {cut(self.what, max(10, columns - len(time_gone) - 5))}  {time_gone}"]
        lines += [
            f"  {cut(line, max(10, columns - 3))}"
            for line in last_lines(self._session.heard.decode("utf-8", "replace"), TAIL)
        ]
        self._drawn = len(lines)
        self._write("\n".join(lines))

    def _erase(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            self._drawn = 0
            self._write(f"{up}\r\x1b[J")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            return  # the terminal is gone; what is waited for is done all the same
