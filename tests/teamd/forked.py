"""
What goes on in a process of its own (`atm daemon run`, `atm mcp`), without the start of Python: a process that has
imported everything forks it, as `tests/quick_atm.py` does for commands that end soon.

A daemon takes 0.4 s of CPU time to start and 0.05 s to be forked. Its environment, folder, streams, signals and exit
code are its own. What stands in `/proc/PID/environ` and `cmdline` is the server's; and its parent is the server.
"""

from __future__ import annotations

import array
import atexit
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from tests.leftovers import WATCH
from tests.quick_atm import NOT_FORKED, PID_DIGITS, WHEN_NEEDED, interpreter_facts, own_umask, serve

ROOT = Path(__file__).parents[2]
BRISK, UNHURRIED = str(Path(__file__).parent / "brisk"), str(ROOT / "tests/unhurried")
USUAL = frozenset({BRISK, UNHURRIED, f"{BRISK}:{UNHURRIED}"})
"""What a variable of Python may be: other processes are started as users do."""

SDK = (
    *("atm.ui.mcp.serving.reception", "atm.ui.mcp.catalog", "atm.ui.mcp.serving.in_process"),
    *("atm.ui.mcp.stdio.pump", "atm.ui.cli.mcp.mcp", "atm.ui.mcp.http.serve"),
)
"""What a server of MCP loads for its first client, which takes a second."""


class Process(Protocol):
    """As much of `subprocess.Popen` as tests need."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Forked:
    """A process that was forked for us; its end is told by the server, which is its parent."""

    def __init__(self, pid: int, status: int, streams: Sequence[IO[bytes] | None]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = streams
        self._status = status
        self._turn = threading.Lock()

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(None if timeout is None else timeout * 1000)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def _look(self, milliseconds: float | None) -> int | None:
        with self._turn:
            if self.returncode is None:
                looking = select.poll()
                looking.register(self._status, select.POLLIN)
                if looking.poll(milliseconds):
                    self.returncode = int(os.read(self._status, 16))
                    os.close(self._status)
            return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            try:
                os.kill(self.pid, sig)
            except ProcessLookupError:
                pass  # it has ended this moment

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        if self.returncode is None:
            os.close(self._status)


class Server:
    """The client's side."""

    def __init__(self, facts: dict[str, str], modules: Sequence[str]) -> None:
        self._line, theirs = socket.socketpair()
        self._turn = threading.Lock()
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.teamd.forked", str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                env={**kept, **facts},
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )

    def fork(
        self, words: Sequence[str], environment: dict[str, str], folder: Path, numbers: Sequence[int]
    ) -> tuple[int, int]:
        """Its number, and where its exit code will be to read. `numbers` are its streams."""
        told, tell = os.pipe()
        request = json.dumps([[*words], environment, str(folder), own_umask(), None]).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [*numbers, tell]))]
        try:
            with self._turn:
                self._line.sendmsg([len(request).to_bytes(4, "big")], rights)
                self._line.sendall(request)
        finally:
            os.close(tell)
        return int(os.read(told, PID_DIGITS)), told

    def close(self) -> None:
        self._line.close()
        self._process.wait(60)


_servers: dict[tuple[object, ...], Server] = {}
_turn = threading.Lock()


def _server_for(environment: dict[str, str], modules: Sequence[str]) -> Server | None:
    facts = interpreter_facts(environment)
    if sys.platform == "win32" or not {value for name, value in facts if name.startswith("PYTHON")} <= USUAL:
        return None
    with _turn:
        key = (facts, *modules)
        if key not in _servers:
            with WATCH.share():
                kept = {name: environment[name] for name in ("PYTHONPYCACHEPREFIX",) if name in environment}
                _servers[key] = Server({**dict(facts), **kept, "PYTHONDONTWRITEBYTECODE": "1"}, modules)
        return _servers[key]


@atexit.register
def _close_servers() -> None:
    for server in _servers.values():
        server.close()


def start(
    command: Sequence[str],
    *,
    env: dict[str, str],
    cwd: Path,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    loaded: Sequence[str] = (),
) -> Process:
    """As `subprocess.Popen` does, from `python -m atm` on; with these modules loaded beforehand."""
    server = _server_for(env, loaded) if [*command[:3]] == [sys.executable, "-m", "atm"] else None
    if server is None:
        return subprocess.Popen(command, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr)
    WATCH.has_started = True
    ours: list[IO[bytes] | None] = []
    theirs: list[int] = []
    for wanted, mode in ((stdin, "wb"), (stdout, "rb"), (stderr, "rb")):
        number, stream = _end_of(wanted, mode)
        theirs.append(number)
        ours.append(stream)
    try:
        pid, told = server.fork(command[3:], env, cwd, theirs)
    finally:
        for number in theirs:
            os.close(number)
    return Forked(pid, told, ours)


def _end_of(wanted: int | IO[bytes], mode: str) -> tuple[int, IO[bytes] | None]:
    """The number that the process gets, and the stream that we keep."""
    if wanted == subprocess.PIPE:
        read, write = os.pipe()
        theirs, ours = (read, write) if mode == "wb" else (write, read)
        return theirs, open(ours, mode)
    if wanted == subprocess.DEVNULL:
        return os.open(os.devnull, os.O_RDWR), None
    return os.dup(wanted if isinstance(wanted, int) else wanted.fileno()), None


def stop_and_wait(process: Process) -> None:
    """Until its last thread has stopped, too."""
    process.send_signal(signal.SIGSTOP)
    while process.poll() is None and not _states(process.pid) <= {"T"}:
        time.sleep(0.001)


def _states(pid: int) -> set[str]:
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            found.add(task.read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue  # this thread has ended
    return found


# The server's side: this file as a program.


INNER = (
    *("core", "files", "git", "plugins", "team", "trust", "mail", "vendors", "access", "board", "setup", "roster"),
    *("events", "delivery", "approvals", "crew", "worksync", "sessions", "merges", "daemon", "runs", "checkup"),
    *("snapshot", "teamd", "wiring"),
)
SURFACES = ("atm.ui.cli.main", "atm.ui.cli.daemon.daemon", "atm.ui.mcp.serving.host", "atm.ui.web.host")


def import_what_goes_on(modules: Sequence[str]) -> None:
    """What a daemon may need, and these; not all commands, for a run of tests has several such servers."""
    import pkgutil

    for package in INNER:
        (place,) = importlib.import_module(f"atm.{package}").__path__
        for found in pkgutil.walk_packages([place], f"atm.{package}."):
            if not found.name.startswith(NOT_FORKED) or package == "teamd":
                importlib.import_module(found.name)
    for name in (*WHEN_NEEDED, "ctypes", *SURFACES, *modules):
        importlib.import_module(name)


if __name__ == "__main__":
    import gc

    del sys.path[0]  # nothing of the tests is there for what is forked
    import_what_goes_on(sys.argv[2:])
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        serve(requests)
