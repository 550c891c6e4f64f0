"""What people do with the queue: try again, leave out, resolve by hand."""

from __future__ import annotations

from atm.core.errors import RequestError, UnreadableFile
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import CommitGone, NoSuchMerge, NotTrusted
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MergeQueue
from atm.merges.rules.ordering import try_again, unmerged_for_another_target
from atm.merges.services.desk import MergeDesk
from atm.merges.services.merging import Merging
from atm.merges.services.queueing import BoardReader, check_is_here, find_item, open_queue
from atm.merges.services.resolving import clear_place, find_place, prepare_place, take_resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.crew.ports.worktrees import Worktree
    from atm.merges.rules.items import MergeItem
    from atm.merges.services.mergeroom import Mergeroom

PATIENT = 30.0
"""Seconds that a person waits for a merge that is under way."""


def begin_queue(room: Mergeroom, wanted: MergeQueue) -> None:
    """
    For a run: the queue of its team, with the target of the run. What was merged into another target stays there; what
    was not merged joins the new one. A queue that atm did not write is made anew from the board and from git.
    """
    former = _as_it_was(room, wanted.team)
    if former is not None and (former.run, former.branch) == (wanted.run, wanted.branch):
        return  # a run that goes on; whoever merged for it may still be at it
    with room.merges.hold(wanted.team, PATIENT):
        former = _as_it_was(room, wanted.team)
        if former is not None and former.branch == wanted.branch:
            wanted.items, wanted.green = former.items, former.green
        elif former is not None:
            wanted.items = unmerged_for_another_target(former)
        room.merges.write(wanted)


def unmerged_tasks(room: Mergeroom, team: str) -> list[str]:
    """Tasks that are completed and on no target, flagged ones too. Nothing is written."""
    queue = _as_it_was(room, team) or MergeQueue(team=team)
    BoardReader(room, team).refresh(queue)
    return [one.task for one in queue.items if not one.is_over]


def _as_it_was(room: Mergeroom, team: str) -> MergeQueue | None:
    try:
        return room.merges.read(team)
    except (NotTrusted, UnreadableFile) as error:
        room.crew.room.troubles.note(f"the merge queue is made anew: {error}")
        return None


def work_off(room: Mergeroom, team: str, folder: str, changed: Callable[[MergeQueue], None]) -> MergeQueue:
    """Everything that can be merged now."""
    with room.merges.hold(team):
        queue = open_queue(room, team, folder)
        check_is_here(room, queue)
        Merging(MergeDesk(room, queue, lambda: changed(queue))).work()
        return queue


class Hand:
    """One item in the hand of a person, who holds the queue meanwhile."""

    def __init__(self, room: Mergeroom, team: str, folder: str, task: str) -> None:
        self._desk = MergeDesk(room, open_queue(room, team, folder))
        self._lost: CommitGone | None = None
        """All work of the team is gone: then it can be left out, and nothing else."""
        try:
            check_is_here(room, self._desk.queue)
        except CommitGone as error:
            self._lost = error
        self._merging = Merging(self._desk)
        self._task = task

    @property
    def queue(self) -> MergeQueue:
        return self._desk.queue

    def _item(self, *, may_be_lost: bool = False) -> MergeItem:
        if self._lost is not None and not may_be_lost:
            raise self._lost
        item = find_item(self.queue, self._task)
        if item.status == MERGED:
            raise NoSuchMerge(f"#{item.task} is merged already: {item.commit[:12]}", "there is nothing to do")
        return item

    def retry(self) -> MergeItem:
        with self._merging.ready():
            item = self._item()
            try_again(item)
            self._merging.look()
            if item.waits_for:
                others = ", ".join(f"#{id}" for id in item.waits_for)
                raise RequestError(f"#{item.task} builds on {others}, which is not merged", f"merge {others} first")
            self._merging.go_on_with(item)
        return item

    def skip(self, reason: str) -> MergeItem:
        """It stays on its branch, and is kept beside it; what builds on it does not wait any more."""
        with self._merging.ready():
            item = self._item(may_be_lost=True)
            try:
                self._desk.keep(item, f"left out of the merge: {reason}"[:200])
            except CommitGone:
                item.salvage = ""  # there is nothing left to keep, and the person must be able to say so
            clear_place(self._desk, item.task)  # somebody may have begun to resolve it
            item.status, item.reason, item.skipped, item.needs_human = FAILED, reason, True, False
            self._desk.write()
        return item

    def prepare(self) -> tuple[MergeItem, Worktree, list[str]]:
        """A worktree in which the merge has stopped where it could not go on."""
        with self._merging.ready():
            item = self._item()
            if item.resolved_onto and find_place(self._desk, item.task) is not None and not item.resolution:
                onto = item.resolved_onto
            else:
                try_again(item)
                onto = item.resolved_onto = self._desk.target()
            self._desk.keep(item, "a person resolves it")
            place, left = prepare_place(self._desk, item, onto)
            item.status, item.needs_human, item.conflicts = CONFLICT, True, [*(left or item.conflicts)]
            item.reason = f"a person resolves it in {place.path}"
            self._desk.write()
        return item, place, left

    def done(self) -> tuple[MergeItem, list[str]]:
        """What the person did there is checked and merged; or what is not resolved yet."""
        with self._merging.ready():
            item = self._item()
            place = self._need_place(item)
            left = take_resolution(self._desk, item, place, item.resolved_onto)
            if not left:
                self._merging.look()
                self._merging.go_on_with(item)
        return item, left

    def abort(self) -> MergeItem:
        """As it was before: flagged. What the person did is saved."""
        with self._merging.ready():
            item = self._item()
            self._need_place(item)
            clear_place(self._desk, item.task)
            item.resolved_onto = item.resolution = ""
            self._desk.flag(item, CONFLICT, "nobody has resolved it")
        return item

    def _need_place(self, item: MergeItem) -> Worktree:
        found = find_place(self._desk, item.task)
        if found is None:
            task, team = shell_words(item.task), shell_words(self.queue.team)
            raise NoSuchMerge(
                f"nobody resolves #{item.task} by hand", f"begin with: atm merge resolve {task} --team {team}"
            )
        return found
