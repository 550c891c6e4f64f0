"""A program on the other end of two pipes that says what a test tells it to, and a host that hears."""

from __future__ import annotations

import json
import os
import queue
import select
from typing import Any

from atm.vendors.driver import Driver, Heard

PATIENCE = 10.0
"""Seconds. Nothing waits that long when all is well."""


class FakeAgent:
    """The program. It reads what a driver writes, and writes what a driver reads."""

    def __init__(self) -> None:
        there, here = os.pipe()
        self.stdin, self._heard = os.fdopen(here, "wb", 0), os.fdopen(there, "rb", 0)
        here, there = os.pipe()
        self.stdout, self._mouth = os.fdopen(here, "rb", 0), os.fdopen(there, "wb", 0)
        self._rest = b""

    def hears(self) -> dict[str, Any]:
        """The next line that the driver wrote; empty when it has closed the pipe."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._heard], [], [], PATIENCE)
            assert ready, f"the driver wrote nothing more after {self._rest!r}"
            data = self._heard.read(1 << 16)
            if not data:
                return {}
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def hears_nothing(self) -> bool:
        """Nothing is on its way now. To be asked when something that would come later has come."""
        return not self._rest and not select.select([self._heard], [], [], 0)[0]

    def says(self, *records: object) -> None:
        for record in records:
            self.says_bytes(json.dumps(record).encode() + b"\n")

    def says_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._mouth.write(view) or 0 :]

    def stops_speaking(self) -> None:
        self._mouth.close()

    def ends(self) -> None:
        self._mouth.close()
        self._heard.close()


class Host:
    """Hears."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Heard] = queue.Queue()

    def hear(self, heard: Heard) -> None:
        self._queue.put(heard)

    def next(self) -> Heard:
        """Whatever comes next."""
        return self._queue.get(timeout=PATIENCE)

    def until(self, *kinds: str, patience: float = PATIENCE) -> Heard:
        """The next of these kinds; what comes before it is passed over."""
        passed: list[Heard] = []
        while True:
            try:
                heard = self._queue.get(timeout=patience)
            except queue.Empty:
                raise AssertionError(f"none of {kinds} was heard, but {passed}") from None
            if heard.kind in kinds:
                return heard
            passed.append(heard)

    def rest(self) -> list[Heard]:
        """All that was heard up to now and not asked for."""
        found = []
        while not self._queue.empty():
            found.append(self._queue.get())
        return found


class Talk:
    """A driver, the program that it speaks with, and the host that it speaks for."""

    def __init__(self, agent: FakeAgent, driver: Driver, host: Host) -> None:
        self.agent = agent
        self.driver = driver
        self.host = host
