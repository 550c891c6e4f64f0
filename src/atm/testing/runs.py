"""Runs in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy

from atm.approvals.rules.policy import Policy, PolicyLayer
from atm.approvals.services.approvalroom import Approvalroom
from atm.core.errors import FileBusy, UnreadableFile
from atm.core.work_errors import GitTrouble, RunActive
from atm.crew.ports.worktrees import JoinedWork
from atm.crew.services.crewroom import CrewPolicy, Crewroom
from atm.merges.formats.queue_file import decode_queue, encode_queue
from atm.merges.rules.items import MERGE, REBASE
from atm.merges.services.mergeroom import MergePolicy, Mergeroom
from atm.merges.services.people import work_off
from atm.roster.services.full_boardroom import FullBoardroom
from atm.runs.formats.event_line import decode_events, encode_event
from atm.runs.formats.order_file import decode_order, encode_order
from atm.runs.services.runroom import Runroom
from atm.testing.agents import memory_crewroom
from atm.testing.approvals import MemoryApprovals
from atm.testing.crew import MemoryWorktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Record
    from atm.crew.ports.worktrees import Repository, Saved, Worktree
    from atm.merges.ports import MergePiece
    from atm.merges.rules.items import MergeQueue
    from atm.merges.rules.radar import Collision
    from atm.runs.rules.memory import RunEvent
    from atm.runs.rules.orders import RunOrder


class MemoryRuns:
    """Implements `runs.ports.Runs`. `plans` are files of the user's."""

    def __init__(self) -> None:
        self._orders: dict[tuple[str, str], bytes] = {}
        self._lines: dict[tuple[str, str], str] = {}
        self._reports: dict[tuple[str, str], tuple[Record, str]] = {}
        self.copies: dict[tuple[str, str], str] = {}
        self.plans: dict[str, str] = {}
        self._held: set[str] = set()
        self.suspended: dict[str, int] = {}
        """Processes of loops that are suspended, by team."""

    @contextmanager
    def hold(self, team: str) -> Iterator[object]:
        if team in self._held:
            raise RunActive(f"a run of team {team!r} is under way", "wait for it")
        self._held.add(team)
        try:
            yield self
        finally:
            self._held.discard(team)

    def is_held(self, team: str) -> bool:
        return team in self._held

    def suspended_loop(self, team: str) -> int:
        return self.suspended.get(team, 0) if self.is_held(team) else 0

    def names(self, team: str) -> list[str]:
        known = {*self._orders, *self._lines, *self._reports, *self.copies}
        return sorted(run for home, run in known if home == team)

    def write(self, order: RunOrder) -> None:
        self._orders[order.team, order.run] = encode_order(order)

    def is_as_written(self, team: str, run: str) -> bool:
        return (team, run) in self._orders

    def order(self, team: str, run: str) -> RunOrder | None:
        found = self._orders.get((team, run))
        return decode_order(found) if found is not None else None

    def append(self, team: str, run: str, events: Sequence[RunEvent]) -> None:
        if events:
            lines = "".join(encode_event(event, team, run) for event in events)
            self._lines[team, run] = self._lines.get((team, run), "") + lines

    def events(self, team: str, run: str) -> list[RunEvent]:
        return self.events_since(team, run, 0)[0]

    def events_since(self, team: str, run: str, offset: int) -> tuple[list[RunEvent], int]:
        data = self._lines.get((team, run), "").encode()[offset:]
        return [*decode_events(data.decode())], offset + len(data)

    def report(self, team: str, run: str) -> Record | None:
        found = self._reports.get((team, run))
        return deepcopy(found[0]) if found is not None else None

    def write_report(self, team: str, run: str, facts: Record, text: str) -> None:
        self._reports[team, run] = (deepcopy(facts), text)

    def write_copy(self, team: str, run: str, text: str) -> None:
        self.copies[team, run] = text

    def change_copy(self, team: str, run: str, change: Callable[[str], str]) -> None:
        if (team, run) in self.copies:
            self.copies[team, run] = change(self.copies[team, run])

    def change_plan(self, path: str, change: Callable[[str], str]) -> None:
        if path not in self.plans:
            raise UnreadableFile(f"{path} is not there", "check the path", path)
        self.plans[path] = change(self.plans[path])

    def folder(self, team: str, run: str) -> str:
        return f"/teams/{team}/runs/{run}"

    def remove(self, team: str, run: str) -> None:
        for kept in (self._orders, self._lines, self._reports, self.copies):
            kept.pop((team, run), None)


