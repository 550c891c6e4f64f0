"""
Shared fixtures: a sandbox that is the whole world of one test, a mailroom in it, and `atm` run as a program.

Every wait in a test is for a condition and has a bound (`eventually`); nothing sleeps and hopes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import leftovers
from tests.chaos import LONG, SPARSE
from tests.guest_atm import may_be_guest, run_here
from tests.optional import skip_without
from tests.quick_atm import MOST_INPUT, ForkServers

from atm.files.adapters.machine import find_layout
from atm.files.formats.layout import Layout
from atm.mail.rules.lifetimes import RetentionPolicy
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import memory_room
from atm.wiring.mail import build_room

UNHURRIED = Path(__file__).parent / "unhurried"
"""On the PYTHONPATH of a process, this gives `atm` there longer bounds (see `sitecustomize.py` in it)."""

# A slow machine is no bug: generated cases have no deadline. They are the same in every run, because what CI says must
# be about the change and not about its luck; `make chaos` draws new ones, and more of them.
settings.register_profile(
    "atm",
    deadline=None,
    derandomize=not LONG,
    max_examples=100 if LONG else 30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("atm")

if sys.platform == "win32":
    # They send POSIX signals, hold POSIX locks or drive POSIX shells and terminals.
    collect_ignore_glob = [
        "crash/*",
        "campaigns/*",
        "files/adapters/test_locking.py",
        "cli/test_terminal.py",
        "cli/test_comp*",
    ]


@dataclass(frozen=True)
class Result:
    """What a run of `atm` left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sparse: dear; every so manieth case in every run, all in `make chaos`")


class Failures:
    """Named as they come: a whole run takes a while, and may be ended before its last words."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\n{report.when} failed: {report.nodeid}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Failures(terminal))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """See `SPARSE`."""
    seen: Counter[str] = Counter()
    dropped: list[pytest.Item] = []
    for item in items:
        name = getattr(item, "originalname", "")
        if name in SPARSE:
            item.add_marker("sparse")
            number = seen[place := item.nodeid.partition("[")[0]]
            seen[place] += 1
            if number % SPARSE[name] and not LONG:
                dropped.append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        gone = set(dropped)
        items[:] = [item for item in items if item not in gone]


_servers = ForkServers(usual={str(UNHURRIED)}, share=leftovers.shared_by_tests)


def pytest_sessionfinish() -> None:
    _servers.close()


class Atm:
    """
    Runs `atm` in the sandbox, without a terminal.

    Its process is ours, or comes from a fork server, which saves the start of Python; `fresh` runs it as users do.
    """

    fresh = False
    guest: bool | None = None
    """Is it a guest of this process? None: where it may be (`tests/guest_atm.py`)."""
    uid: int | None = None
    """The user whose command it is, if it is not ours."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR")}
        self.environment = {**kept, "ATM_HOME": str(home), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}

    def __call__(
        self,
        *words: str,
        code: int | None = 0,
        stdin: str | bytes | None = None,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 180,
    ) -> Result:
        """Run it and check its exit code (None: any)."""
        data = (stdin.encode() if isinstance(stdin, str) else stdin) or b""
        status, out, err = self._run(words, {**self.environment, **(env or {})}, cwd or self.folder, data, timeout)
        result = Result(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        if code is not None:
            assert result.code == code, f"exit code {result.code}\n{result.out}\n{result.err}"
        assert "Traceback" not in result.err, result.err
        return result

    def _run(
        self, words: tuple[str, ...], environment: dict[str, str], folder: Path, data: bytes, seconds: float
    ) -> tuple[int, bytes, bytes]:
        is_own = self.fresh or self.uid is not None
        if self.guest or (self.guest is None and not is_own and may_be_guest(words, environment, data, str(UNHURRIED))):
            return run_here(words, environment, str(folder), data, seconds)
        server = None if self.fresh or len(data) > MOST_INPUT else _servers.for_commands_in(environment)
        if server is not None:
            return server.run([*words], environment, str(folder), data, seconds, self.uid)
        done = subprocess.run(
            self.command(*words),
            input=data,
            capture_output=True,
            env=environment,
            cwd=folder,
            timeout=seconds,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "atm", *words]

    def start(self, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **(env or {})},
            cwd=self.folder,
        )

    def team(self, name: str = "crew", *members: str) -> None:
        """A team with members."""
        self("teams", "create", name)
        for member in members or ("ann", "bob"):
            self("teams", "add-member", name, member)

    def inbox(self, agent: str, team: str = "crew") -> Path:
        return self.home / ".claude" / "teams" / team / "inboxes" / f"{agent}.json"

    def rows(self, agent: str, team: str = "crew") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.inbox(agent, team).read_bytes())
        return rows

    def ledger(self, team: str = "crew") -> list[dict[str, Any]]:
        path = self.home / ".claude" / "teams" / team / "mailbox.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def pending(self) -> list[Path]:
        return sorted((self.home / ".config/atm/spool/pending").glob("*.json*"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def atm(home: Path, tmp_path: Path) -> Atm:
    folder = tmp_path / "work"
    folder.mkdir()
    return Atm(home, folder)


@pytest.fixture
def layout(home: Path) -> Layout:
    return find_layout({"ATM_HOME": str(home)})


@pytest.fixture
def room(layout: Layout) -> Teamroom:
    """A mailroom over real files, with a team `crew` of ann and bob."""
    made = build_room(layout)
    create_team(made, "crew")
    for name in ("ann", "bob"):
        add_member(made, "crew", Member(name))
    return made


@pytest.fixture
def tiny_disk() -> Iterator[Callable[..., Path]]:
    """A file system of its own, small or read-only. Unmounted at the end."""
    mounted: list[Path] = []

    def mount(path: Path, size: str) -> Path:
        path.mkdir(parents=True, exist_ok=True)
        if sys.platform != "linux":
            pytest.skip("tmpfs is a Linux file system")
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "atm-test", str(path)]
        skip_without("mount")
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            pytest.skip("mounting needs root")
        mounted.append(path)
        return path

    yield mount
    for path in mounted:  # at once, also while a process that is just ending has a file open there
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Wait for a condition, at most so many seconds; `otherwise` tells what was there instead."""

    def wait(condition: Callable[[], object], seconds: float = 240.0, otherwise: Callable[[], object] = str) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"the condition did not come true in time: {otherwise()}"
            time.sleep(0.01)

    return wait


@pytest.fixture
def boardroom() -> Teamroom:
    """A mailroom in memory with a team `crew` of ann, bob and the absent cleo."""
    made = memory_room(policy=RetentionPolicy(compact_above=20, keep_read=5, keep_days=1, keep_idle=2))
    create_team(made, "crew")
    add_member(made, "crew", Member("ann"))
    add_member(made, "crew", Member("bob"))
    add_member(made, "crew", Member("cleo", is_active=False))
    return made
