"""The queue as it stands: what the board says is done, and what became of it."""

from __future__ import annotations

from atm.board.rules.tasks import COMPLETED, FAILED, UNREACHABLE
from atm.core.errors import AtmError, RequestError
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import NoSuchMerge, commit_gone
from atm.crew.rules.refs import result_branch
from atm.files.formats.times import from_iso
from atm.merges.rules.items import REBASE, STRATEGIES, MergeQueue
from atm.merges.rules.ordering import FinishedWork, refresh
from atm.merges.rules.targets import check_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain
    from atm.crew.ports.worktrees import Repository
    from atm.merges.rules.items import MergeItem
    from atm.merges.services.mergeroom import Mergeroom


class BoardReader:
    """Remembers what was read of finished tasks: one is read again when something happened to it."""

    def __init__(self, room: Mergeroom, team: str) -> None:
        self._room = room
        self._team = team
        self._known: dict[str, tuple[object, FinishedWork | None]] = {}

    def refresh(self, queue: MergeQueue, board: Board | None = None) -> None:
        tasks = self._room.boardroom.tasks
        if board is None:
            if not tasks.exists(self._team):
                return
            board = tasks.board(self._team)
        found = {card.id: self._work(board, card) for card in board.sorted() if not card.is_hidden}
        before = {*queue.before}
        works = [work for work in found.values() if work is not None]
        # Completed work that is on no target never leaves the queue, whichever run it was completed in.
        wanted = [work for work in works if work.task not in before or not work.merged]
        below = [work for work in works if work.task in before and work.merged]
        needed = _closure(wanted, below)
        still_open = [card.id for card in board.cards.values() if _may_still_come(board, card)]
        known = {one.task for one in queue.items}
        given_up = [id for id in known if id not in still_open and _is_given_up(board, id)]
        refresh(queue, [*needed, *wanted], still_open, given_up)

    def is_noted(self, item: MergeItem) -> bool:
        """Did the board say, when it was looked at last, that this is merged?"""
        _, work = self._known.get(item.task, (None, None))
        return work is not None and work.merged == item.commit

    def _work(self, board: Board, card: Card) -> FinishedWork | None:
        if board.state(card) != COMPLETED:
            return None
        version = (card.last_event, card.status, card.outcome)
        known = self._known.get(card.id)
        if known is None or known[0] != version:
            try:
                task = self._room.boardroom.tasks.read(self._team, card.id)
            except AtmError:
                return None  # it changes just now
            known = self._known[card.id] = (version, _finished(task))
        work = known[1]
        if work is not None:
            work.blockers = [*board.blockers(card)]
        return work


def _finished(task: Task) -> FinishedWork | None:
    work, at = task.part("work"), task.text("finishedAt")
    commit, base = _text(work.get("commit")), _text(work.get("base"))
    if not commit or not base or commit == base:
        return None
    return FinishedWork(
        task=task.id,
        agent=task.text("finishedBy") or task.owner,
        branch=_text(work.get("branch")),
        head=commit,
        base=base,
        subject=task.subject,
        done_at=(from_iso(at) or 0.0) if at else 0.0,
        merged=_text(work.get("merged")),
    )


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _is_given_up(board: Board, id: str) -> bool:
    card = board.cards.get(int(id)) if id.isdecimal() else None
    return card is None or (not card.problem and board.state(card) != COMPLETED)


def _may_still_come(board: Board, card: Card) -> bool:
    """Is it open, and can anybody ever finish it?"""
    return not card.is_hidden and not card.is_finished and board.state(card) not in (FAILED, UNREACHABLE)


def _closure(wanted: list[FinishedWork], others: list[FinishedWork]) -> list[FinishedWork]:
    """Work of before that something wanted builds on."""
    by_id, found = {work.task: work for work in others}, {}
    waiting = [id for work in wanted for id in work.blockers]
    while waiting:
        id = waiting.pop()
        if id in by_id and id not in found:
            found[id] = by_id[id]
            waiting += by_id[id].blockers
    return [work for id, work in by_id.items() if id in found]


def open_queue(room: Mergeroom, team: str, folder: str) -> MergeQueue:
    """The one that is there, or a new one for the repository of a folder."""
    found = room.merges.read(team)
    if found is not None:
        return found
    strategy = room.policy.strategy if room.policy.strategy in STRATEGIES else REBASE
    return MergeQueue(team=team, branch=result_branch(team), folder=folder, strategy=strategy)


def look(room: Mergeroom, team: str, folder: str) -> MergeQueue:
    """The queue with what was done since somebody worked it off. Nothing is written."""
    queue = open_queue(room, team, folder)
    BoardReader(room, team).refresh(queue)
    return queue


def open_target(room: Mergeroom, repository: Repository, branch: str, base: str) -> None:
    """Before a run begins: the target is there. The branch that is checked out may be it only if it is clean."""
    head = room.git.open_target(repository, check_target(branch), base)
    room.git.land(repository, branch, head, head)


def repository_of(room: Mergeroom, queue: MergeQueue) -> Repository:
    found = room.crew.worktrees.repository(queue.folder) if queue.folder else None
    if found is None:
        raise RequestError(
            f"{queue.folder or 'this folder'} belongs to no git repository", "go to the repository of the work"
        )
    return found


def check_is_here(room: Mergeroom, queue: MergeQueue) -> None:
    """Before a queue is made: a team does not say in which repository it works, and this may be another one."""
    if room.merges.read(queue.team) is not None:
        return
    BoardReader(room, queue.team).refresh(queue)
    repository = repository_of(room, queue)
    if queue.items and not any(room.git.head(repository, one.branch) for one in queue.items):
        if repository.head and any(room.git.contains(repository, repository.branch, one.base) for one in queue.items):
            raise commit_gone(queue.items[0].head, repository.root or repository.common)
        raise RequestError(
            f"no branch of team {queue.team!r} is in {repository.root or repository.common}",
            "go to the repository of its work",
        )


def find_item(queue: MergeQueue, task: str) -> MergeItem:
    found = queue.item(task.removeprefix("#"))
    if found is None:
        raise NoSuchMerge(
            f"nothing of #{task.removeprefix('#')} waits to be merged",
            f"see `atm merge queue --team {shell_words(queue.team)}`: a task is there as soon as it is completed",
        )
    return found