class MemoryMerges:
    """Implements `merges.ports.Merges`."""

    def __init__(self) -> None:
        self._queues: dict[str, bytes] = {}
        self._seen: dict[str, list[Collision]] = {}
        self._held: set[str] = set()

    @contextmanager
    def hold(self, team: str, seconds: float = 0.3) -> Iterator[object]:  # noqa: ARG002 - nobody else lets go meanwhile
        if team in self._held:
            raise FileBusy(f"work of team {team!r} is being merged just now", "wait for it")
        self._held.add(team)
        try:
            yield self
        finally:
            self._held.discard(team)

    def is_held(self, team: str) -> bool:
        return team in self._held

    def read(self, team: str) -> MergeQueue | None:
        return decode_queue(self._queues[team]) if team in self._queues else None

    def write(self, queue: MergeQueue) -> None:
        self._queues[queue.team] = encode_queue(queue)

    def note_collisions(self, team: str, found: Sequence[Collision]) -> None:
        self._seen[team] = [*found]

    def collisions(self, team: str) -> list[Collision]:
        return deepcopy(self._seen.get(team, []))


class MemoryMergeGit:
    """Implements `merges.ports.MergeGit`, over the commits of a `MemoryWorktrees`. Three-way, by whole files."""

    def __init__(self, worktrees: MemoryWorktrees) -> None:
        self._trees = worktrees
        self.begun: dict[str, tuple[str, list[str]]] = {}
        """By worktree: what is merged there, and the files that are in conflict. A file is resolved when it changes."""

    def head(self, repository: Repository, branch: str) -> str:
        return self._trees.branches[repository.common].get(branch, "")

    def open_target(self, repository: Repository, branch: str, base: str) -> str:
        branches = self._trees.branches[repository.common]
        now = branches.setdefault(branch, base)
        joined = self._trees.join(repository, [now, base], "the beginning")
        if not joined.commit:
            raise GitTrouble(f"{branch} and what this begins with do not go together", "merge them yourself")
        branches[branch] = joined.commit
        return joined.commit

    def contains(self, repository: Repository, branch: str, commit: str) -> bool:
        return commit in self._trees.history(self.head(repository, branch))

    def land(self, repository: Repository, branch: str, commit: str, former: str) -> bool:
        if self.head(repository, branch) != former:
            return False
        self._trees.branches[repository.common][branch] = commit
        return True

    def _files(self, commit: str) -> dict[str, str]:
        return self._trees.commits[commit].files

    def _three_way(self, base: str, ours: str, theirs: str) -> tuple[dict[str, str], list[str]]:
        was, one, other = self._files(base), self._files(ours), self._files(theirs)
        files, conflicts = dict(one), []
        for path in sorted({*was, *one, *other}):
            mine, yours = one.get(path), other.get(path)
            if yours in (was.get(path), mine):
                continue
            if mine != was.get(path):
                conflicts.append(path)
            elif yours is None:
                files.pop(path, None)
            else:
                files[path] = yours
        return files, conflicts

    def combine(self, repository: Repository, piece: MergePiece, onto: str) -> JoinedWork:  # noqa: ARG002 - one is all
        if piece.head in self._trees.history(onto):
            return JoinedWork(onto)
        parents = self._trees.commits[piece.head].parents
        is_resolved = piece.strategy == MERGE and len(parents) > 1 and parents[0] == onto
        follows = onto in self._trees.history(piece.head) and piece.base in self._trees.history(onto)
        if is_resolved or (follows and piece.strategy == REBASE):
            return JoinedWork(piece.head)
        files, conflicts = self._three_way(piece.base, onto, piece.head)
        return JoinedWork("", conflicts) if conflicts else JoinedWork(self._made(piece, onto, files))

    def _made(self, piece: MergePiece, onto: str, files: dict[str, str]) -> str:
        if piece.strategy != MERGE and files == self._files(onto):
            return onto
        return self._commit(piece, onto, files)

    def _commit(self, piece: MergePiece, onto: str, files: dict[str, str]) -> str:
        return self._trees.add_commit(files, onto, *([piece.head] if piece.strategy == MERGE else []))

    def changed(self, repository: Repository, base: str, head: str) -> list[str]:  # noqa: ARG002 - one is all
        one, other = self._files(base), self._files(head)
        return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))

    def would_conflict(self, repository: Repository, base: str, onto: str, head: str) -> list[str]:  # noqa: ARG002
        return self._three_way(base, onto, head)[1]

    def diff(
        self,
        repository: Repository,
        base: str,
        head: str,
        paths: Sequence[str] = (),
        context: int = 3,  # noqa: ARG002 - whole files
    ) -> str:
        found = self.changed(repository, base, head)
        shown = [path for path in found if not paths or path in paths]
        return "".join(f"+++ b/{path}\n+{self._files(head).get(path, '')}\n" for path in shown)

    def same_in(self, repository: Repository, one: str, other: str, paths: Sequence[str]) -> list[str]:
        return [path for path in paths if path not in self.changed(repository, one, other)]

    def side(self, repository: Repository, piece: MergePiece, onto: str) -> str:  # noqa: ARG002 - one is all
        return onto

    def begin(self, place: Worktree, head: str) -> list[str]:
        if place.path not in self.begun:
            base = max(self._trees.history(place.base) & self._trees.history(head), default=place.base)
            files, conflicts = self._three_way(base, place.base, head)
            marked = {path: f"<<<<<<< {files.get(path)} {self._files(head).get(path)} >>>>>>>" for path in conflicts}
            self._trees.trees[place.path] = {**files, **marked}
            self.begun[place.path] = (head, conflicts)
        return self.settle(place, head)

    def preview(self, place: Worktree, path: str) -> str:
        return self._trees.trees[place.path].get(path, "")

    def settle(self, place: Worktree, head: str) -> list[str]:  # noqa: ARG002 - it knows that itself
        _, conflicts = self.begun[place.path]
        return [path for path in conflicts if "<<<<<<<" in self._trees.trees[place.path].get(path, "")]

    def seal(self, repository: Repository, piece: MergePiece, onto: str, resolved: str) -> str:  # noqa: ARG002
        return self._commit(piece, onto, self._files(resolved))

    def stand(self, place: Worktree, commit: str) -> None:
        self._trees.trees[place.path] = dict(self._files(commit))
        self._trees.branches[place.common][place.branch] = commit

    def keep(self, repository: Repository, team: str, task: str, commit: str, why: str) -> Saved:
        return self._trees.keep(repository.common, team, task, commit, why)


