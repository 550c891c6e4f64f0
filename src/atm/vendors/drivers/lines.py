"""
Lines over the pipes of another process: read in one thread, written in another, bounded on both ways.

A line that never ends is cut, and said to be. A process that does not read what it is told keeps nobody waiting. One
that is gone keeps no thread: also not if something that it started holds its pipes.
"""

from __future__ import annotations

import os
import queue
import select
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

LONGEST_LINE = 16 << 20
"""Bytes. Tool results with pictures in them are a few million long."""

CHUNK = 1 << 16
MOST_WAITING = 64 << 20
"""Bytes that may wait for a process that does not read."""

POLLIN, POLLOUT = getattr(select, "POLLIN", 1), getattr(select, "POLLOUT", 4)

LAST_CHUNKS = 1024
"""Read at most when the process has ended: more than a pipe holds, and no more than that from who writes on."""


class LineCutter:
    """Puts lines together from pieces."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._held = bytearray()
        self._is_cut = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """The lines that end in this piece; None for each that was too long."""
        *ends, rest = data.split(b"\n")
        lines = [self._end(piece) for piece in ends]
        self._hold(rest)
        return lines

    def rest(self) -> list[bytes | None]:
        """A last line without an end, if there is one."""
        return [self._end(b"")] if self._held or self._is_cut else []

    def _end(self, piece: bytes) -> bytes | None:
        self._hold(piece)
        line = None if self._is_cut else bytes(self._held)
        self._held.clear()
        self._is_cut = False
        return line

    def _hold(self, piece: bytes) -> None:
        if len(self._held) + len(piece) > self._longest:
            self._is_cut = True
            self._held.clear()
        if not self._is_cut:
            self._held += piece


class Latch:
    """Tells threads that wait for a pipe that there is nothing more to wait for."""

    def __init__(self, holders: int) -> None:
        self._seen, self._end = os.pipe()
        self._holders = holders
        self._is_open = False
        self._lock = threading.Lock()

    def open(self) -> None:
        with self._lock:
            if not self._is_open:
                self._is_open = True
                os.close(self._end)

    def let_go(self) -> None:
        """Each holder once, when it waits no more."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                os.close(self._seen)

    def awaits(self, fd: int, event: int) -> bool:
        """Wait until the pipe is ready; False if the latch is open. Where pipes cannot be waited for, do not."""
        if not hasattr(select, "poll"):
            return True
        poll = select.poll()
        poll.register(fd, event)
        poll.register(self._seen, POLLIN)
        ready = [number for number, _ in poll.poll()]
        return self._seen not in ready

    def is_ready(self, fd: int) -> bool:
        """Is there something to be read at once?"""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(fd, POLLIN)
        return bool(poll.poll(0))


class Lines:
    """Both pipes of one process. They are closed here, by the threads that use them."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], longest: int = LONGEST_LINE) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._cutter = LineCutter(longest)
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._is_finished = False
        self._lock = threading.Lock()
        self._latch = Latch(2)

    def start(self, hear: Callable[[bytes | None], None], ended: Callable[[], None]) -> None:
        """Hear each line, None for one that was cut; and once that there will be no more."""
        if hasattr(select, "poll"):
            os.set_blocking(self._stdin.fileno(), False)
        threading.Thread(target=self._read, args=(hear, ended), daemon=True, name="atm agent reader").start()
        threading.Thread(target=self._write, daemon=True, name="atm agent writer").start()

    def send(self, line: bytes) -> bool:
        """Never waits. False if too much waits already, or nobody will read it."""
        with self._lock:
            if self._is_finished or self._waiting + len(line) > MOST_WAITING:
                return False
            self._waiting += len(line)
            self._outbox.put(line)
        return True

    def finish(self) -> None:
        """Close the process's standard input when all is written."""
        with self._lock:
            self._is_finished = True
        self._outbox.put(None)

    def forget(self) -> None:
        """Wait no longer. What the process said before its end is still heard."""
        self._latch.open()

    # Each in a thread of its own.

    def _read(self, hear: Callable[[bytes | None], None], ended: Callable[[], None]) -> None:
        fd = self._stdout.fileno()
        with self._stdout:
            while self._latch.awaits(fd, POLLIN) and self._read_some(fd, hear):
                pass
            for _ in range(LAST_CHUNKS):
                if not (self._latch.is_ready(fd) and self._read_some(fd, hear)):
                    break
            for line in self._cutter.rest():
                hear(line)
        self._latch.open()  # for the writer, which nobody reads any more
        self._latch.let_go()
        self.finish()
        ended()

    def _read_some(self, fd: int, hear: Callable[[bytes | None], None]) -> bool:
        """False when the other side has closed."""
        try:
            data = os.read(fd, CHUNK)
        except OSError:
            return False
        for line in self._cutter.feed(data):
            hear(line)
        return bool(data)

    def _write(self) -> None:
        while (line := self._outbox.get()) is not None and self._write_all(line):
            with self._lock:
                self._waiting -= len(line)
        with self._lock:
            self._is_finished = True
        try:
            self._stdin.close()
        except OSError:
            pass  # it does not listen any more
        self._latch.let_go()

    def _write_all(self, line: bytes) -> bool:
        fd, view = self._stdin.fileno(), memoryview(line)
        while view:
            if not self._latch.awaits(fd, POLLOUT):
                return False
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                continue  # less room than the line is long
            except OSError:
                return False  # it does not listen any more; whoever waits for its end sees that
        return True
