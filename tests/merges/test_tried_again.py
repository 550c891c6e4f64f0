"""What did not go well at once: a batch is tried one by one, a new target begins anew, unsaved work is saved later."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.crew.repositories import git
from tests.merges.histories import Edit, History, Job
from tests.merges.workshop import TEAM

from atm.core.errors import RequestError
from atm.merges.rules.items import (
    CONFLICT,
    FAILED,
    MERGED,
    QUEUED,
    RESOLVED,
    MergeCheck,
    MergeItem,
    MergeQueue,
    MergeRival,
)
from atm.merges.rules.ordering import unmerged_for_another_target
from atm.merges.services.people import begin_queue, unmerged_tasks

ONE = Job((Edit("line", "a.txt", 3, "one"),))
TWO = Job((Edit("line", "a.txt", 3, "two"),))
"""In conflict with each other."""
APART = tuple(Job((Edit("add", f"file {number}", 0, "one"),)) for number in range(3))


def refuses(shop, monkeypatch, method: str, *heads: str, times: int = 1000) -> list[str]:
    """Git says no to the work of these heads, so many times; what it was asked about, in order."""
    real, asked = getattr(shop.git, method), []

    def answer(*given):
        head = given[1].head if method == "combine" else given[3]
        asked.append(head)
        if head in heads and sum(one in heads for one in asked) <= times:
            raise RequestError("git cannot read it", "see `git fsck`")
        return real(*given)

    monkeypatch.setattr(shop.git, method, answer)
    return asked


# A batch that fails is tried one by one.


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_of_a_batch_that_fails_only_the_one_to_blame_is_flagged(open_shop, monkeypatch, bad):
    shop = open_shop(History(("a.txt",), APART, at_once=3))
    refuses(shop, monkeypatch, "combine", shop.work[bad].head)
    queue = shop.merge()
    stands = {item.task: (item.status, item.needs_human) for item in queue.items}
    wanted = {str(at + 1): (MERGED, False) for at in range(3)} | {str(bad + 1): (FAILED, True)}
    assert stands == wanted
    assert "git cannot read it; see `git fsck`" in next(item for item in queue.items if item.needs_human).reason
    shop.check(queue)


def test_what_builds_on_the_one_to_blame_waits_for_it_and_is_not_blamed(open_shop, monkeypatch):
    jobs = (APART[0], replace(APART[1], needs=(0,)), APART[2])
    shop = open_shop(History(("a.txt",), jobs, at_once=3))
    refuses(shop, monkeypatch, "combine", shop.work[0].head)
    queue = shop.merge()
    first, second, third = (queue.item(str(number)) for number in (1, 2, 3))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.status, third.status) == (FAILED, MERGED)
    assert (second.waits_for, second.needs_human) == (["1"], False)
    shop.check(queue)


def test_one_by_one_nothing_comes_to_the_target_without_what_it_builds_on(open_shop, monkeypatch):
    """The third breaks the batch; alone, it is the first that fails, and the second stood on it in that batch."""
    jobs = (APART[0], replace(APART[1], needs=(0,)), APART[2])
    shop = open_shop(History(("a.txt",), jobs, at_once=3))
    real, asked = shop.git.combine, []
    first, third = shop.work[0].head, shop.work[2].head

    def combine(repository, piece, now):
        asked.append(piece.head)
        if (asked.count(third) == 1 and piece.head == third) or (asked.count(first) > 1 and piece.head == first):
            raise RequestError("git cannot read it", "see `git fsck`")
        return real(repository, piece, now)

    monkeypatch.setattr(shop.git, "combine", combine)
    queue = shop.merge()
    assert [(one.task, one.status) for one in queue.items if one.status in (MERGED, FAILED)] == [
        ("1", FAILED),
        ("3", MERGED),
    ]
    shop.check(queue)


def test_a_batch_that_failed_once_is_merged_whole_in_the_end(open_shop, monkeypatch):
    shop = open_shop(History(("a.txt",), APART, at_once=3))
    asked = refuses(shop, monkeypatch, "combine", shop.work[2].head, times=1)
    queue = shop.merge()
    assert [item.status for item in queue.items] == [MERGED] * 3
    assert asked == [one.head for one in shop.work] * 2  # together, then each alone
    shop.check(queue)


# Another target.


def another(shop, branch: str) -> MergeQueue:
    git(shop.folder, "branch", branch, "main")
    done = [str(number) for number in range(1, len(shop.work) + 1)]
    wanted = MergeQueue(team=TEAM, run="second", branch=branch, folder=str(shop.folder), before=done)
    begin_queue(shop.room, wanted)
    read: MergeQueue | None = shop.room.merges.read(TEAM)
    assert read is not None
    return read


def test_a_run_with_another_target_inherits_what_is_on_none_and_nothing_of_the_former_one(open_shop):
    shop = open_shop(History(("a.txt",), (ONE, TWO, APART[0]), target="release", is_checked=True))
    former = shop.merge()
    assert [item.status for item in former.items] == [MERGED, CONFLICT, MERGED]
    assert former.green == shop.tip()
    second = another(shop, "other")
    assert (second.branch, second.run, second.green) == ("other", "second", "")
    (item,) = second.items
    assert (item.task, item.status, item.head) == ("2", QUEUED, shop.work[1].head)
    assert (item.conflicts, item.rivals, item.reason, item.needs_human) == ([], [], "", False)
    assert unmerged_tasks(shop.room, TEAM) == ["2"]
    release = shop.tip()
    done = shop.merge()
    assert [(one.task, one.status) for one in done.items] == [("2", MERGED)]
    assert (
        git(shop.folder, "show", "other:a.txt").split("\n")[3] != git(shop.folder, "show", "main:a.txt").split("\n")[3]
    )
    assert shop.tip() == release, "the former target was moved"
    assert git(shop.folder, "merge-base", "--is-ancestor", done.items[0].commit, "other") == ""


def test_a_run_that_comes_back_to_its_target_keeps_what_is_known_of_it(open_shop):
    shop = open_shop(History(("a.txt",), (ONE, TWO), target="release"))
    former = shop.merge()
    begin_queue(shop.room, MergeQueue(team=TEAM, run="second", branch="release", folder=str(shop.folder)))
    again = shop.room.merges.read(TEAM)
    assert again is not None
    assert again.run == "second"
    assert again.items == former.items
    assert again.green == former.green


def test_nothing_of_a_former_target_is_left_in_an_item_but_its_work():
    known = {"branch": "b", "head": "h", "base": "g", "subject": "s", "done_at": 3.0, "salvage": "refs/atm/salvage/x"}
    marked = MergeItem(
        task="1",
        agent="ann",
        **known,  # type: ignore[arg-type]
        status=RESOLVED,
        conflicts=["a.txt"],
        rivals=[MergeRival(task="2", agent="bob")],
        conflict_at=5.0,
        made="m",
        resolution="r",
        resolved_onto="o",
        checks=[MergeCheck(command="make", ok=False)],
        lost=["a line"],
        needs_human=True,
        reason="in conflict",
    )
    (found,) = unmerged_for_another_target(MergeQueue(team=TEAM, items=[marked]))
    assert found == MergeItem(task="1", agent="ann", **known, status=QUEUED)  # type: ignore[arg-type]


def test_what_a_person_left_out_stays_left_out_at_another_target_and_what_was_merged_stays_where_it_is():
    merged = MergeItem(task="1", status=MERGED, commit="c")
    skipped = MergeItem(task="2", status=FAILED, skipped=True, reason="not this one")
    failed = MergeItem(task="3", status=FAILED, needs_human=True, reason="red")
    found = unmerged_for_another_target(MergeQueue(team=TEAM, items=[merged, skipped, failed]))
    assert [(one.task, one.status, one.skipped, one.reason) for one in found] == [
        ("2", FAILED, True, "not this one"),
        ("3", QUEUED, False, ""),
    ]


# Between flagging and saving.


def test_work_that_could_not_be_saved_when_it_was_flagged_is_saved_by_the_next_look(open_shop, monkeypatch):
    shop = open_shop(History(("a.txt",), (ONE, TWO)))
    head = shop.work[1].head
    refuses(shop, monkeypatch, "combine", head)
    with monkeypatch.context() as broken:
        # Neither when it is flagged nor at any look of this process.
        refuses(shop, broken, "keep", head)
        queue = shop.merge()
    item = queue.item("2")
    assert item is not None
    assert (item.status, item.needs_human, item.salvage) == (FAILED, True, "")
    assert item.reason.startswith("git cannot read it")
    again = shop.merge().item("2")
    assert again is not None
    assert (again.status, again.needs_human) == (FAILED, True)
    assert again.salvage.startswith(f"refs/atm/salvage/{TEAM}/2/")
    assert git(shop.folder, "merge-base", "--is-ancestor", head, again.salvage) == ""
