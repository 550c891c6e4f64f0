"""What is done becomes an item, waits for what it builds on, and is merged in an order that holds up little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MERGING, PENDING, QUEUED, RESOLVED, MergeItem, MergeQueue
from atm.merges.rules.ordering import (
    FinishedWork,
    first_bad,
    next_batch,
    refresh,
    resume,
    try_again,
    unmerged_for_another_target,
    unsettled,
)


def work(task: str, *blockers: str, head: str = "", at: float = 0.0) -> FinishedWork:
    return FinishedWork(
        task=task,
        agent="ann",
        branch=f"b{task}",
        head=head or f"h{task}",
        base="base",
        done_at=at,
        blockers=[*blockers],
    )


def queue(*items: MergeItem) -> MergeQueue:
    return MergeQueue(team="t", items=[*items])


def item(task: str, status: str = QUEUED, *files: str, waits: tuple[str, ...] = (), at: float = 0.0) -> MergeItem:
    return MergeItem(task=task, head=f"h{task}", status=status, files=[*files], waits_for=[*waits], done_at=at)


def names(items: list[MergeItem]) -> list[str]:
    return [one.task for one in items]


# Who joins, and who waits.


@proves("R004-merge-and-conflicts-G3", "R004-merge-and-conflicts-G3b", "R004-merge-and-conflicts-G4")
def test_a_task_waits_for_all_that_it_builds_on_and_is_queued_when_that_is_merged():
    now = queue()
    refresh(now, [work("1"), work("2", "1")], [])
    assert [(one.task, one.status, one.waits_for) for one in now.items] == [("1", QUEUED, []), ("2", PENDING, ["1"])]
    now.items[0].status = MERGED
    refresh(now, [work("1"), work("2", "1")], [])
    assert (now.items[1].status, now.items[1].waits_for) == (QUEUED, [])


def test_it_waits_for_a_task_that_was_opened_again_and_not_for_one_that_nobody_will_ever_finish():
    now = queue()
    refresh(now, [work("2", "1", "7")], ["1"])
    assert now.items[0].waits_for == ["1"]


def test_what_changed_nothing_or_was_done_by_hand_is_not_waited_for():
    now = queue()
    refresh(now, [work("2", "1")], [])
    assert now.items[0].status == QUEUED


def test_what_is_done_again_takes_its_former_place_and_how_often_it_was_sent_back_is_remembered():
    former = item("1", FAILED)
    former.sent_back = 2
    now = queue(former)
    refresh(now, [work("1", head="new")], [])
    assert [(one.head, one.status, one.sent_back) for one in now.items] == [("new", QUEUED, 2)]


def test_what_is_known_already_stays_as_it_is():
    known = item("1", CONFLICT)
    known.needs_human = True
    now = queue(known)
    refresh(now, [work("1")], [])
    assert now.items == [known]
    assert known.status == CONFLICT


def test_what_was_opened_again_is_not_merged_before_it_is_done_again():
    now = queue()
    refresh(now, [work("1")], [])
    refresh(now, [], ["1"])
    assert (now.items[0].status, now.items[0].waits_for) == (PENDING, ["1"])
    assert next_batch(now, 3) == []
    refresh(now, [work("1", head="new")], [])
    assert [(one.head, one.status) for one in now.items] == [("new", QUEUED)]


def test_what_was_given_up_after_all_is_flagged_and_not_merged():
    now = queue()
    refresh(now, [work("1")], [])
    refresh(now, [], [], given_up=["1"])
    assert (now.items[0].status, now.items[0].needs_human) == (FAILED, True)
    assert "given up" in now.items[0].reason
    assert next_batch(now, 3) == []


def test_what_is_left_out_holds_nobody_up():
    skipped = item("1", FAILED)
    skipped.skipped = True
    now = queue(skipped)
    refresh(now, [work("1"), work("2", "1")], [])
    assert now.items[1].status == QUEUED


# The order.


def test_first_comes_what_meets_nobodys_files_then_who_was_done_first():
    now = queue(item("1", QUEUED, "x", at=1), item("2", QUEUED, "x", at=2), item("3", QUEUED, "y", at=3))
    assert names(next_batch(now, 3)) == ["3", "1", "2"]


def test_what_builds_on_another_comes_after_it_in_one_batch_too():
    now = queue(item("2", PENDING, "b", waits=("1",)), item("1", QUEUED, "a"))
    assert names(next_batch(now, 1)) == ["1"]
    assert names(next_batch(now, 2)) == ["1", "2"]


def test_nothing_is_merged_that_waits_for_a_person_or_for_what_does():
    flagged = item("1", CONFLICT)
    flagged.needs_human = True
    assert next_batch(queue(flagged, item("2", PENDING, waits=("1",))), 4) == []


def test_a_conflict_that_is_resolved_is_ready_again():
    assert names(next_batch(queue(item("1", RESOLVED)), 1)) == ["1"]


@given(st.dictionaries(st.integers(1, 12), st.sets(st.integers(1, 12), max_size=3), max_size=12), st.integers(1, 5))
def test_everything_is_merged_once_and_after_what_it_builds_on(edges, at_once):
    """Whatever the dependencies: an edge counts only from a higher number to a lower one, so there is no circle."""
    works = [work(str(id), *(str(one) for one in needs if one < id and one in edges)) for id, needs in edges.items()]
    now, order = queue(), []
    refresh(now, works, [])
    while batch := next_batch(now, at_once):
        for one in batch:
            one.status = MERGED
            order.append(one.task)
        refresh(now, works, [])
    assert sorted(order) == sorted(str(id) for id in edges)
    for done in works:
        assert all(order.index(needed) < order.index(done.task) for needed in done.blockers)


# Halving.


@given(st.integers(1, 60), st.data())
def test_halving_finds_the_first_that_is_red(count, data):
    bad: int = data.draw(st.integers(1, count))
    asked: list[int] = []

    def is_green(number: int) -> bool:
        asked.append(number)
        return number < bad

    assert first_bad(count, is_green) == bad
    assert len(asked) <= count.bit_length()
    assert all(1 <= number < count for number in asked)


# After a crash.


def test_what_reached_the_target_is_merged_and_everything_else_begins_again():
    there, lost = item("1", MERGING), item("2", MERGING)
    there.made, lost.made = "in", "out"
    flagged = item("3", CONFLICT)
    flagged.needs_human = True
    now = queue(there, lost, flagged)
    resume(now, lambda commit: commit == "in")
    assert [(one.status, one.commit, one.made) for one in now.items] == [
        (MERGED, "in", ""),
        (QUEUED, "", ""),
        (CONFLICT, "", ""),
    ]


def test_whoever_was_killed_before_the_first_note_of_a_commit_is_simply_queued():
    now = queue(item("1", MERGING))
    resume(now, lambda _: True)
    assert now.items[0].status == QUEUED


# What settles by itself.


@pytest.mark.parametrize("status", [QUEUED, MERGING, RESOLVED, PENDING, CONFLICT])
def test_what_goes_on_by_itself_is_waited_for(status):
    assert names(unsettled(queue(item("1", status)))) == ["1"]


def test_what_builds_on_something_flagged_is_not_waited_for_however_far_away():
    flagged = item("1", CONFLICT)
    flagged.needs_human = True
    now = queue(flagged, item("2", PENDING, waits=("1",)), item("3", PENDING, waits=("2",)), item("4", QUEUED))
    assert names(unsettled(now)) == ["4"]


def test_a_task_that_was_sent_back_is_waited_for_on_the_board_and_not_here():
    assert unsettled(queue(item("1", FAILED), item("2", PENDING, waits=("1",)))) == []


def test_who_tries_again_begins_anew():
    one = item("1", CONFLICT)
    one.flag(FAILED, "red")
    one.resolution, one.resolved_onto = "r", "o"
    try_again(one)
    assert (one.status, one.needs_human, one.reason, one.resolution, one.resolved_onto) == (QUEUED, False, "", "", "")


# Another target.


def test_what_one_target_never_got_joins_the_next_without_its_conflicts_and_what_it_got_stays_there():
    merged, waiting, flagged, left_out = item("1", MERGED), item("2"), item("3", CONFLICT), item("4", FAILED)
    flagged.conflicts, flagged.needs_human, flagged.conflict_at = ["x.txt"], True, 9.0
    left_out.skipped = True
    carried = unmerged_for_another_target(queue(merged, waiting, flagged, left_out))
    assert [(one.task, one.status, one.needs_human) for one in carried] == [
        ("2", QUEUED, False),
        ("3", QUEUED, False),
        ("4", FAILED, False),
    ]
    assert (flagged.conflicts, flagged.conflict_at) == ([], 0.0)
