"""
A stage for sessions: a repository, a team in a home, leads that say which session they are, and a daemon when asked.

Nobody waits for the minutes of the seed: a lead is made older in `state.json`, a member in its heartbeat, and where the
daemon looks, its settings are short. Everything that a test started is ended with it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm, Result
from tests.crew.conftest import Crew
from tests.crew.repositories import copy_of, git
from tests.teamd.conftest import DaemonProcess, keep_bytecode

from atm.files.formats.layout import Layout
from atm.files.formats.times import to_iso
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # unix sockets and POSIX signals

Record = dict[str, Any]

LEAD = "lena"
BRISK = {"checkpoint_seconds": 0.2, "git_seconds": 0.2}
"""`[sessions]` for a daemon that looks often."""


def lenas_own(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    for key, value in {"user.name": "Lena", "user.email": "lena@example.org"}.items():
        git(folder, "config", key, value)
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")


class Stage(Crew):
    """`atm` in a repository of a team `crew`: lena leads it; ann, bob and cat work."""

    def __init__(self, atm: Atm, layout: Layout, eventually: Callable[..., None]) -> None:
        super().__init__(atm, layout, eventually)
        elsewhere = atm.folder.parent / "elsewhere"
        elsewhere.mkdir()
        around = Atm(atm.home, elsewhere)
        around.environment = atm.environment
        self.daemon = DaemonProcess(around, layout)
        self.room: Teamroom = build_room(layout)
        self.locks = build_locks(layout)
        self.started: list[subprocess.Popen[bytes]] = []
        atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", "GIT_CONFIG_NOSYSTEM": "1"}
        copy_of(lenas_own, self.folder)

    def make_team(self, name: str = "crew", *members: str) -> None:
        create_team(self.room, name, lead=LEAD)
        for member in members or ("ann", "bob", "cat"):
            add_member(self.room, name, Member(member, cwd=str(self.folder)))

    def add_tasks(self, *subjects: str) -> None:
        for subject in subjects:
            self("tasks", "add", subject)

    def session(self, *words: str, by: str = "s1", code: int | None = 0) -> Any:
        """`atm session ...` of one of several sessions; its JSON."""
        return self("session", *words, "--json", code=code, env={"ATM_SESSION_ID": by}).json

    def refusal(self, *words: str, by: str = "s1", code: int = 1) -> str:
        """The code of the error with which it ends."""
        return str(self.session(*words, by=by, code=code)["error"]["code"])

    def start(self, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A process of its own, beside this one."""
        self.started.append(self.atm.start(*words, env=env))
        return self.started[-1]

    def stand_in(self, member: str) -> int:
        """A process that is known to be the member's own; its number."""
        beat = f"{sys.executable} -m atm tasks beat --as {member} --pid $$ --context 47 >/dev/null"
        words = ["sh", "-c", f"{beat} && exec sleep 600"]
        process = subprocess.Popen(words, env=self.atm.environment, cwd=self.folder)
        self.started.append(process)
        path = self.home_of_team / f"heartbeats/{member}.json"
        self.eventually(lambda: path.exists() and self.heartbeat(member).get("pid") == process.pid)
        return process.pid

    # Files, as testers may read and change them.

    @property
    def home_of_team(self) -> Path:
        return Path(self.layout.team("crew"))

    @property
    def state(self) -> Record:
        found: Record = json.loads((self.home_of_team / "state.json").read_bytes())
        return found

    def change_state(self, **fields: object) -> None:
        """As an editor would, but between two writes of a daemon and not into one."""
        path = self.home_of_team / "state.json"
        with self.locks.private(str(path)):
            path.write_text(json.dumps({**self.state, **fields}, indent=2))

    def age_lead(self, minutes: float) -> None:
        self.change_state(lead_last_seen_utc_ms=round((time.time() - minutes * 60) * 1000))

    def heartbeat(self, member: str) -> Record:
        found: Record = json.loads((self.home_of_team / f"heartbeats/{member}.json").read_bytes())
        return found

    def leave_heartbeat(self, member: str, minutes: float = 0.0, **fields: object) -> None:
        """One that is so old, of no process, on no clock but the wall's."""
        path = self.home_of_team / f"heartbeats/{member}.json"
        path.parent.mkdir(exist_ok=True)
        said = {"member": member, "at": to_iso(time.time() - minutes * 60), "source": "test", "host": "elsewhere"}
        path.write_text(json.dumps({**said, **fields}))

    def texts(self, member: str) -> list[str]:
        """What lies in an inbox, in order."""
        path = self.atm.inbox(member)
        return [row["text"] for row in json.loads(path.read_bytes())] if path.exists() else []

    def settle(self, *lines: str, **sessions: object) -> None:
        """The user's own settings."""
        path = Path(self.layout.settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        said = [f"{key} = {json.dumps(value)}" for key, value in sessions.items()]
        path.write_text("\n".join(["[sessions]", *said, *lines]) + "\n")

    def everything(self) -> dict[str, tuple[bytes, int]]:
        """Every byte and time under the home and in the repository."""
        found = {}
        for root in (self.atm.home, self.folder):
            for path in [root, *root.rglob("*")]:
                facts = path.lstat()
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = (content, facts.st_mtime_ns)
        return found

    def of_the_team(self) -> dict[str, bytes]:
        """Every file of the team and its tasks."""
        roots = (self.home_of_team, Path(self.layout.task_lists) / "crew")
        return {str(path): path.read_bytes() for root in roots for path in sorted(root.rglob("*")) if path.is_file()}

    def is_done(self, id: str) -> None:
        """Waits for it by its file: a command for each look would keep the agents from their work."""
        path = Path(self.layout.task_lists) / f"crew/{id}.json"
        self.eventually(lambda: json.loads(path.read_bytes())["status"] == "completed")

    # What became of it.

    def user_sees(self) -> tuple[str, bytes, str, str]:
        """HEAD, the bytes of the index, `git status`, the stash."""
        index = (self.folder / ".git/index").read_bytes()
        head = (self.folder / ".git/HEAD").read_text() + self.git("rev-parse", "HEAD")
        return head, index, self.git("--no-optional-locks", "status", "--porcelain"), self.git("stash", "list")

    @property
    def is_marked(self) -> bool:
        return (self.home_of_team / "lead-away").exists()

    def look_twice(self) -> None:
        """Let the daemon look after its teams from the beginning to the end, at least once."""
        self.daemon.another_round("sessions")

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for one in self.running():
            kill(one.pid)
        self.eventually(lambda: self.running() == [])
        self.daemon.clean_up()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@pytest.fixture
def stage(
    atm: Atm, layout: Layout, eventually: Callable[..., None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A repository with one commit; no team yet."""
    keep_bytecode(atm, tmp_path_factory.getbasetemp())
    made = Stage(atm, layout, eventually)
    yield made
    made.end()


@pytest.fixture
def team(stage: Stage) -> Stage:
    """With a team that works: bob has claimed the first of three tasks and is there; nobody has led it yet."""
    stage.make_team()
    stage.add_tasks("One", "Two", "Three")
    stage("tasks", "claim", "1", "--as", "bob")
    return stage


@pytest.fixture
def led(team: Stage) -> Stage:
    """The same, led by session s1."""
    team.session("resume", "crew")
    return team


def said(result: Result) -> str:
    return str(result.json["error"]["code"])
