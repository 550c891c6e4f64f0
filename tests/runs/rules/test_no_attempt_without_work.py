"""Only work that was begun and failed is an attempt (D35): what a tick does when hosts are lost and starts refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.runs.rules.test_deciding import NOW, Table, claimed, done

from atm.board.rules.tasks import Card
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, QUEUED, MergeItem, MergeQueue
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import Clear, CloseSeat, Finish, Give, MergeNow, Say
from atm.runs.rules.deciding import decide
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.report import report_facts
from atm.runs.rules.standing import DIED, PAUSED, RUNNING, run_state
from atm.runs.rules.view import RunView


def refuse_start(table: Table, *seconds_ago: float) -> None:
    for seconds in seconds_ago:
        table.memory.take(RunEvent(kinds.NOT_STARTED, "a1", NOW - seconds, task="1", error="a1 runs already"))


def lose_hosts(table: Table, times: int) -> None:
    for number in range(times):
        event = RunEvent(kinds.ERROR, "a1", NOW - 50 + number, task="1", generation=number + 1, lost=True, cut_off=True)
        table.memory.take(event)


def test_a_lost_host_is_no_attempt_of_its_task_but_the_third_of_one_task_is():
    for before, is_blamed in ((0, False), (1, False), (2, True)):
        table = Table(claimed(1, "a1"), seats=1)
        lose_hosts(table, before)
        table.agent("a1", "1", is_alive=False)
        assert table.actions()[:1] == [Clear("a1", "it ended without a word", is_blamed=is_blamed)]


@pytest.mark.parametrize(
    ("refusals", "is_given"),
    [((0.5,), False), ((1.5,), True), ((3.0, 1.5), False), ((5.0, 2.5), True), ((20, 18, 14, 7.5), False)],
)
def test_a_refused_start_is_tried_again_after_a_pause_that_grows(refusals: tuple[float, ...], is_given: bool):
    table = Table(Card(1), seats=1)
    refuse_start(table, *refusals)
    assert [one for one in table.actions() if isinstance(one, Give)] == ([Give("1", "a1")] if is_given else [])


def test_a_run_whose_only_agent_pauses_is_neither_over_nor_waiting_for_people():
    table = Table(Card(1), seats=1)
    refuse_start(table, 0.5)
    assert [one for one in table.actions() if isinstance(one, Finish)] == []
    assert kinds.WAITS not in [one.kind for one in table.actions() if isinstance(one, Say)]


def test_an_agent_that_cannot_be_started_for_half_a_minute_is_closed_with_the_reason():
    table = Table(Card(1), seats=1)
    refuse_start(table, 31, 15, 0)
    assert CloseSeat("a1", "it could not be started: a1 runs already") in table.actions()


def test_a_start_that_works_ends_the_count_of_refusals():
    table = Table(Card(1), seats=1)
    refuse_start(table, 31, 15)
    table.memory.take(RunEvent(kinds.SPAWNED, "a1", NOW - 10, generation=1, task="1"))
    refuse_start(table, 0)
    assert not [one for one in table.actions() if isinstance(one, CloseSeat)]


def test_a_resumed_run_tries_again_what_was_refused_before():
    table = Table(Card(1), seats=1)
    refuse_start(table, 31, 15, 0)
    table.memory.take(RunEvent(kinds.CLOSED, "a1", NOW - 1, why="it could not be started: a1 runs already"))
    table.memory.take(RunEvent(kinds.RESUMED, "r", NOW))
    assert table.actions() == [Give("1", "a1")]


def test_a_task_that_could_not_be_begun_is_kept_back_and_then_tried_again():
    table = Table(Card(1), seats=1)
    for seconds, is_given in ((1, False), (31, True)):
        table.facts["1"] = replace(table.facts["1"], refused="no space left", refused_at=NOW - seconds)
        assert bool([one for one in table.actions() if isinstance(one, Give)]) is is_given


def test_what_an_earlier_run_could_not_begin_is_tried_at_once():
    table = Table(Card(1), seats=1)
    table.facts["1"] = replace(table.facts["1"], refused="no space left", refused_at=NOW - 1)
    table.memory.take(RunEvent(kinds.RESUMED, "r", NOW))
    assert table.actions() == [Give("1", "a1")]


# What builds on work that is held up.


def merging(table: Table, *items: MergeItem) -> RunView:
    table.order.merge, table.order.into = "rebase", "atm/result/crew"
    return replace(table.view(), merges=MergeQueue(team="crew", items=[*items]))


def in_conflict(task: str) -> MergeItem:
    return MergeItem(task=task, status=CONFLICT, needs_human=True, conflicts=["x.txt"])


def test_a_task_that_builds_on_a_conflict_waits_and_its_merge_lets_it_go_on():
    table = Table(done(1), Card(2, blocked_by=["1"]), seats=1)
    waiting = decide(table.order, table.memory, merging(table, in_conflict("1")))
    assert [one.kind for one in waiting if isinstance(one, Say)] == [kinds.WAITS]
    assert not [one for one in waiting if isinstance(one, Give)]
    for item in (MergeItem(task="1", status=MERGED), MergeItem(task="1", status=FAILED, skipped=True)):
        assert decide(table.order, table.memory, merging(table, item)) == [Give("2", "a1")]


def test_what_does_not_build_on_the_conflict_goes_on():
    table = Table(done(1), Card(2, blocked_by=["1"]), Card(3), seats=1)
    assert decide(table.order, table.memory, merging(table, in_conflict("1"))) == [Give("3", "a1")]


def test_the_report_names_the_merge_that_a_task_waits_for():
    table = Table(done(1), Card(2, blocked_by=["1"]), seats=1)
    facts = report_facts(table.order, table.memory, merging(table, in_conflict("1")), "partial", "")
    failures, tasks = facts["failures"], facts["tasks"]
    assert isinstance(failures, list)
    assert isinstance(tasks, dict)
    assert [(one["task"], one["why"]) for one in failures if isinstance(one, dict)] == [
        ("2", "it waits for the merge of #1 (in conflict in x.txt)")
    ]
    assert tasks["needs_human"] == ["2"]


def test_with_one_merge_at_the_end_it_is_due_when_nothing_more_can_be_begun():
    table = Table(done(1), Card(2, needs="human"), seats=1)
    table.order.merge_at = "end"
    assert MergeNow() in decide(table.order, table.memory, merging(table, MergeItem(task="1", status=QUEUED)))


# How a run stands.


def test_a_run_that_began_and_has_neither_end_nor_pause_nor_loop_has_died():
    memory = RunMemory()
    assert run_state(memory, is_held=False) == PAUSED
    memory.take(RunEvent(kinds.STARTED, "r", NOW))
    assert (run_state(memory, is_held=True), run_state(memory, is_held=False)) == (RUNNING, DIED)
    memory.take(RunEvent(kinds.PAUSED, "r", NOW, why="interrupted"))
    assert run_state(memory, is_held=False) == PAUSED
    memory.take(RunEvent(kinds.RESUMED, "r", NOW))
    assert run_state(memory, is_held=False) == DIED
    memory.take(RunEvent(kinds.ENDED, "r", NOW, outcome="success"))
    assert run_state(memory, is_held=False) == "success"
