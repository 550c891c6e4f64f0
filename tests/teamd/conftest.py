"""
A daemon as users have it: a process of its own in the sandbox of one test, asked through its socket.

Whatever a test does to it, nothing of it runs on when the test is over: everything that carries the sandbox in its
environment is ended, and a test that left something behind fails.

Tests to which a daemon's life is no subject share one (`shared`), each with a team of its own in its home.

Bounds are long: they cost nothing when all is well, and a machine that is busy for half a minute is no fault.
"""

from __future__ import annotations

import contextlib
import itertools
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
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm
from tests.teamd.forked import BRISK, Process, start, stop_and_wait

from atm.daemon.adapters.client import ask, stop
from atm.daemon.adapters.seat import RunningDaemon, find_running
from atm.daemon.formats.control_line import Request, encode_request
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import find_layout
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.mail import build_room

PROC = Path("/proc")
SOURCE = Path(__file__).parents[2] / "src/atm"
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


def keep_bytecode(atm: Atm, folder: Path) -> None:
    """
    Nobody who is started here compiles what another has compiled.

    `make test` has done it beforehand. Without it a folder of this run keeps it: it takes seconds, and is not to be
    written beside the sources.
    """
    if not os.path.exists(cache_from_source(f"{SOURCE}/__main__.py")):  # imported by no test, so compiled by none
        del atm.environment["PYTHONDONTWRITEBYTECODE"]
        atm.environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")


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

    fresh = False
    """Is Python started for it, as users do it? Else it is forked (`tests/teamd/forked.py`)."""
    loaded: tuple[str, ...] = ()
    """What a forked one has loaded already."""

    def __init__(self, atm: Any, layout: Any) -> None:
        self.atm = atm
        self.layout = layout
        self.folder = Path(layout.daemon)
        self._processes: list[Process] = []
        self._lines: list[Events] = []
        self._sockets: set[str] = set()

    # Life and death.

    def start(self, *, env: dict[str, str] | None = None) -> DaemonProcess:
        """Start it here and wait until it answers."""
        process = self.spawn(env=env)
        self.until(lambda: self.answers or process.poll() is not None)
        assert process.poll() is None, f"it ended with {process.returncode}: {self.said}"
        return self

    def start_and_settle(self, *, env: dict[str, str] | None = None) -> DaemonProcess:
        """And until it has looked at everything once."""
        self.start(env=env)
        self.until(lambda: all(loop["runs"] for loop in self.status()["loops"]))
        return self

    def spawn(self, *, env: dict[str, str] | None = None, before: list[str] | None = None) -> Process:
        """Start it, `before` being a command that runs it, and wait for nothing. What it says goes to a file."""
        environment = {**self.atm.environment, **(env or {})}
        command = [*(before or []), *self.atm.command("daemon", "run")]
        with open(self.atm.folder / "said.txt", "ab") as said:
            process: Process
            if self.fresh:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env=environment,
                    cwd=self.atm.folder,
                )
            else:
                process = start(
                    command, stdout=said, stderr=said, env=environment, cwd=self.atm.folder, loaded=self.loaded
                )
        self._processes.append(process)
        return process

    @property
    def process(self) -> Process:
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
        stop_and_wait(self.process)
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
        ours = [process.pid for process in self._processes if process.poll() is None]
        return [*ours, *(pid for pid in processes_of(self.atm.home) if pid not in ours)]

    # Asking.

    @property
    def running(self) -> RunningDaemon | None:
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


# A daemon for many tests.


class AtmOfTeam(Atm):
    """`atm` in a home where others have teams too, and in a folder of its own. What is asked for is this team's."""

    def __init__(self, former: Atm, folder: Path, team: str) -> None:
        super().__init__(former.home, folder)
        self.environment = {**former.environment}
        self._team = team

    def inbox(self, agent: str, team: str = "") -> Path:
        return super().inbox(agent, team or self._team)

    def rows(self, agent: str, team: str = "") -> list[dict[str, Any]]:
        return super().rows(agent, team or self._team)

    def ledger(self, team: str = "") -> list[dict[str, Any]]:
        return super().ledger(team or self._team)


_numbers = itertools.count(1)


