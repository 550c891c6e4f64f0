"""
kill -9 of `atm merge work` at every step of git's, before it runs and after it has run.

A wrapper `git` on the PATH counts, and kills whoever called it at the chosen step. Reading the settings, which comes
before every other step, does not count, nor does the git of a check or of who resolves a conflict. Then it is started
again: what comes of it is what would have come without the kill, commit for commit, and nothing is lost, doubled or
left lying about.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.conftest import Atm
from tests.crew.repositories import GIT, git
from tests.merges.histories import CHECK, RESOLVERS, Edit, History, Job
from tests.merges.workshop import TEAM, Workshop

from atm.board.adapters.programs import RealPrograms
from atm.files.adapters.machine import find_layout
from atm.files.formats.layout import Layout
from atm.files.ports.disk import Disk
from atm.merges.adapters.queue_files import MergeFiles
from atm.merges.rules.items import MergeQueue
from atm.roster.services.full_boardroom import FullBoardroom
from atm.testing import Crash, FaultyDisk, QuickDisk
from atm.wiring.board import build_tasks
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room

pytestmark = pytest.mark.campaign

WRAPPER = """#!/bin/sh
case "$ATM_WORKTREE$*" in /*|*"config --list"*) exec {git} "$@";; esac
count=$(($(cat {folder}/count) + 1))
echo $count > {folder}/count
if [ "$count" = "{step}" ] && [ {moment} = before ]; then kill -9 $PPID; exit 1; fi
{git} "$@"
code=$?
if [ "$count" = "{step}" ]; then kill -9 $PPID; fi
exit $code
"""

ALL_OF_IT = (
    Job((Edit("line", "a.txt", 3, "one"), Edit("append", "b.txt", 0, "one"))),
    Job((Edit("line", "a.txt", 3, "two"),)),  # in conflict with the first
    Job((Edit("add", "new.txt", 0, "three"), Edit("red", "", 0, "one"))),
    Job((Edit("append", "new.txt", 0, "two"),), needs=(2,)),
    Job((Edit("red", "", 1, "one"),)),  # red together with the third
)
LIVES = {
    "rebase": History(("a.txt", "b.txt"), ALL_OF_IT, "rebase", 2, "theirs", is_checked=True),
    "merge": History(("a.txt", "b.txt"), ALL_OF_IT, "merge", 4, "ours", is_checked=True, sends_back=1),
    "squash": History(("a.txt", "b.txt"), ALL_OF_IT, "squash", 1, "does nothing", is_checked=True, user="dirty"),
}
IN_EVERY_RUN = 2
"""Kills of each life, spread over its steps; `make chaos` does not leave out any."""
MOST_STEPS = 2000


def board_on_disk(layout: Layout) -> FullBoardroom:
    programs = RealPrograms(layout)
    return FullBoardroom(room=build_room(layout), tasks=build_tasks(layout), programs=lambda: programs)


@dataclass(frozen=True)
class End:
    """What came of it."""

    tree: str
    commits: int
    statuses: list[tuple[str, str]]


class Life:
    """One history that is merged again and again from its beginning, each time killed elsewhere."""

    def __init__(self, place: Path, history: History) -> None:
        self._now, self._beginning, self._programs = place / "now", place / "beginning", place / "programs"
        self._programs.mkdir()
        self.shop = Workshop(self._now, history, board_on_disk)
        self._configure(history)
        shutil.copytree(self._now, self._beginning, symlinks=True)
        self.atm = Atm(self.shop.home, self.shop.folder)
        self.atm.guest = False  # it is killed
        facts = {key: value for key, value in os.environ.items() if key.startswith("GIT_CONFIG")}
        self.atm.environment |= {**facts, "PATH": f"{self._programs}{os.pathsep}{os.environ['PATH']}"}

    def _configure(self, history: History) -> None:
        path = self.shop.home / ".config/atm/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        words = {
            "strategy": history.strategy,
            "at_once": history.at_once,
            "check": CHECK,
            "resolve_command": RESOLVERS[history.resolver],
            "sends_back": history.sends_back,
        }
        lines = ["[daemon]", "autostart = false", "[merges]", *(f"{k} = {json.dumps(v)}" for k, v in words.items())]
        path.write_text("\n".join(lines) + "\n")

    def begin_again(self) -> None:
        shutil.rmtree(self._now)
        shutil.copytree(self._beginning, self._now, symlinks=True)

    def merge(self, step: int = 0, moment: str = "before") -> bool:
        """Whether it came to its end."""
        text = WRAPPER.format(folder=self._programs, step=step, moment=moment, git=GIT)
        (self._programs / "git").write_text(text)
        (self._programs / "git").chmod(0o755)
        (self._programs / "count").write_text("0\n")
        done = self.atm("merge", "work", "--team", TEAM, "--json", code=None)
        assert done.code in (0, 2, -9), f"{done.code} {done.out} {done.err}"
        return done.code != -9

    def steps(self) -> int:
        return int((self._programs / "count").read_text())

    def queue(self) -> MergeQueue:
        found = self.shop.room.merges.read(TEAM)
        assert found is not None
        return found

    def end(self) -> End:
        """After checking that it is a good one."""
        queue = self.queue()
        self.shop.check(queue)
        assert not list((self.shop.folder / ".git").rglob("*.lock"))
        statuses = sorted((item.task, item.status) for item in queue.items)
        tree = git(self.shop.folder, "rev-parse", f"{self.shop.branch}^{{tree}}")
        return End(tree, int(git(self.shop.folder, "rev-list", "--count", self.shop.branch)), statuses)


@pytest.fixture
def lead(place: Path) -> Callable[[str], Life]:
    return lambda name: Life(place, LIVES[name])


@pytest.mark.parametrize(
    ("name", "moment"),
    [(name, moment) for name in LIVES for moment in ("before", "after")]
    if LONG
    else [("rebase", "before"), ("merge", "after"), ("squash", "before")],
)
def test_killed_at_any_step_it_ends_as_if_nobody_had_killed_it(lead, name, moment):
    life = lead(name)
    assert life.merge()
    wanted, steps = life.end(), life.steps()
    assert 50 < steps < MOST_STEPS
    every = 1 if LONG else steps // IN_EVERY_RUN
    first = 1 if LONG else 1 + [*LIVES].index(name) * 7 + len(moment)
    for step in range(first, steps + 1, every):
        life.begin_again()
        assert not life.merge(step, moment), step
        assert life.merge(), step
        assert life.end() == wanted, f"killed {moment} step {step}"


def test_the_command_refuses_a_queue_that_was_altered_by_hand(lead):
    life = lead("squash")
    assert life.merge()
    (path,) = life.shop.home.rglob("merges.json")
    path.write_bytes(path.read_bytes().replace(b"atm/result/crew", b"main"))
    before = life.shop.users()
    for verb in ("work", "queue"):
        done = life.atm("merge", verb, "--team", TEAM, "--json", code=None)
        assert done.code == 1, done
        assert "not-trusted" in done.out + done.err
    assert life.shop.users() == before


def test_killed_twice_at_any_two_steps_of_writing_there_is_a_queue_that_atm_trusts(place):
    layout = find_layout({"ATM_HOME": str(place / "home")})
    former = MergeQueue(team=TEAM, branch="first")
    files = queue_files(layout, QuickDisk())
    files.write(former)
    counting = FaultyDisk(QuickDisk())
    queue_files(layout, counting).write(former)
    for one, two in itertools.product(range(len(counting.steps)), repeat=2):
        files.write(former)
        for step, branch in ((one, "second"), (two, "third")):
            with pytest.raises(Crash):
                queue_files(layout, FaultyDisk(QuickDisk(), stop_at=step)).write(MergeQueue(team=TEAM, branch=branch))
        found = queue_files(layout, QuickDisk()).read(TEAM)
        assert found is not None
        assert found.branch in ("first", "second", "third"), (one, two)


def queue_files(layout: Layout, disk: Disk) -> MergeFiles:
    """Of a fresh process."""
    return MergeFiles(disk, build_locks(layout), layout)
