"""
Fixtures for the command line: a team to talk to, ways to make writing fail, and a terminal.

Nothing here is mocked: `atm` runs as a program of its own, on real files, and on a real pseudo terminal.
"""

from __future__ import annotations

import codecs
import copy
import errno
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import UNHURRIED
from tests.optional import skip_without

SECONDS = 60
"""For what comes at once on a quiet machine."""


@pytest.fixture
def atm(atm, tmp_path_factory, monkeypatch, request):
    """
    The program, with its bytecode kept for all tests: compiling takes longer than most commands.

    It has longer bounds for what it waits for: half a second for an answer of the daemon, five for a lock that other
    processes want too. A machine that is busy for so long must not look like a fault. Tests that are about such a
    bound are marked `hurried`. What a test started and did not wait for, because it failed, is ended with it.
    """
    if not request.node.get_closest_marker("hurried"):
        atm.environment["PYTHONPATH"] = str(UNHURRIED)
    del atm.environment["PYTHONDONTWRITEBYTECODE"]
    atm.environment["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.getbasetemp() / "bytecode")
    started: list[subprocess.Popen[bytes]] = []
    start = atm.start

    def remember(*words: str, **more: Any) -> subprocess.Popen[bytes]:
        started.append(start(*words, **more))
        return started[-1]

    monkeypatch.setattr(atm, "start", remember)
    yield atm
    for process in started:
        if process.poll() is None:
            process.kill()
        if process.stdout and not process.stdout.closed:
            process.communicate(timeout=SECONDS)


@pytest.fixture
def crew(atm, room):
    """The program beside a team `crew` of ann and bob, both made without starting a process."""
    return atm


@pytest.fixture
def quickly(atm):
    """
    The program inside this process, whatever its verb and its exit code: for long tables of words that differ only in
    what is wrong with them, and for tests that change something in here.
    """
    guest = copy.copy(atm)
    guest.guest = True
    return lambda *words: guest(*words, code=None)


@pytest.fixture
def tasks(room, quickly):
    """`atm tasks …` in this process, for the team `crew`; its exit code is checked (None: any)."""

    def run(*words: str, code: int | None = 0) -> Any:
        done = quickly("tasks", *words)
        assert "unexpected" not in done.err, done.err
        assert code in (None, done.code), done
        return done

    return run


@pytest.fixture
def configure(atm) -> Callable[..., None]:
    """Write the user's settings file by hand: `configure(core={"identity": "ann"})`."""

    def write(**sections: dict[str, Any]) -> None:
        path = atm.home / ".config/atm/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        for name, keys in sections.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
        path.write_text("\n".join(lines) + "\n")

    return write


@pytest.fixture
def write_rows(atm) -> Callable[..., None]:
    """Put rows into an inbox as another program would: a plain JSON file."""

    def write(agent: str, *rows: Any, team: str = "crew") -> None:
        atm.inbox(agent, team).write_text(json.dumps(list(rows), indent=2))

    return write


@pytest.fixture
def foreign_row() -> Callable[..., dict[str, Any]]:
    """A row as Claude Code writes it."""

    def make(text: str = "hello", *, sender: str = "bob", read: bool = False, at: float | None = None, **more: Any):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() if at is None else at))
        return {"from": sender, "text": text, "timestamp": f"{stamp}.000Z", "read": read, **more}

    return make


@pytest.fixture
def block(atm) -> Callable[..., Callable[[], None]]:
    """Make an inbox impossible to write, at once and even for root: a directory lies in its place."""

    def close(agent: str, team: str = "crew") -> Callable[[], None]:
        path: Path = atm.inbox(agent, team)
        aside = path.with_suffix(".aside")
        path.rename(aside)
        path.mkdir()

        def reopen() -> None:
            path.rmdir()
            aside.rename(path)

        return reopen

    return close


@pytest.fixture
def immutable() -> Iterator[Callable[[Path], None]]:
    """`chattr +i`: what stops even root. Taken back at the end."""
    made: list[Path] = []

    def lock(path: Path) -> None:
        assert path.exists(), f"{path} is not there yet, which is no reason to skip a test"
        skip_without("chattr")
        done = subprocess.run(["chattr", "+i", str(path)], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("chattr +i needs root and a file system that knows it")
        made.append(path)

    yield lock
    for path in made:
        subprocess.run(["chattr", "-i", str(path)], check=False)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and what is in it."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def contents() -> Callable[[Path], dict[str, bytes]]:
    return snapshot


class Terminal:
    """A program on a pseudo terminal. `text` is everything that it has written so far."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, columns: int) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder, start_new_session=True
        )
        os.close(theirs)
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a read may end within a character
        self.ended = False

    def read_until(self, condition: Callable[[str], object], seconds: float = SECONDS) -> str:
        end = time.monotonic() + seconds
        while not condition(self.text) and not self.ended:
            left = end - time.monotonic()
            assert left > 0, f"the terminal did not show it in time:\n{self.text!r}"
            if select.select([self._mine], [], [], min(left, 0.1))[0]:  # the condition may be about a file
                self._take()
        return self.text

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def _take(self) -> None:
        try:
            data = os.read(self._mine, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # how Linux says that the other end was closed
                raise
            data = b""
        self.ended = not data
        self.text += self._decoder.decode(data, self.ended)

    def close(self) -> int:
        """Stop it if it still runs; the exit code."""
        if self.process.poll() is None:
            self.process.kill()
        code = self.process.wait(SECONDS)
        os.close(self._mine)
        return code


def screen(text: str) -> list[str]:
    """What stands on a terminal after all that was written to it: the lines that were not taken back."""
    lines, at = [""], 0
    for part in re.split(r"(\x1b\[\d*[AJKm]|\r\n|\r|\n)", re.sub(r"\x1b\[[0-9;]*m", "", text)):
        if part in ("\r\n", "\n"):
            at += 1
            lines += [""] * (at - len(lines) + 1)
        elif part.endswith("A") and part.startswith("\x1b["):
            at -= int(part[2:-1])
        elif part == "\x1b[J":
            lines[at:] = [""]
        elif part != "\r":
            lines[at] += part
    return lines


@pytest.fixture
def on_terminal(atm) -> Iterator[Callable[..., Terminal]]:
    """Start `atm` on a terminal of its own."""
    if sys.platform == "win32":
        pytest.skip("pseudo terminals are a POSIX thing")
    started: list[Terminal] = []

    def start(*words: str, env: dict[str, str] | None = None, columns: int = 100) -> Terminal:
        environment = {**atm.environment, "TERM": "xterm-256color", **(env or {})}
        started.append(Terminal(atm.command(*words), environment, atm.folder, columns))
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


@pytest.fixture
def seen(on_terminal) -> Callable[..., str]:
    """What a command shows on a terminal, from start to end."""

    def look(*words: str, env: dict[str, str] | None = None) -> str:
        text: str = on_terminal(*words, env=env).read_until(lambda _: False)
        return text.replace("\r\n", "\n")

    return look