class SharedDaemon(DaemonProcess):
    """
    A daemon that runs for many tests, as one of them sees it: with a team of ann and bob, and its log from now on.

    The team's name is new each time, so nothing that the daemon remembers is about it. All teams are gone afterwards:
    there is only one at a time, and whoever names none means this one. Whoever ends a daemon takes one of its own.
    """

    def __init__(self, house: DaemonProcess, folder: Path) -> None:
        self.team = f"crew-{next(_numbers)}"
        super().__init__(AtmOfTeam(house.atm, folder, self.team), house.layout)
        self._house = house
        self._processes = house._processes
        self._former_lines = len(house.log())
        self._former_words = len(house.said)
        self.room = build_room(self.layout)
        self.add_team(self.team, "ann", "bob")

    def add_team(self, team: str, *members: str) -> None:
        """And wait until the daemon has seen them: from now on everything about them is news."""
        heard = self.listen("member", team=team)
        create_team(self.room, team)
        for name in members:
            add_member(self.room, team, Member(name))
        self.until(lambda: {event["subject"] for event in heard.of("member.joined")} == {*members})
        heard.close()
        self._lines.remove(heard)

    def log(self, source: str = "") -> list[dict[str, Any]]:
        lines = super().log()[self._former_lines :]
        return [record for record in lines if source in ("", record["source"])]

    @property
    def said(self) -> str:
        return self._house.said[self._former_words :]

    def leave(self) -> None:
        """Nothing of this test stays in the home, and its daemon is well."""
        for listener in self._lines:
            listener.close()
        roots = [Path(self.layout.teams), Path(self.layout.task_lists), Path(self.layout.state_root) / "teams"]
        left = [path for root in roots if root.is_dir() for path in root.iterdir()]
        self.until(lambda: all(is_deleted(path) for path in left))
        assert self.answers


def is_deleted(path: Path) -> bool:
    """Take everything away. Whoever writes there at the same moment keeps its folder from going, this time."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    return not path.exists()


@contextlib.contextmanager
def house_for_many(folder: Path, **environment: str) -> Iterator[DaemonProcess]:
    """A home in which tests of this worker meet. No daemon runs in it yet."""
    if sys.platform == "win32":
        pytest.skip("unix sockets and POSIX signals")
    for name in ("home", "work"):
        (folder / name).mkdir()
    atm = Atm(folder / "home", folder / "work")
    keep_bytecode(atm, folder.parent)
    atm.environment |= environment
    made = DaemonProcess(atm, find_layout({"ATM_HOME": str(atm.home)}))
    try:
        yield made
    finally:
        left = made.clean_up()
    assert left == [], f"still running when the tests were over: {left}"


@contextlib.contextmanager
def team_in(house: DaemonProcess, folder: Path) -> Iterator[SharedDaemon]:
    """For one test. Whoever ended the daemon has failed, and not those who come after."""
    if not house.answers:
        house.start_and_settle()
    folder.mkdir()
    made = SharedDaemon(house, folder)
    try:
        yield made
    finally:
        made.leave()


@pytest.fixture(scope="session")
def _house_for_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with house_for_many(tmp_path_factory.mktemp("d")) as made:
        made.fresh = True
        yield made.start_and_settle()


@pytest.fixture
def shared(_house_for_many: DaemonProcess, tmp_path: Path) -> Iterator[SharedDaemon]:
    """A daemon that runs for this and other tests; here with a team of its own."""
    with team_in(_house_for_many, tmp_path / "here") as made:
        yield made


# A daemon for one test.


@pytest.fixture
def house(atm: Any, layout: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A sandbox in which daemons can be started; none runs yet."""
    if sys.platform == "win32":
        pytest.skip("unix sockets and POSIX signals")
    keep_bytecode(atm, tmp_path_factory.getbasetemp())
    made = DaemonProcess(atm, layout)
    yield made
    left = made.clean_up()
    assert left == [], f"still running when the test was over: {left}"


@pytest.fixture
def daemon(house: DaemonProcess, room: Any) -> DaemonProcess:
    """A daemon that runs and has looked at everything once, beside a team `crew` of ann and bob."""
    return house.start_and_settle()


@pytest.fixture
def brisk_daemon(house: DaemonProcess, room: Any) -> DaemonProcess:
    """The same for a test in which it waits in vain."""
    return house.start_and_settle(env={"PYTHONPATH": BRISK})


def block(path: Path) -> Callable[[], None]:
    """Make an inbox impossible to write, at once and even for root: a directory lies in its place."""
    aside = path.with_suffix(".aside")
    aside.mkdir()
    change_places(aside, path)

    def reopen() -> None:
        change_places(aside, path)
        aside.rmdir()

    return reopen


def change_places(one: Path, other: Path) -> None:
    """In one step: a daemon that looks in between would make what is missing."""
    assert RealDisk().exchange(str(one), str(other)), "this system cannot exchange two names"
