"""
A daemon as users have it: a process of its own in the sandbox of one test, asked through its socket.

Whatever a test does to it, nothing of it runs on when the test is over: everything that carries the sandbox in its
environment is ended, and a test that left something behind fails.

Bounds are long: they cost nothing when all is well, and a machine that is busy for half a minute is no fault.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atm.formats.control_line import Request, encode_request
from atm.system.files.disk import RealDisk
from atm.system.processes.daemon_client import ask, stop
from atm.system.processes.daemon_seat import Running, find_running

PROC = Path("/proc")
Line = socket.socket
PATIENCE = 120.0
ANSWER_SECONDS = 45.0


def processes_of(home: Path) -> list[int]:
    """Every process that works in this sandbox, whoever started it. Those that are dead and not reaped are not."""
    mark = f"ATM_HOME={home}".encode()
    found = []
    for name in os.listdir(PROC) if PROC.is_dir() else []:
        try:
            if name.isdecimal() and mark in (PROC / name / "environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue  # it has ended meanwhile, or is somebody else's
    return found


def _connect(line: socket.socket, path: str) -> None:
    """A daemon that has not come to accept those before us yet refuses nobody: the line is full for a moment."""
    line.settimeout(ANSWER_SECONDS)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            line.connect(path)
            return
        except BlockingIOError:
            assert time.monotonic() < end, "the daemon accepts nobody"
            time.sleep(0.01)


class Events:
    """Somebody who listens to the daemon, as `atm daemon events` does."""

    def __init__(self, path: str, fields: dict[str, Any]) -> None:
        self.all: list[dict[str, Any]] = []
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lines = self._line.makefile("rb")
        self._thread = threading.Thread(target=self._listen, daemon=True)
        try:
            self._begin(path, fields)
        except BaseException:
            self._lines.close()
            self._line.close()
            raise

    def _begin(self, path: str, fields: dict[str, Any]) -> None:
        _connect(self._line, path)
        self._line.sendall(encode_request(Request("events", fields, "1")))
        assert json.loads(self._lines.readline())["result"] == {"kind": "listening"}
        self._line.settimeout(None)
        self._thread.start()

    def _listen(self) -> None:
        try:
            for line in self._lines:
                self.all.append(json.loads(line)["result"])
        except (OSError, ValueError):
            return

    def of(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        """Those of one kind so far, with this team or subject."""
        return [e for e in self.all if e["kind"] == kind and all(e[key] == value for key, value in wanted.items())]

    @property
    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.all]

    def close(self) -> None:
        try:
            self._line.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(10)
        self._lines.close()
        self._line.close()


class DaemonProcess:
    """`atm daemon run`, and everything that a test wants to know about it."""

    def __init__(self, atm: Any, layout: Any) -> None:
        self.atm = atm
        self.layout = layout
        self.folder = Path(layout.daemon)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._lines: list[Events] = []
        self._sockets: set[str] = set()

    # Life and death.

    def start(self, *, env: dict[str, str] | None = None) -> DaemonProcess:
        """Start it here and wait until it answers."""
        process = self.spawn(env=env)
        self.until(lambda: self.answers or process.poll() is not None)
        assert process.poll() is None, f"it ended with {process.returncode}: {self.said}"
        return self

    def spawn(self, *, env: dict[str, str] | None = None, before: list[str] | None = None) -> subprocess.Popen[bytes]:
        """Start it, `before` being a command that runs it, and wait for nothing. What it says goes to a file."""
        with open(self.atm.folder / "said.txt", "ab") as said:
            process = subprocess.Popen(
                [*(before or []), *self.atm.command("daemon", "run")],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**self.atm.environment, **(env or {})},
                cwd=self.atm.folder,
            )
        self._processes.append(process)
        return process

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The one that was started here last."""
        return self._processes[-1]

    @property
    def said(self) -> str:
        """What it wrote to its standard output and error."""
        path = self.atm.folder / "said.txt"
        return str(path.read_text(errors="replace")) if path.exists() else ""

    def kill(self) -> None:
        """As the system does when memory is short."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self) -> int:
        """Ask it to stop as `kill` does, and wait: its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing of it moves meanwhile, wherever it was."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # its last thread has stopped too
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def clean_up(self) -> list[int]:
        """End everything that is left, kindly and then not; the numbers of what did not end kindly."""
        for listener in self._lines:
            listener.close()
        if self.running is not None:
            stop(self.layout, PATIENCE)
        left = self._still_running(30.0)
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE)
        for pid in self.processes:
            _kill(pid)
        for path in self._sockets:
            if path.startswith(f"{tempfile.gettempdir()}/atm-"):
                shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        return left

    def _still_running(self, seconds: float) -> list[int]:
        """Who does not end although nothing is left to do: plugins notice a moment later that their daemon is gone."""
        end = time.monotonic() + seconds
        while (left := self.processes) and time.monotonic() < end:
            time.sleep(0.02)
        return left

    @property
    def processes(self) -> list[int]:
        """Every process that works in this sandbox, whoever started it."""
        return processes_of(self.atm.home)

    # Asking.

    @property
    def running(self) -> Running | None:
        found = find_running(self.layout)
        if found is not None:
            self._sockets.add(found.socket)
        return found

    @property
    def pid(self) -> int:
        running = self.running
        assert running is not None, f"no daemon runs: {self.said}"
        return running.pid

    @property
    def socket(self) -> str:
        running = self.running
        assert running is not None, f"no daemon runs: {self.said}"
        return running.socket

    @property
    def answers(self) -> bool:
        return self.running is not None and self.ask("ping") is not None

    def ask(self, do: str, **fields: Any) -> Any:
        return ask(self.layout, do, fields, seconds=ANSWER_SECONDS)

    def status(self) -> dict[str, Any]:
        facts = self.ask("status")
        assert isinstance(facts, dict), f"the daemon does not answer; it said {self.said!r}"
        return facts

    def loop(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(loop for loop in self.status()["loops"] if loop["name"] == name)
        return found

    def connect(self) -> Line:
        """A line to it, to do something with that no honest client would."""
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _connect(line, self.socket)
        except BaseException:
            line.close()
            raise
        return line

    def listen(self, *kinds: str, team: str = "") -> Events:
        self._lines.append(Events(self.socket, {"kinds": [*kinds], "team": team}))
        return self._lines[-1]

    def log(self, source: str = "") -> list[dict[str, Any]]:
        """What is in its log, of one part or of all."""
        path = Path(self.layout.daemon_log)
        said = path.read_bytes() if path.exists() else b""
        whole = said[: said.rfind(b"\n") + 1]  # it may be writing the next line at this moment
        return [record for record in map(json.loads, whole.splitlines()) if source in ("", record["source"])]

    def texts(self, source: str = "") -> list[str]:
        return [record["text"] for record in self.log(source)]

    # Waiting.

    def until(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"it did not come true; it said {self.said!r}; log {self.log()[-20:]}"
            time.sleep(0.01)

    def another_round(self, name: str) -> None:
        """Let a loop go round once more, from its beginning to its end."""
        before = self.loop(name)["runs"]
        self.until(lambda: self.ask("wake", loop=name) and self.loop(name)["runs"] >= before + 2)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@pytest.fixture
def house(atm: Any, layout: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A sandbox in which daemons can be started; none runs yet."""
    if sys.platform == "win32":
        pytest.skip("unix sockets and POSIX signals")
    del atm.environment["PYTHONDONTWRITEBYTECODE"]
    atm.environment["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.getbasetemp() / "bytecode")
    made = DaemonProcess(atm, layout)
    yield made
    left = made.clean_up()
    assert left == [], f"still running when the test was over: {left}"


@pytest.fixture
def daemon(house: DaemonProcess, room: Any) -> DaemonProcess:
    """A daemon that runs and has looked at everything once, beside a team `crew` of ann and bob."""
    house.start()
    house.until(lambda: all(loop["runs"] for loop in house.status()["loops"]))
    return house


@pytest.fixture
def block(atm: Any) -> Callable[..., Callable[[], None]]:
    """Make an inbox impossible to write, at once and even for root: a directory lies in its place."""

    def close(agent: str, team: str = "crew") -> Callable[[], None]:
        path: Path = atm.inbox(agent, team)
        aside = path.with_suffix(".aside")
        aside.mkdir()
        change_places(aside, path)

        def reopen() -> None:
            change_places(aside, path)
            aside.rmdir()

        return reopen

    return close


def change_places(one: Path, other: Path) -> None:
    """In one step: a daemon that looks in between would make what is missing."""
    assert RealDisk().exchange(str(one), str(other)), "this system cannot exchange two names"
