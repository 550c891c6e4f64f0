"""A run tells how merges stand: also of a conflict that was over before it looked."""

from __future__ import annotations

import pytest

from atm.board.rules.dependencies import Board
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, RESOLVED, MergeItem, MergeQueue, MergeRival
from atm.runs.formats.event_line import decode_events, encode_event
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.observing import observe
from atm.runs.rules.orders import RunOrder
from atm.runs.rules.view import RunView

NOON = 43_200.0


def memory() -> RunMemory:
    made = RunMemory()
    made.take(RunEvent(kinds.STARTED, "r", NOON))
    return made


def item(status: str, conflict_at: float) -> MergeItem:
    rival = MergeRival(task="2", agent="cat")
    return MergeItem(task="3", agent="bob", status=status, conflicts=["x"], rivals=[rival], conflict_at=conflict_at)


def told(known: RunMemory, now: float, *items: MergeItem) -> list[tuple[str, float]]:
    """What a look tells; it is remembered."""
    view = RunView(now=now, board=Board({}), agents={}, facts={}, merges=MergeQueue(team="t", items=[*items]))
    events = observe(RunOrder(run="r", team="t", folder="/r", seats=[]), known, view)
    for event in events:
        known.take(event)
    return [(event.kind, event.at) for event in events]


def test_a_conflict_that_was_resolved_before_anybody_looked_is_told_with_its_own_time():
    known, merged = memory(), item(MERGED, NOON + 2)
    assert told(known, NOON + 5, merged) == [("merge.conflict_detected", NOON + 2), ("merge.merged", NOON + 5)]
    assert told(known, NOON + 6, merged) == []


def test_it_is_told_with_whom_and_where():
    view = RunView(
        now=NOON + 5, board=Board({}), agents={}, facts={}, merges=MergeQueue(team="t", items=[item(MERGED, NOON + 2)])
    )
    conflict = observe(RunOrder(run="r", team="t", folder="/r", seats=[]), memory(), view)[0]
    assert conflict.detail == {"by": "bob", "with": ["2"], "files": ["x"]}


def test_a_conflict_that_was_seen_is_told_once():
    known = memory()
    assert told(known, NOON + 3, item(CONFLICT, NOON + 2)) == [("merge.conflict_detected", NOON + 2)]
    assert told(known, NOON + 4, item(RESOLVED, NOON + 2)) == [("merge.resolved", NOON + 4)]
    assert told(known, NOON + 5, item(MERGED, NOON + 2)) == [("merge.merged", NOON + 5)]


def test_where_work_in_conflict_is_kept_is_told_with_what_becomes_of_the_conflict():
    known, conflict = memory(), item(CONFLICT, NOON + 2)
    assert told(known, NOON + 3, conflict) == [("merge.conflict_detected", NOON + 2)]
    conflict.salvage = "refs/atm/salvage/t/3/1"
    assert told(known, NOON + 4, conflict) == []
    conflict.flag(CONFLICT, "nothing resolves it")
    assert told(known, NOON + 5, conflict) == [("merge.conflict_detected", NOON + 5)]
    assert known.merges["3"]["salvage"] == "refs/atm/salvage/t/3/1"


def test_a_conflict_that_is_found_while_somebody_looks_is_told_once():
    """The moment of a look is that of its beginning."""
    known = memory()
    assert told(known, NOON + 3, item(CONFLICT, NOON + 3.2)) == [("merge.conflict_detected", NOON + 3.2)]
    assert told(known, NOON + 4, item(RESOLVED, NOON + 3.2)) == [("merge.resolved", NOON + 4)]


@pytest.mark.parametrize("status", [RESOLVED, FAILED])
def test_one_that_is_found_and_over_while_somebody_looks_is_told_once_and_in_order(status):
    known = memory()
    conflict, over = told(known, NOON + 3, item(status, NOON + 3.2))
    assert (conflict, over) == (("merge.conflict_detected", NOON + 3.2), (f"merge.{status}", NOON + 3.2))
    assert told(known, NOON + 4, item(MERGED, NOON + 3.2)) == [("merge.merged", NOON + 4)]


def test_whoever_goes_on_with_a_run_tells_no_conflict_twice():
    """What happened is kept to the millisecond, and that may be a little earlier than it was."""
    found, known = RunEvent("merge.conflict_detected", "3", NOON + 2.00049), memory()
    for event in decode_events(encode_event(found, "t", "r")):
        known.take(event)
    assert known.merges_at["3"] < found.at
    assert told(known, NOON + 6, item(RESOLVED, found.at)) == [("merge.resolved", NOON + 6)]


def test_another_conflict_of_the_same_task_is_told_too():
    known = memory()
    told(known, NOON + 3, item(CONFLICT, NOON + 2))
    assert told(known, NOON + 9, item(MERGED, NOON + 8))[0] == ("merge.conflict_detected", NOON + 8)


def test_a_conflict_of_before_the_run_is_none_of_its_business():
    assert told(memory(), NOON + 1, item(MERGED, NOON - 60)) == [("merge.merged", NOON + 1)]


def test_whom_it_met_was_merged_before_also_where_one_look_tells_both():
    rival = MergeItem(task="2", agent="cat", status=MERGED, merged_at=NOON + 1)
    merged = item(MERGED, NOON + 2)
    merged.merged_at = NOON + 4
    known = memory()
    assert told(known, NOON + 5, rival, merged) == [
        ("merge.merged", NOON + 1),
        ("merge.conflict_detected", NOON + 2),
        ("merge.merged", NOON + 4),
    ]
    merged.lost = ["x"]
    assert told(known, NOON + 9, rival, merged) == [("merge.merged", NOON + 9)], "what is known later is told later"


def test_when_it_was_merged_is_the_moment_of_the_look_if_whoever_did_it_was_killed():
    assert told(memory(), NOON + 5, MergeItem(task="2", status=MERGED)) == [("merge.merged", NOON + 5)]
