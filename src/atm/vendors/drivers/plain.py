"""
Any program: what it prints are lines for people, what is said to it goes to its standard input.

It has no turns and asks no questions. What is said is typed: somebody who runs a shell with this gives it commands.
"""

from __future__ import annotations

from atm.files.formats.json_record import to_bytes
from atm.vendors.driver import GONE, OUTPUT, READY, TROUBLE
from atm.vendors.drivers.hearing import Ear
from atm.vendors.drivers.lines import LONGEST_LINE, Lines
from atm.vendors.drivers.said import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.vendors.driver import Brief, Heard


class PlainDriver:
    """Implements `vendors.driver.Driver` for a program that knows nothing of agents."""

    explains_late = False

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], _: Brief, longest: int = LONGEST_LINE) -> None:
        self._ear = Ear()
        self._lines = Lines(stdin, stdout, longest)

    def begin(self, hear: Callable[[Heard], None]) -> None:
        self._ear.listen(hear)
        self._ear.tell(READY, session="")
        self._lines.start(self._read, lambda: self._ear.tell(GONE))

    def say(self, text: str) -> bool:
        return self._lines.send(to_bytes(f"{text}\n"))

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        """It never asked."""

    def go_to_work(self) -> None:
        """It never planned."""

    def interrupt(self) -> None:
        """There is nothing to interrupt but the process itself, and that is the host's."""

    def close(self) -> None:
        self._lines.finish()

    def forget(self) -> None:
        self._lines.forget()

    def _read(self, line: bytes | None) -> None:
        if line is None:
            self._ear.tell(TROUBLE, "it printed a line without an end; the line is lost")
        else:
            self._ear.tell(OUTPUT, shortened(line.decode("utf-8", "replace")))
