"""
The order of the queue: what is done becomes an item, which waits for what it builds on.

Nobody waits for one that a person has to look at, unless it builds on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MERGING, PENDING, QUEUED, MergeItem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.merges.rules.items import MergeQueue


@dataclass(slots=True, kw_only=True)
class FinishedWork:
    """A task that is completed, and the commits of it."""

    task: str
    agent: str
    branch: str
    head: str
    base: str
    subject: str = ""
    done_at: float = 0.0
    blockers: list[str] = field(default_factory=list)
    merged: str = ""
    """What the board says that it is on the target."""


def refresh(
    queue: MergeQueue, done: Sequence[FinishedWork], still_open: Sequence[str], given_up: Sequence[str] = ()
) -> None:
    """
    What was done since the last look joins the queue; what was done again takes its former place. What somebody opened
    again waits for that, and what was given up after all is not merged.
    """
    known = {one.task: one for one in queue.items}
    for work in done:
        former = known.get(work.task)
        if former is not None and former.head == work.head:
            continue
        item = _item(work, sent_back=former.sent_back if former is not None else 0)
        if former is not None:
            queue.items.remove(former)
        queue.items.append(item)
    for item in queue.items:
        if item.task in given_up and item.is_moving:
            item.flag(FAILED, "its task was completed once, and was given up since")
        elif item.task in still_open and item.needs_human:
            item.needs_human, item.reason = False, f"#{item.task} was opened again: its next work is merged"
    _wait(queue, {one.task: one.blockers for one in done}, {*still_open})


def _item(work: FinishedWork, sent_back: int) -> MergeItem:
    return MergeItem(
        task=work.task,
        agent=work.agent,
        branch=work.branch,
        head=work.head,
        base=work.base,
        subject=work.subject,
        done_at=work.done_at,
        sent_back=sent_back,
    )


def _wait(queue: MergeQueue, blockers: Mapping[str, Sequence[str]], still_open: set[str]) -> None:
    merged = {one.task for one in queue.items if one.is_over}
    waiting = {one.task for one in queue.items} - merged
    for item in queue.items:
        if item.is_over:
            item.waits_for = []
            continue
        needs = blockers.get(item.task, item.waits_for)
        item.waits_for = [id for id in needs if id not in merged and (id in waiting or id in still_open)]
        if item.task in still_open:
            item.waits_for = [*dict.fromkeys([*item.waits_for, item.task])]  # opened again: its next work counts
        if item.status in (PENDING, QUEUED):
            item.status = PENDING if item.waits_for else QUEUED


def next_batch(queue: MergeQueue, at_once: int) -> list[MergeItem]:
    """
    What is merged next, in this order: first what meets nobody else's files, so that a conflict holds up as little as
    possible; then who was done first. What builds on another comes after it, in one batch too.
    """
    moving = [one for one in queue.items if one.is_moving]
    owners: dict[str, set[str]] = {}
    for one in moving:
        for path in one.files:
            owners.setdefault(path, set()).add(one.task)

    def key(item: MergeItem) -> tuple[int, float, int, str]:
        meets = len({other for path in item.files for other in owners[path]} - {item.task})
        return meets, item.done_at, int(item.task) if item.task.isdecimal() else 0, item.task

    chosen: list[MergeItem] = []
    left = sorted(moving, key=key)
    while len(chosen) < at_once:
        names = {one.task for one in chosen}
        found = next((one for one in left if _may_follow(one, names)), None)
        if found is None:
            break
        chosen.append(found)
        left.remove(found)
    return chosen


def _may_follow(item: MergeItem, names: set[str]) -> bool:
    is_free = item.is_ready or item.status == MERGING
    return (is_free and not item.waits_for) or (
        bool(names) and item.status == PENDING and {*item.waits_for} <= names and bool(item.waits_for)
    )


def first_bad(count: int, is_green: Callable[[int], bool]) -> int:
    """
    Of `count` merges of which all together are red and none is green: the first one with which they are red, from 1.
    `is_green(n)`: are the first n?
    """
    green, red = 0, count
    while red - green > 1:
        middle = (green + red) // 2
        if is_green(middle):
            green = middle
        else:
            red = middle
    return red


def unsettled(queue: MergeQueue) -> list[MergeItem]:
    """Those that will be merged, or flagged, without anybody's help. Not those that build on what needs a person."""
    moving = {one.task: one for one in queue.items if one.is_moving}
    while stuck := [task for task, one in moving.items() if any(id not in moving for id in one.waits_for)]:
        for task in stuck:
            del moving[task]
    return [*moving.values()]


def is_interrupted(item: MergeItem) -> bool:
    """Was somebody killed who was about to have its conflict resolved? Nobody was told of it yet."""
    return item.status == CONFLICT and not item.needs_human


def resume(queue: MergeQueue, is_in_target: Callable[[str], bool], *, is_whole: bool = True) -> None:
    """
    After a crash: what reached the target is merged, everything else begins again. So does what is not there any more,
    if the target is not `whole`: somebody has reset or deleted it.
    """
    for item in queue.items:
        if item.status == MERGED and not is_whole and not is_in_target(item.commit):
            item.status, item.commit = QUEUED, ""
            continue
        if item.status != MERGING and not is_interrupted(item) and not (item.made and item.status in (QUEUED, PENDING)):
            continue
        if item.made and is_in_target(item.made):
            item.status, item.commit, item.made, item.reason, item.merged_at = MERGED, item.made, "", "", 0.0
        else:
            item.status, item.made = QUEUED, ""


def unmerged_for_another_target(queue: MergeQueue) -> list[MergeItem]:
    """What one target never got, from the start: its conflicts were with what is there. What was left out stays so."""
    left = [one for one in queue.items if one.status != MERGED]
    for item in left:
        if not item.skipped:
            try_again(item)
            item.conflicts, item.rivals, item.conflict_at, item.checks = [], [], 0.0, []
    return left


def try_again(item: MergeItem) -> None:
    """A person says so: from the start, with what is known of its conflicts."""
    item.status, item.reason, item.made = QUEUED, "", ""
    item.needs_human = item.skipped = False
    item.resolution = item.resolved_onto = ""
    item.lost = []  # by that resolution
