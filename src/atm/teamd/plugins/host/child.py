"""
A plugin's process as the host sees it: started, spoken to, listened to, ended.

Threads do the reading, writing and waiting, because pipes that a forked child holds open must not keep the host from
noticing that the plugin itself has ended. Whatever they hear is handed to the event loop, never more of it at once
than the loop has dealt with.
"""

from __future__ import annotations

import asyncio
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from atm.core.plain import counted
from atm.teamd.plugins.process_care import MARK, ask_to_end, end_group, kill_strays
from atm.teamd.plugins.wire import Budget, decode_line, encode_line, read_lines, read_some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

    Hear = Callable[[str, Mapping[str, Plain]], None]

AT_ONCE = 256
"""Lines that may wait for the loop; the plugin's process waits when there are more."""

BURST, PER_SECOND = 500.0, 50.0
"""Lines of output that are kept at once, and each second on average."""

LONGEST_OUTPUT = 4096
BREATH = 0.002
"""Seconds of rest after output that is thrown away: a flood must not keep our own process busy."""

SECONDS_TO_DIE, SECONDS_TO_HEAR = 5.0, 5.0
"""Both pass in milliseconds unless the machine is busy, or the system itself hangs."""


class PluginChild:
    """One run of one plugin's process."""

    def __init__(self, mark: str, hear: Hear, output: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._hear = hear
        self._output = output
        self._mark = mark
        self._turns = threading.Semaphore(AT_ONCE)
        self._letters: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = asyncio.Event()
        self._silent = asyncio.Event()
        self._open_streams = 2

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    async def start(self, command: list[str], environment: Mapping[str, str], folder: str) -> None:
        """Raises OSError if there is no such program or folder."""
        self._process = await asyncio.to_thread(
            subprocess.Popen,
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, MARK: self._mark, "PYTHONUNBUFFERED": "1"},
            cwd=folder,
            start_new_session=os.name != "nt",
            bufsize=0,
        )
        for work in (self._await_end, self._read_wire, self._read_output, self._write):
            threading.Thread(target=work, args=(self._process,), daemon=True, name="atm-plugin").start()

    def send(self, kind: str, fields: Mapping[str, object]) -> None:
        self._letters.put(encode_line(kind, fields))

    async def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long; has it?"""
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def end(self, patience: float) -> None:
        """Ask it to end, and give it so many seconds."""
        process = self._process
        if process is None or self.has_ended:
            return
        if patience > 0:
            ask_to_end(process)
            await self.wait(patience)

    async def clear_up(self) -> int | None:
        """
        After its end: kill what it left running, hear its last words, reap it; its exit code.

        What it forked is killed first: it would keep the pipes open, and what the plugin said is in them already.
        """
        process = self._process
        if process is None:
            return None
        end_group(process)
        await self.wait(SECONDS_TO_DIE)
        await asyncio.to_thread(kill_strays, self._mark)
        try:
            await asyncio.wait_for(self._silent.wait(), SECONDS_TO_HEAR)
        except TimeoutError:
            pass
        self._letters.put(None)
        try:
            return process.wait(0)
        except subprocess.TimeoutExpired:  # in a system call that cannot be interrupted
            return None

    # Each in a thread of its own.

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        """Without reaping it where that is possible: until then its number, and its group's, is surely its own."""
        try:
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            else:
                process.wait()
        except OSError:  # another thread has reaped it
            pass
        self._soon(self._ended.set)

    def _read_wire(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as stream:
            for line in read_lines(stream.fileno()):
                decoded = decode_line(line)
                if decoded is None:
                    self._hand_over(partial(self._output, shown(line)))
                else:
                    self._hand_over(partial(self._hear, *decoded))
        self._soon(self._close_one)

    def _read_output(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        budget = Budget(BURST, PER_SECOND, time.monotonic())
        with process.stderr as stream:
            for lines in output_lines(stream.fileno()):
                kept = [line for line in lines if budget.allows(time.monotonic())]
                for line in kept:
                    self._tell_dropped(budget)
                    self._hand_over(partial(self._output, shown(line)))
                if lines and not kept:
                    time.sleep(BREATH)
        self._tell_dropped(budget)
        self._soon(self._close_one)

    def _tell_dropped(self, budget: Budget) -> None:
        lost = budget.take_dropped()
        if lost:
            self._hand_over(partial(self._output, f"dropped {counted(lost, 'line')} of its output: it writes too much"))

    def _write(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with process.stdin as stream:
            while (data := self._letters.get()) is not None:
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(stream.fileno(), view) :]
                except OSError:
                    continue  # it does not listen any more; whoever waits for its end sees that

    def _hand_over(self, call: Callable[[], None]) -> None:
        self._turns.acquire()
        self._soon(partial(self._dealt_with, call))

    def _dealt_with(self, call: Callable[[], None]) -> None:
        self._turns.release()
        call()

    def _soon(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            self._turns.release()  # the host is gone; the threads may run to their end

    def _close_one(self) -> None:
        self._open_streams -= 1
        if not self._open_streams:
            self._silent.set()


def output_lines(fd: int) -> Iterator[list[bytes]]:
    """What a process prints, in batches of lines; a line that never ends comes in pieces."""
    rest = b""
    while chunk := read_some(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_OUTPUT:
            lines, rest = [*lines, rest], b""
        yield lines
    if rest:
        yield [rest]


def shown(line: bytes) -> str:
    return line[:LONGEST_OUTPUT].decode("utf-8", "replace")
