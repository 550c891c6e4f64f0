"""A repository with one commit, `atm` in it, and what is left of agents."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm, Result
from tests.crew.repositories import copy_of, git

from atm.crew.adapters.agent_files import AgentFiles
from atm.crew.adapters.process_table import RealProcessTable
from atm.crew.rules.marks import RunningProcess, read_mark
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.roster.services.members import create_team
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room


class Crew:
    """`atm` in a repository, and questions about what it started."""

    def __init__(self, atm: Atm, layout: Layout, eventually: Callable[..., None]) -> None:
        self.atm = atm
        self.layout = layout
        self.folder = atm.folder
        self.eventually = eventually
        self.records = AgentFiles(RealDisk(), build_locks(layout), layout)
        self.atm.environment |= {"SHELL": "/bin/sh", "ATM_DAEMON_AUTOSTART": "0"}

    def __call__(self, *words: str, code: int | None = 0, env: dict[str, str] | None = None) -> Result:
        return self.atm(*words, code=code, env=env)

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        done = subprocess.run(["git", *identity, *words], cwd=self.folder, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def running(self) -> list[RunningProcess]:
        """Everything that carries a mark of this home."""
        found = ((one, read_mark(one.mark)) for one in RealProcessTable().running() if one.mark)
        return [one for one, mark in found if mark is not None and mark.home == self.records.home]

    def record(self, member: str, team: str = "crew") -> Any:
        return self.records.read(team, member)

    def becomes(self, member: str, *states: str) -> None:
        def is_so() -> bool:
            found = self.record(member)
            return found is not None and found.state in states

        self.eventually(is_so)

    def task(self, id: str) -> Any:
        return self("tasks", "show", id, "--json", "--team", "crew").json["task"]

    def is_done(self, id: str) -> None:
        self.eventually(lambda: self.task(id)["state"] in ("completed", "failed"))

    def left(self) -> dict[str, list[str]]:
        """What may not be there after the end: processes, worktrees, slots, windows' variables."""
        worktrees = Path(f"{self.layout.state_root}/worktrees")
        folders = [str(path) for path in worktrees.glob("*/*/*")] if worktrees.exists() else []
        slots = (
            [path.name for path in Path(self.layout.slots).glob("*.json")] if Path(self.layout.slots).exists() else []
        )
        listed = self.git("worktree", "list", "--porcelain").count("worktree ") - 1
        return {
            "processes": [f"{one.pid} {one.command}" for one in self.running()],
            "worktrees": [*folders, *(["in git's list"] * listed)],
            "slots": slots,
        }


NOTHING: dict[str, list[str]] = {"processes": [], "worktrees": [], "slots": []}


def one_commit(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "first")


@pytest.fixture
def crew(atm: Atm, layout: Layout, eventually: Callable[..., None]) -> Iterator[Crew]:
    made = Crew(atm, layout, eventually)
    copy_of(one_commit, made.folder)
    create_team(build_room(layout), "crew")
    yield made
    for one in made.running():
        try:
            os.kill(one.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    made.eventually(lambda: made.running() == [])
