"""Merging: finished work beside the git commands that a person would type, and the radar over many worktrees."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from atm import config
from atm.board.ports.workplaces import KeptWork
from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.crew.rules.agents import AgentRecord
from atm.crew.rules.refs import result_branch
from atm.files.adapters.machine import find_layout
from atm.merges.rules.items import MERGE, MERGED, REBASE, STRATEGIES
from atm.merges.services.mergeroom import Mergeroom
from atm.merges.services.people import work_off
from atm.merges.services.queueing import open_queue, repository_of
from atm.merges.services.radar import Radar
from atm.wiring.board import build_boardroom
from atm.wiring.runs import build_mergeroom
from benchmarks.cases import Bench
from benchmarks.measure import Times, Variant, round_robin
from benchmarks.rows import Row, at_most
from benchmarks.sandboxes import MEMBERS, TEAM, new_team

ROUNDS, QUICK_ROUNDS = 20, 2
CROWD, QUICK_CROWD = 200, 5
WORKTREES, QUICK_WORKTREES = 30, 6
PAIRS = 3
"""Of these, so many pairs change the same lines."""

FILES = 250
LINES = "some text\n" * 20
TARGET = result_branch(TEAM)
WHO = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
LOOKS = 5
PERIOD = 15.0
"""Seconds between two looks of the radar, as a run has it."""

WHY_MERGE = "beside git's own work the queue, its seal and the board are written durably before and after every step"
WHY_RADAR = "git looks at each worktree for itself: `git status`, and a tree of what is there for those that collide"


@dataclass(frozen=True, slots=True)
class MergeFigures:
    """Of single merges by strategy, seconds of a crowd, and seconds of the radar."""

    single: dict[str, Times]
    tasks: int
    crowd: float
    crowd_by_hand: float
    worktrees: int
    first_look: float
    idle: float
    """Processor time of a look after which nobody did anything, git's included."""


def measure_merges(bench: Bench) -> MergeFigures:
    quick = bench.effort.rounds < 10
    rounds, tasks, worktrees = (QUICK_ROUNDS, QUICK_CROWD, QUICK_WORKTREES) if quick else (ROUNDS, CROWD, WORKTREES)
    bench.say(f"merges: one task at a time, {rounds} rounds; {tasks} at once; the radar over {worktrees} worktrees")
    single = {name: times for strategy in (REBASE, MERGE) for name, times in _single(bench, strategy, rounds).items()}
    return MergeFigures(single, tasks, *_crowd(bench, tasks), worktrees, *_radar(bench, worktrees))


class MergeLab:
    """A repository whose tasks each change a file of their own, and its team."""

    def __init__(self, bench: Bench, strategy: str = REBASE) -> None:
        assert strategy in STRATEGIES
        self.sandbox = new_team(bench.new_folder())
        self.folder = self.sandbox.home / "repository"
        self.base = new_repository(self.folder)
        self._work: dict[str, KeptWork] = {}
        self.room = self._room(strategy)

    def _room(self, strategy: str) -> Mergeroom:
        sandbox, layout = self.sandbox, find_layout(self.sandbox.environment)
        settings = config.load(layout, sandbox.environment, str(self.folder), {"merges.strategy": strategy})
        board = build_boardroom(layout, settings, sandbox.room(), workplaces=lambda: self)
        return build_mergeroom(layout, settings, board, {**sandbox.environment, "SHELL": "/bin/sh"})

    def keep(self, team: str, member: str, task: str, message: str) -> KeptWork | None:  # noqa: ARG002 - AgentPlaces
        return self._work.get(task)

    def finish(self, numbers: Sequence[int]) -> None:
        """These tasks are done, each on its branch, all begun with the first commit."""
        board = self.room.boardroom
        for number in numbers:
            (made,) = planning.add(board, TEAM, "human", [NewTask(f"task {number}")]).tasks
            branch, commit = work_of(self.folder, self.base, number)
            self._work[made.id] = KeptWork(folder="", branch=branch, base=self.base, commit=commit)
            working.claim(board, TEAM, MEMBERS[0], made.id)
            working.complete(board, TEAM, MEMBERS[0], made.id)

    def merge(self) -> None:
        work_off(self.room, TEAM, str(self.folder), lambda _: None)

    def check(self, count: int) -> None:
        queue = self.room.merges.read(TEAM)
        merged = sum(one.status == MERGED for one in queue.items) if queue is not None else 0
        if merged != count:
            raise RuntimeError(f"{merged} of {count} tasks were merged")


def new_repository(folder: Path) -> str:
    """Its first commit."""
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(LINES)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        git(folder, *words)
    return git(folder, "rev-parse", "HEAD")


def work_of(folder: Path, base: str, number: int) -> tuple[str, str]:
    """A branch with a commit that changes one file, made without touching the working tree."""
    branch = f"task-{number}"
    blob = git(folder, "hash-object", "-w", "--stdin", stdin=f"task {number}\n{LINES}")
    rows = git(folder, "ls-tree", base).split("\n")
    kept = [row for row in rows if not row.endswith(f"\t{number % FILES}.txt")]
    tree = git(folder, "mktree", stdin="\n".join([*kept, f"100644 blob {blob}\t{number % FILES}.txt"]) + "\n")
    commit = git(folder, *WHO, "commit-tree", "-p", base, "-m", f"task {number}", tree)
    git(folder, "update-ref", f"refs/heads/{branch}", commit)
    return branch, commit