class MemoryMergeWorker:
    """Implements `merges.ports.MergeWorker`: works at once, in whoever asks. `fails` is what it says each time."""

    def __init__(self, room: Mergeroom) -> None:
        self._room = room
        self.fails = ""
        self.starts = 0

    def start(self, team: str, folder: str) -> None:
        self.starts += 1
        if not self.fails:
            work_off(self._room, team, folder, lambda _: None)

    def is_running(self) -> bool:
        return False

    def trouble(self) -> str:
        return self.fails

    def stop(self) -> None:
        return


def memory_mergeroom(crew: Crewroom, policy: MergePolicy | None = None) -> Mergeroom:
    assert isinstance(crew.worktrees, MemoryWorktrees)
    return Mergeroom(crew, MemoryMerges(), MemoryMergeGit(crew.worktrees), policy)


def memory_runroom(
    boardroom: FullBoardroom, *, policy: CrewPolicy | None = None, merging: MergePolicy | None = None
) -> Runroom:
    """Runs on a machine that is made of twins."""
    crew = memory_crewroom(boardroom, policy=policy)
    approvals = Approvalroom(
        room=boardroom.room,
        boardroom=lambda: boardroom,
        approvals=MemoryApprovals(boardroom.room.rosters),  # type: ignore[arg-type]
        policy=Policy(PolicyLayer(""), []),
        real=lambda path: path,
        pid=crew.pid,
    )
    merges = memory_mergeroom(crew, merging)
    return Runroom(crew, MemoryRuns(), approvals, merges, MemoryMergeWorker(merges))
