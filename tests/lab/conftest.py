"""
The lab: the vendors' real programs, each in a home of its own that the real `atm` made, against the scripted model.

    python -m tests.lab.programs && ATM_LAB=1 python -m pytest tests/lab

Without `ATM_LAB=1`, or without a program, its tests are skipped and say so. What a test starts has the test's home in
its environment; all of that is ended with the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab import drift, files, programs
from tests.lab.shapes import Shape
from tests.lab.vendors import VENDORS, Place, Vendor
from tests.optional import skip_without

from atm.testing.model import ScriptedModel, SeenBy, seen_by

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # tmux, /proc and POSIX signals

PROC = Path("/proc")
ME, FRIEND, TEAM = "bob", "ann", "crew"
LONGEST_RUN = 240.0
"""Seconds for one run of a program. OpenCode needs a minute on a machine that is busy with other things."""
LAB = "needs the vendors' programs: make lab"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "lab: with the vendors' real programs; `make lab` installs and runs them")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """With `ATM_LAB_EVIDENCE`, what came of each test with a vendor's program is kept, for the table."""
    folder, about = os.environ.get("ATM_LAB_EVIDENCE", ""), dict(report.user_properties)
    is_told = report.when == "call" or (report.when == "setup" and report.outcome != "passed")
    if not folder or not is_told or "vendor" not in about or "PYTEST_XDIST_WORKER" in os.environ:
        return
    why = getattr(report, "wasxfail", "")
    outcome = report.outcome if not why else "xfailed" if report.skipped else "xpassed"
    if not why and report.skipped and isinstance(report.longrepr, tuple):
        why = str(report.longrepr[2]).removeprefix("Skipped: ")
    facts = {
        "test": report.nodeid.rpartition("::")[2].partition("[")[0],
        "case": report.nodeid.rpartition("::")[2],
        **about,
        "outcome": outcome,
        "seconds": report.duration,
        "why": why,
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (Path(folder) / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


def until(condition: Callable[[], object], seconds: float = 60.0, why: Callable[[], object] = lambda: "") -> None:
    """Wait for a condition; a busy machine has its time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not come true: {why()}"
        time.sleep(0.02)


class Ended(NamedTuple):
    """What a run of a program left."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return f"exit code {self.code}\n{self.out[-3000:]}\n{self.err[-2000:]}"


class Run:
    """A program that runs headless."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: Path, log: Path) -> None:
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                words,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def ends(self) -> Ended:
        """Wait for its end, which has to be a good one."""
        code = self._process.wait(LONGEST_RUN)
        ended = Ended(code, self._out.read_text(errors="replace"), self._err.read_text(errors="replace"))
        assert code == 0, ended.words
        return ended

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class Pane:
    """A program in a terminal. Its tmux server has the agent's environment and is found by it when the test is over."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: Path) -> None:
        self._environment = environment
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", "160", "-y", "45", "-c", str(folder), shlex.join(words))

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def press(self, key: str) -> None:
        """A key, by the name that tmux has for it."""
        self._tmux("send-keys", key)

    @contextlib.contextmanager
    def shown_on_failure(self) -> Iterator[None]:
        """What fails here says what the terminal shows."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.screen}") from None

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", *words], env=self._environment, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout + done.stderr


class LabAgent:
    """One member of a team, its vendor's program, its model, and the home that they live in."""

    def __init__(self, vendor: Vendor, installed: programs.Installed, model: ScriptedModel, home: Path) -> None:
        self.vendor = vendor
        self.model = model
        self.home = home
        self.folder = home / "project"
        self.place = Place(home, self.folder, model.address(ME))
        self.version = installed.version
        node = os.path.dirname(shutil.which("node") or "/usr/bin/node")
        here = [str(installed.bin), os.path.dirname(sys.executable), node, "/usr/bin", "/bin"]
        self._tiny = {
            "PATH": os.pathsep.join(dict.fromkeys(here)),
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "TMUX_TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        self._runs: list[Run] = []
        self.closes: list[Callable[[], None]] = []
        """What else has to be ended with it."""
        self.story = model.story(ME)

    @property
    def environment(self) -> dict[str, str]:
        """All that the program gets."""
        path = f"{self.home}/bin{os.pathsep}{self._tiny['PATH']}"  # what is recorded goes through there
        own = {**self._tiny, "PATH": path, "ATM_TEAM": TEAM, "ATM_IDENTITY": ME}
        return {**own, **self.vendor.environment(self.place)}

    @property
    def seen(self) -> SeenBy:
        return seen_by(self.model, ME)

    def settle(self) -> None:
        """Make the home as a user does: a team, `atm init`, and the vendor's own settings."""
        for name in ("project", "tmp", ".claude", ".codex", ".gemini", ".config/opencode"):
            (self.home / name).mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.folder)], check=True, env=self._tiny)
        self.atm("teams", "create", TEAM)
        for member in (ME, FRIEND):
            self.atm("teams", "add-member", TEAM, member)
        self.atm("init", "--vendor", self.vendor.name)
        if kept := os.environ.get("ATM_LAB_EVIDENCE"):
            atm = os.path.join(os.path.dirname(sys.executable), "atm")
            drift.record(self.home, atm, Path(kept) / drift.PAYLOADS)
        self.vendor.prepare(self.place)

    def atm(self, *words: str, me: str = FRIEND) -> str:
        """A command of a user or a teammate, which has to succeed."""
        said = self.says(*words, me=me)
        assert said.code == 0, f"atm {shlex.join(words)}: {said.words}"
        return said.out

    def says(self, *words: str, me: str = FRIEND) -> Ended:
        """The same, whatever comes of it; without a name as a person. It is the `atm` of this repository."""
        done = subprocess.run(
            ["atm", *words],
            env={**self._tiny, **({"ATM_TEAM": TEAM, "ATM_IDENTITY": me} if me else {})},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def starts(self, prompt: str) -> Run:
        log = self.home / f"run-{len(self._runs)}"
        run = Run(self.vendor.headless(prompt), self.environment, self.folder, log)
        self._runs.append(run)
        return run

    def runs(self, prompt: str) -> Ended:
        return self.starts(prompt).ends()

    def sits_down(self, prompt: str, *, asking: bool = False, **more: str) -> Pane:
        """
        The program in a terminal, on a tmux server of its own. `asking`: its user has allowed nothing before. With
        variables that it gets besides.
        """
        words = self.vendor.interactive(prompt)
        allowed = self.vendor.allowing if asking else ()
        return Pane([word for word in words if word not in allowed], {**self.environment, **more}, self.folder)

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        """A command of a teammate that is not waited for."""
        return subprocess.Popen(
            ["atm", *words],
            env={**self._tiny, "ATM_TEAM": TEAM, "ATM_IDENTITY": FRIEND},
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def gets(self, text: str, *options: str) -> str:
        """A teammate sends this; the message's id."""
        return str(json.loads(self.atm("send", ME, text, *options, "--json"))["message_id"])

    def state_of(self, message: str) -> str:
        """How far `atm receipts` says that it has come."""
        return str(json.loads(self.atm("receipts", message, "--json"))["recipients"][0]["state"])

    @property
    def state(self) -> str:
        """What `atm members` says of the member: working, idle, waiting."""
        members = json.loads(self.atm("members", "--json"))["members"]
        return next(str(member["state"]) for member in members if member["name"] == ME)

    def unread(self) -> list[str]:
        said = json.loads(self.atm("read", ME, "--no-mark", "--json"))
        return [str(row["text"]) for row in said["messages"]]

    def shapes(self) -> dict[str, Shape]:
        """Of the files that its program has now."""
        return files.shapes_in_home(self.home, self.vendor.name)

    def keep_shapes(self, found: dict[str, Shape]) -> None:
        if kept := os.environ.get("ATM_LAB_EVIDENCE"):
            files.keep(found, self.vendor.name, self.version, Path(kept) / drift.FILES)

    def close(self) -> None:
        if self.seen.requests:
            self.keep_shapes(self.shapes())  # before its end: what tells of a session goes with it
        for close in [*(run.close for run in self._runs), *self.closes]:
            close()
        end = time.monotonic() + 20
        while (left := processes_of(self.home)) and time.monotonic() < end:
            for pid in left:
                kill(pid)
            time.sleep(0.05)


def processes_of(home: Path) -> list[int]:
    """Every process that has this home, whoever started it."""
    mark, found = f"HOME={home}".encode(), []
    for name in os.listdir(PROC) if PROC.is_dir() else []:
        try:
            if name.isdecimal() and mark in (PROC / name / "environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue  # it has ended meanwhile, or is somebody else's
    return found


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture(params=sorted(VENDORS))
def vendor(request: pytest.FixtureRequest) -> Vendor:
    """Each vendor in turn. A defect that is known must show: when it is mended, its entry has to go."""
    found = VENDORS[request.param]
    if why := found.known_defects.get(request.function.__name__):
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))
    return found


@pytest.fixture
def installed(vendor: Vendor, request: pytest.FixtureRequest) -> programs.Installed:
    """The program; without it there is nothing to be seen here."""
    if os.environ.get("ATM_LAB") != "1":
        pytest.skip(LAB)
    skip_without("node")
    latest = os.environ.get("LATEST") == "1"
    found = programs.find(programs.pinned()[vendor.name], programs.cache_folder(os.environ), latest=latest)
    if found is None:
        pytest.skip(f"needs {vendor.name}: python -m tests.lab.programs")
    request.node.user_properties += [("vendor", vendor.name), ("version", found.version)]
    return found


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[ScriptedModel]:
    """With `ATM_LAB_EVIDENCE`, a folder, what each model saw is kept there."""
    folder = os.environ.get("ATM_LAB_EVIDENCE", "")
    kept = Path(folder) / f"{request.node.name}.jsonl" if folder else None
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
    with ScriptedModel(evidence=kept) as made:
        yield made


@pytest.fixture
def agent(vendor: Vendor, installed: programs.Installed, model: ScriptedModel) -> Iterator[LabAgent]:
    """Bob, in a home of his own. Its path is short because sockets lie in it."""
    home = Path(os.path.realpath(tempfile.mkdtemp(prefix="lab")))
    made = LabAgent(vendor, installed, model, home)
    try:
        made.settle()
        yield made
    finally:
        made.close()
        shutil.rmtree(home, ignore_errors=True)
