"""
`atm` without the start of an interpreter: a process that has imported everything forks one for each command.

What a test sees is a process of its own, with its own environment, folder, streams and exit code; only the 60 ms in
which Python starts and imports are gone. Tests whose subject is the process itself (what it imports, what its streams
are, who its parent is) start `atm` as users do: `Atm.fresh`.
"""

from __future__ import annotations

import array
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NoReturn

MOST_INPUT = 32_768
"""Bytes that fit into a pipe before anybody reads."""

MOST_SERVERS = 4
PID_DIGITS = 10

NOT_FORKED = (
    *("atm.__main__", "atm.teamd", "atm.testing", "atm.daemon.adapters.otlp"),
    *("atm.ui.demo", "atm.ui.mcp", "atm.ui.tui", "atm.ui.web"),
)

WHEN_NEEDED = (
    *(
        "_ctypes",
        "datetime",
        "difflib",
        "fcntl",
        "importlib.metadata",
        "pwd",
        "re",
        "shutil",
        "subprocess",
        "textwrap",
        "unicodedata",
        "zlib",
    ),
)
"""What commands import when they need it. Python may lie in a home of root's: whoever becomes another user has it."""

IRRELEVANT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


class TimedOut(BaseException):
    """The command did not end in time; it was killed."""


def interpreter_facts(environment: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """What Python itself looks at when it starts: commands that agree in it can come from one server."""
    looked_at = [name for name in sorted(environment) if name.startswith(("PYTHON", "LC_", "LANG", "TZ"))]
    return tuple((name, environment[name]) for name in looked_at if name not in IRRELEVANT)


class ForkServers:
    """A server for each of the few ways in which Python is started often; what is rare starts afresh."""

    def __init__(self, usual: set[str], share: Callable[[], AbstractContextManager[None]]) -> None:
        self._usual = usual
        """Values that a variable of Python may have in an environment for which a server is worth its start."""
        self._share = share
        self._servers: dict[tuple[tuple[str, str], ...], ForkServer] = {}
        self._turn = threading.Lock()  # a test may have commands wait in threads

    def for_commands_in(self, environment: dict[str, str]) -> ForkServer | None:
        facts = interpreter_facts(environment)
        if sys.platform == "win32" or not {value for name, value in facts if name.startswith("PYTHON")} <= self._usual:
            return None
        with self._turn:
            if facts not in self._servers:
                if len(self._servers) >= MOST_SERVERS:
                    return None
                with self._share():
                    self._servers[facts] = ForkServer({"PATH": os.environ.get("PATH", ""), **dict(facts)})
            return self._servers[facts]

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        self._servers.clear()


class ForkServer:
    """The client's side: a process that forks commands for us."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._line, theirs = socket.socketpair()
        self._turn = threading.Lock()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=environment,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self,
        words: list[str],
        environment: dict[str, str],
        folder: str,
        data: bytes,
        seconds: float,
        uid: int | None = None,
    ) -> tuple[int, bytes, bytes]:
        """Exit code, output and errors of one command, with our umask; as another user, if we are root."""
        assert len(data) <= MOST_INPUT
        stdin, out, err, status = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        theirs = [stdin[0], out[1], err[1], status[1]]
        ours = [out[0], err[0], status[0]]
        os.write(stdin[1], data)
        os.close(stdin[1])
        try:
            with self._turn:
                request = json.dumps([words, environment, folder, own_umask(), uid]).encode()
                _send(self._line, request, theirs)
        except OSError:
            for number in ours:
                os.close(number)
            raise
        finally:
            for number in theirs:
                os.close(number)
        try:
            pid = int(os.read(status[0], PID_DIGITS))
            try:
                said = _read_all(ours, seconds)
            except TimedOut:
                os.kill(pid, signal.SIGKILL)
                raise
        finally:
            for number in ours:
                os.close(number)
        return int(said[2]), said[0], said[1]

    def close(self) -> None:
        self._line.close()
        self.process.wait(60)


def own_umask() -> int:
    """It can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _send(line: socket.socket, request: bytes, numbers: list[int]) -> None:
    """One message: its length and the descriptors, then itself. Nobody else may write meanwhile."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))]
    line.sendmsg([len(request).to_bytes(4, "big")], rights)
    line.sendall(request)


def _read_all(numbers: list[int], seconds: float) -> list[bytes]:
    """Everything that comes until the last number, the status, has come; that ends the others too."""
    end = time.monotonic() + seconds
    parts: dict[int, bytearray] = {number: bytearray() for number in numbers}
    with selectors.DefaultSelector() as selector:
        for number in numbers:
            selector.register(number, selectors.EVENT_READ)
        while selector.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise TimedOut(bytes(parts[numbers[0]]), bytes(parts[numbers[1]]))
            for key, _ in selector.select(left):
                data = os.read(key.fd, 65536)
                parts[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return [bytes(parts[number]) for number in numbers]


# The server's side: this file as a program.


def serve(line: socket.socket) -> None:
    """Fork for each request, and tell the exit code of each that ends, until the test run hangs up."""
    status_of: dict[int, int] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if woken in ready:
                os.read(woken, 4096)
                _tell_ends(status_of)
            if line in ready:
                size, numbers, _, _ = socket.recv_fds(line, 4, 4)
                if not size:
                    return
                request = line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    words, environment, folder, umask, uid = json.loads(request)
                    become(words, environment, folder, umask, uid, numbers)
                status_of[pid] = numbers.pop()
                os.write(status_of[pid], b"%0*d" % (PID_DIGITS, pid))
                for number in numbers:
                    os.close(number)


def _tell_ends(status_of: dict[int, int]) -> None:
    while status_of:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        number = status_of.pop(pid)
        try:
            os.write(number, str(os.waitstatus_to_exitcode(status)).encode())
        except BrokenPipeError:
            pass  # whoever asked has given up
        os.close(number)


def become(
    words: list[str], environment: dict[str, str], folder: str, umask: int, uid: int | None, numbers: list[int]
) -> NoReturn:
    """In the fork: the command, as if Python had just started for it."""
    from atm.ui.cli.main import run

    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(numbers[:3]):
        os.dup2(stream, number)
    os.closerange(3, 256)
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors)  # noqa: SIM115 - lives with the process
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)  # noqa: SIM115
    sys.argv = ["atm", *words]
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    try:
        run()  # leaves by itself
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as a server
        import traceback

        traceback.print_exc()
    os._exit(1)


def import_everything() -> None:
    """
    Every module that a command may need, as far as it can be imported here. Not what exports spans to OpenTelemetry,
    nor the screen and the page: hardly a command needs them, and each fork would pay for their 25 MB.
    """
    import importlib
    import pkgutil

    import atm

    for name in WHEN_NEEDED:
        importlib.import_module(name)

    for found in pkgutil.walk_packages(atm.__path__, "atm."):
        if not found.name.startswith(NOT_FORKED):
            try:
                importlib.import_module(found.name)
            except ImportError:
                continue  # an extra that is not installed, or another system's


if __name__ == "__main__":
    import_everything()
    gc.collect()
    gc.freeze()  # looking for garbage, a fork would copy every page of what it did not make
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        serve(requests)
