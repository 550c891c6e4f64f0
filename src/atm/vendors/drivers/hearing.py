"""What a driver tells its host: one thing at a time, in order, nothing after GONE; and the questions that are open."""

from __future__ import annotations

import threading

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes
from atm.vendors.driver import GONE, QUESTION, TROUBLE, WITHDRAWN, Heard
from atm.vendors.drivers.lines import LONGEST_LINE, Lines
from atm.vendors.drivers.said import call_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from atm.core.plain import Plain, Record


class Ear:
    """The host's, as a driver sees it."""

    def __init__(self) -> None:
        self._hear: Callable[[Heard], None] | None = None
        self._is_over = False
        self._lock = threading.RLock()

    def listen(self, hear: Callable[[Heard], None]) -> None:
        self._hear = hear

    def tell(self, kind: str, text: str = "", **facts: Plain) -> None:
        with self._lock:
            if self._hear is not None and not self._is_over:
                self._is_over = kind == GONE
                self._hear(Heard(kind, text, **facts))


class Questions:
    """Those that wait for an answer, each with what its protocol needs to give one."""

    def __init__(self, ear: Ear, vendor: str) -> None:
        self._ear = ear
        self._vendor = vendor
        """By which the arguments of a call are read: another one names other fields."""
        self._open: dict[str, Record] = {}
        self._lock = threading.Lock()

    def ask(self, id: str, tool: str, arguments: Record, kept: Record) -> None:
        with self._lock:
            self._open[id] = kept
        self._ear.tell(QUESTION, call_in_words(tool, arguments), id=id, tool=tool, input=arguments, vendor=self._vendor)

    def is_open(self, id: str) -> bool:
        with self._lock:
            return id in self._open

    def take(self, id: str) -> Record | None:
        """It is answered now. None if it is not open: nothing is ever answered twice."""
        with self._lock:
            return self._open.pop(id, None)

    def withdraw(self, id: str) -> Record | None:
        """Nobody waits for its answer any more."""
        kept = self.take(id)
        if kept is not None:
            self._ear.tell(WITHDRAWN, id=id)
        return kept

    def withdraw_all(self) -> list[Record]:
        with self._lock:
            ids = list(self._open)
        return [kept for id in ids if (kept := self.withdraw(id)) is not None]


class JsonLines:
    """An object on each line, both ways. What is no object is passed over: programs print all kinds of things."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], ear: Ear, longest: int = LONGEST_LINE) -> None:
        self._lines = Lines(stdin, stdout, longest)
        self._ear = ear
        self._longest = longest

    def start(self, take: Callable[[Record], None], ended: Callable[[], None]) -> None:
        self._lines.start(lambda line: self._read(line, take), ended)

    def send(self, record: Record) -> bool:
        is_taken = self._lines.send(to_bytes(encode(record) + "\n"))
        if not is_taken:
            self._ear.tell(TROUBLE, "it does not read what it is told")
        return is_taken

    def finish(self) -> None:
        self._lines.finish()

    def forget(self) -> None:
        self._lines.forget()

    def _read(self, line: bytes | None, take: Callable[[Record], None]) -> None:
        if line is None:
            self._ear.tell(TROUBLE, f"it said more than {self._longest} bytes on one line; the line is lost")
            return
        try:
            record = decode_object(line.decode("utf-8", "replace"))
        except NotJson:
            return
        try:
            take(record)
        except Exception as error:  # noqa: BLE001 - one message that we misread must not make an agent deaf and dumb
            self._ear.tell(TROUBLE, f"a line of its protocol was not understood: {error!r}")
