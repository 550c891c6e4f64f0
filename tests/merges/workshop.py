"""
A repository with finished tasks, and the queue that merges them: real git, real files of the queue, a board in memory.

What must hold however it ends is said once, in `Workshop.check`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.crew.repositories import GIT, Users, git
from tests.merges.histories import CHECK, MODULE, RED, RESOLVERS, Entry, History, Written, alone, write

from atm.board.adapters.programs import RealPrograms
from atm.board.rules import claims
from atm.board.rules.tasks import task_id
from atm.board.services import planning
from atm.board.services.boardroom import Boardroom
from atm.board.services.new_tasks import NewTask
from atm.crew.ports.worktrees import Repository
from atm.crew.rules.refs import result_branch, work_branch
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock, find_layout
from atm.files.formats.layout import Layout
from atm.merges.adapters.git_merging import GitMerging
from atm.merges.adapters.queue_files import MergeFiles
from atm.merges.rules.items import FAILED, MERGED, PENDING, MergeItem, MergeQueue
from atm.merges.services.mergeroom import MergePolicy, Mergeroom
from atm.merges.services.people import begin_queue, work_off
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import create_team
from atm.testing.agents import memory_crewroom
from atm.testing.board import MemoryTasks
from atm.testing.rooms import memory_room
from atm.wiring.crew import build_worktrees
from atm.wiring.files import build_locks

TEAM = "crew"
MOST_STEPS = 500
"""Times that a queue of six tasks may be written. It takes a tenth of them."""


def add_finished(boardroom: Boardroom, work: list[Written], needs: list[list[int]]) -> None:
    """Tasks on the board, done by ann, one after the other."""
    wishes = [
        NewTask(f"Task {at}", key=f"t{at}", depends_on=[f"t{one + 1}" for one in needs[at - 1]])
        for at in range(1, len(work) + 1)
    ]
    planning.add(boardroom, TEAM, "lead", wishes)
    for number, one in enumerate(work, start=1):
        finish(boardroom, str(number), one.base, one.head)


def finish(boardroom: Boardroom, id: str, base: str, head: str) -> None:
    boardroom.clock.sleep(0.002)
    by = boardroom.stamp("ann")
    said = {"branch": work_branch(TEAM, id, "ann"), "commit": head, "base": base}
    with boardroom.tasks.turn(TEAM) as turn:
        turn.change(
            task_id(id),
            lambda task: claims.complete(task, by, result="", evidence=[], unverified=False, work={**said}),
        )


class RivalGit(GitMerging):
    """Somebody else moves the target just before we do."""

    folder: Path
    turns: tuple[int, ...] = ()
    lands = 0
    made: list[str]

    def land(self, repository: Repository, branch: str, commit: str, former: str) -> bool:
        if self.lands in self.turns:
            self.made.append(add_commit(self.folder, branch, f"rival {self.lands}"))
        self.lands += 1
        return super().land(repository, branch, commit, former)


def add_commit(folder: Path, branch: str, name: str, text: str = "rival") -> str:
    """One more file on a branch that nobody has checked out."""
    tip = git(folder, "rev-parse", branch)
    blob = _fed(folder, "hash-object", "-w", "--stdin", stdin=text.encode())
    listed = _fed(folder, "ls-tree", "-z", tip)
    tree = _fed(folder, "mktree", "--missing", "-z", stdin=os.fsencode(f"{listed}100644 blob {blob}\t{name}\0"))
    made = git(folder, "commit-tree", "-p", tip, "-m", name, tree)
    git(folder, "update-ref", f"refs/heads/{branch}", made, tip)
    return made


def _fed(folder: Path, *words: str, stdin: bytes = b"") -> str:
    done = subprocess.run([GIT, *words], cwd=folder, input=stdin, capture_output=True, check=True)
    return os.fsdecode(done.stdout).strip("\n")


def board_in_memory(layout: Layout) -> FullBoardroom:
    """Its programs are real."""
    room, programs = memory_room(), RealPrograms(layout)
    return FullBoardroom(room=room, tasks=MemoryTasks(room.clock), programs=lambda: programs)


class Workshop:
    """One history, on the machine."""

    def __init__(
        self, folder: Path, history: History, boardroom: Callable[[Layout], FullBoardroom] | None = None
    ) -> None:
        self.history = history
        self.home, self.folder = folder / "home", folder / "r"
        self.branch = history.target or result_branch(TEAM)
        self.work = write(history, self.folder, work_branch(TEAM, "{}", "ann"))
        self._as_the_user_left_it()
        layout = find_layout({"ATM_HOME": str(self.home)})
        self.boardroom = (boardroom or board_in_memory)(layout)
        create_team(self.boardroom.room, TEAM, lead="lead")
        add_finished(self.boardroom, self.work, [[*job.needs] for job in history.jobs])
        crew = memory_crewroom(self.boardroom)
        crew.worktrees = build_worktrees(layout)
        disk, clock = RealDisk(layout.private_roots), RealClock()
        locks = build_locks(layout, disk, clock)
        self.git = RivalGit(disk, clock, locks, layout)
        self.git.folder, self.git.turns, self.git.made = self.folder, history.rivals, []
        policy = MergePolicy(
            strategy=history.strategy,
            at_once=history.at_once,
            check=CHECK if history.is_checked else "",
            command=RESOLVERS[history.resolver],
            sends_back=history.sends_back,
        )
        self.room = Mergeroom(crew, MergeFiles(disk, locks, layout), self.git, policy)
        if history.target:
            wanted = MergeQueue(team=TEAM, branch=self.branch, folder=str(self.folder), strategy=history.strategy)
            begin_queue(self.room, wanted)
        self._first = self.tip() if history.target else git(self.folder, "rev-parse", "main")
        self._users = self.users()

    def _as_the_user_left_it(self) -> None:
        git(self.folder, "reset", "-q", "--hard")
        if self.history.user == "detached":
            git(self.folder, "checkout", "-q", "--detach")
        if self.history.user == "dirty":
            (self.folder / "stashed").write_text("stashed")
            git(self.folder, "stash", "-q", "-u")
            for name in ("staged", "untracked"):
                (self.folder / name).write_text(name)
            git(self.folder, "add", "staged")

    def users(self) -> dict[str, str]:
        seen = Users(self.folder).look()
        seen["refs"] = "\n".join(line for line in seen["refs"].split("\n") if f"/{self.branch} " not in line)
        return seen

    def merge(self) -> MergeQueue:
        steps = 0

        def count(queue: MergeQueue) -> None:
            nonlocal steps
            steps += 1
            assert steps < MOST_STEPS * max(1, len(queue.items) // 6), f"it does not end: {queue}"

        return work_off(self.room, TEAM, str(self.folder), count)

    def tip(self) -> str:
        return git(self.folder, "rev-parse", self.branch)

    # What must hold.

    def check(self, queue: MergeQueue) -> None:
        on_target = self._commits(f"refs/heads/{self.branch}")
        kept = self._commits("--glob=refs/atm/salvage/*")
        assert {item.task for item in queue.items} >= {
            str(number) for number, one in enumerate(self.work, start=1) if one.base != one.head
        }
        for item in queue.items:
            self._check_item(queue, item, on_target, kept)
        assert {*self.git.made} <= on_target, "what somebody else put there is gone"
        logged = git(self.folder, "log", "-g", "--format=%H", self.branch, "--").split()
        assert {self._first, *logged} <= on_target, "the target was moved back"
        self._check_files(queue)
        assert self.users() == self._users
        self._check_places(queue)
        git(self.folder, "fsck", "--connectivity-only")

    def _commits(self, tip: str) -> set[str]:
        return {*git(self.folder, "rev-list", tip).split()}

    def _check_item(self, queue: MergeQueue, item: MergeItem, on_target: set[str], kept: set[str]) -> None:
        work = self.boardroom.tasks.read(TEAM, item.task).part("work")
        if item.status == MERGED:
            assert item.commit in on_target, item
            assert work.get("merged") == item.commit, item
            assert not item.needs_human, item
            if item.lost:
                assert item.head in kept, item
            return
        assert not item.commit, item
        assert not work.get("merged"), item
        if item.status == PENDING:
            others = [queue.item(id) for id in item.waits_for]
            assert others, item
            assert not any(one is not None and one.is_over for one in others), item
            assert git(self.folder, "rev-parse", item.branch) == item.head, item
            return
        assert item.reason, item
        if not item.needs_human:  # then its task is open again
            assert (item.status, item.sent_back > 0) == (FAILED, True), item
        assert item.salvage, item
        assert item.head in kept, item

    def _check_files(self, queue: MergeQueue) -> None:
        found = self._tree(self.branch)
        merged = {item.task for item in queue.items if item.status == MERGED and not item.lost}
        if self.history.resolver != "deletes all":
            for number, one in enumerate(self.work, start=1):
                if str(number) in merged or one.head == one.base:
                    for path, entry in alone(self.work, number - 1):
                        assert found.get(path) == entry, f"{path} of #{number}"
        if self.history.is_checked and self.history.by_hand < 0:  # by hand, anything may be merged
            assert not {*RED} <= {*found}, "the check fails on the target"
        assert not [path for path, (_, data) in found.items() if b"\n>>>>>>> " in data], "marks on the target"

    def _tree(self, commit: str) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        rows = [row for row in git(self.folder, "ls-tree", "-r", "-z", commit).split("\0") if row]
        facts = [(row.partition("\t")[0].split(), row.partition("\t")[2]) for row in rows]
        asked = "".join(f"{words[2]}\n" for words, _ in facts if words[0] != MODULE).encode()
        words = [GIT, "cat-file", "--batch"]
        out = subprocess.run(words, cwd=self.folder, input=asked, capture_output=True, check=True).stdout
        for (mode, _, id), path in facts:
            if mode == MODULE:
                found[path] = (mode, id.encode())
                continue
            head, _, rest = out.partition(b"\n")
            size = int(head.split()[2])
            found[path], out = (mode, rest[:size]), rest[size + 1 :]
        return found

    def _check_places(self, queue: MergeQueue) -> None:
        """Nothing lies about, but for what a person was told to look at."""
        left = self.room.crew.worktrees.left(TEAM)
        flagged = {item.task for item in queue.items if item.needs_human and item.resolution}
        assert [one for one in left if Path(one.path).name.partition("-")[0] not in flagged] == []
        listed = git(self.folder, "worktree", "list", "--porcelain").count("worktree ") - 1
        assert listed == len(left)
        names = git(self.folder, "for-each-ref", "--format=%(refname)", "refs/heads/atm/work").split()
        assert len([name for name in names if name.endswith("-%2Emerge")]) <= len(left), names