def git(folder: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words], input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class ByHand:
    """What somebody types who merges in a worktree of their own, so that nothing of theirs is disturbed."""

    def __init__(self, bench: Bench, strategy: str) -> None:
        self.folder = bench.new_folder()
        self._strategy = strategy
        self.base = new_repository(self.folder)
        git(self.folder, "branch", TARGET)
        self._scratch = self.folder.with_name(f"{self.folder.name}-scratch")

    def merge(self, branch: str) -> None:
        folder, scratch, path = self.folder, self._scratch, str(self._scratch)
        if self._strategy == REBASE:
            git(folder, "worktree", "add", "-q", "--detach", path, branch)
            git(scratch, "rebase", "-q", TARGET)
        else:
            git(folder, "worktree", "add", "-q", "--detach", path, TARGET)
            git(scratch, "merge", "-q", "--no-ff", "-m", f"Merge {branch}", branch)
        git(folder, "update-ref", f"refs/heads/{TARGET}", git(scratch, "rev-parse", "HEAD"))
        git(folder, "worktree", "remove", path)


def _single(bench: Bench, strategy: str, rounds: int) -> dict[str, Times]:
    """One task more in every round, onto a target that has moved since it began."""
    lab, rival = MergeLab(bench, strategy), ByHand(bench, strategy)
    done = 0

    def prepare() -> None:
        nonlocal done
        done += 1
        lab.finish([done])
        work_of(rival.folder, rival.base, done)

    lab.finish([0])
    lab.merge()
    rival.merge(work_of(rival.folder, rival.base, 0)[0])
    variants = [
        Variant(strategy, lab.merge, prepare, lambda: lab.check(done + 1)),
        Variant(f"{strategy} by hand", lambda: rival.merge(f"task-{done}")),
    ]
    return round_robin(variants, rounds, lambda _: None)


def _crowd(bench: Bench, tasks: int) -> tuple[float, float]:
    """All of them wait when the queue is worked off: seconds for that, and by hand."""
    lab, rival = MergeLab(bench), ByHand(bench, REBASE)
    lab.finish(range(tasks))
    branches = [work_of(rival.folder, rival.base, number)[0] for number in range(tasks)]
    os.sync()
    began = time.perf_counter()
    lab.merge()
    ours = time.perf_counter() - began
    lab.check(tasks)
    began = time.perf_counter()
    for branch in branches:
        rival.merge(branch)
    return ours, time.perf_counter() - began


# The radar.


def _radar(bench: Bench, count: int) -> tuple[float, float]:
    """Seconds of a first look, and processor seconds of one after which nobody did anything."""
    lab = MergeLab(bench)
    room, places = lab.room, lab.room.crew.worktrees
    repository = repository_of(room, open_queue(room, TEAM, str(lab.folder)))
    room.git.open_target(repository, TARGET, lab.base)
    for number in range(count):
        made = places.make(repository, TEAM, str(number + 1), f"a{number}", lab.base)
        file = number // 2 if number < 2 * PAIRS else number
        Path(made.path, f"{file}.txt").write_text(f"by {number}\n{LINES}")
        Path(made.path, f"new-{number}.txt").write_text("new\n")
        _note_agent(room, lab.folder, number, made.path, made.branch, made.base, made.common)
    time.sleep(2.0)  # git looks into files that are as young as its index; people's are older
    radar = Radar(room, TEAM)
    began = time.perf_counter()
    found = radar.look(repository, TARGET)
    first = time.perf_counter() - began
    if sum(bool(one.conflicts) for one in found) != min(PAIRS, count // 2):
        raise RuntimeError(f"{len(found)} collisions were found")
    before = _spent()
    for _ in range(LOOKS):
        radar.look(repository, TARGET)
    return first, (_spent() - before) / LOOKS


def _note_agent(room: Mergeroom, folder: Path, number: int, path: str, branch: str, base: str, common: str) -> None:
    now = time.time()
    record = AgentRecord(
        team=TEAM,
        member=f"a{number}",
        generation=1,
        mark="",
        runtime="claude",
        backend="headless",
        folder=str(folder),
        at=now,
        heard_at=now,
        turns=1,
        task=str(number + 1),
        worktree=path,
        branch=branch,
        base=base,
        common=common,
    )
    with room.crew.records.turn(TEAM, record.member) as turn:
        turn.write(record)


def _spent() -> float:
    """Of this process and of every git that it has waited for."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def merge_targets(found: MergeFigures) -> list[Row]:
    crowd, share = found.crowd / found.crowd_by_hand, found.idle / PERIOD * 100
    each = f"{found.crowd / found.tasks * 1000:.0f} ms a task"
    return [
        *(
            at_most(
                f"merging one finished task, {strategy}, onto a target that has moved / `git {strategy}` by hand",
                *(found.single[strategy], found.single[f"{strategy} by hand"], 3.0, WHY_MERGE),
            )
            for strategy in (REBASE, MERGE)
        ),
        Row(
            f"merging {found.tasks} finished tasks / `git rebase` of each by hand",
            *(
                f"{crowd:.2f}",
                f"{found.crowd:.1f} s / {found.crowd_by_hand:.1f} s; {each}",
                "≤ 3.0",
                crowd <= 3,
                WHY_MERGE,
            ),
        ),
        Row(
            f"the radar over {found.worktrees} worktrees with changes, the first look",
            *(f"{found.first_look:.2f} s", f"{PAIRS} pairs collide", "≤ 1 s", found.first_look <= 1, WHY_RADAR),
        ),
        Row(
            f"the same every {PERIOD:.0f} s, when nobody did anything: share of one core",
            *(f"{share:.2f} %", f"{found.idle * 1000:.0f} ms of processor time", "≤ 1 %", share <= 1, WHY_RADAR),
        ),
    ]
