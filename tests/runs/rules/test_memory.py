"""What a run remembers is the sum of its events, and nothing else."""

from __future__ import annotations

from atm.events.rules import RUN_KINDS
from atm.runs.rules import memory as kinds
from atm.runs.rules.limits import Limits, Spent, uses
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.orders import agents_for


def remembered(*events: RunEvent) -> RunMemory:
    memory = RunMemory()
    for event in events:
        memory.take(event)
    return memory


def test_the_time_of_a_run_is_the_time_in_which_somebody_looked_after_it():
    memory = remembered(
        RunEvent(kinds.STARTED, "r", 100.0),
        RunEvent(kinds.CLAIMED, "1", 130.0, owner="a1"),
        RunEvent(kinds.RESUMED, "r", 5_000.0),  # the former loop was killed after its last event
        RunEvent(kinds.PAUSED, "r", 5_010.0),
        RunEvent(kinds.RESUMED, "r", 9_000.0),
    )
    assert memory.seconds(9_005.0) == 30.0 + 10.0 + 5.0
    assert memory.seconds(8_000.0) == 40.0  # the clock was set back


def test_time_at_work_is_counted_once_however_many_work():
    memory = remembered(
        RunEvent(kinds.STARTED, "r", 0.0),
        RunEvent(kinds.WORKING, "a1", 10.0),
        RunEvent(kinds.WORKING, "a2", 12.0),
        RunEvent(kinds.IDLE, "a1", 20.0),
        RunEvent(kinds.STOPPED, "a2", 25.0, generation=1),
        RunEvent(kinds.WORKING, "a1", 40.0),
    )
    assert memory.time_at_work(45.0) == 15.0 + 5.0


def test_what_lives_used_is_added_up_and_unknown_stays_unknown():
    memory = remembered(
        RunEvent(kinds.SPAWNED, "a1", 1.0, generation=1, task="7"),
        RunEvent(kinds.ERROR, "a1", 9.0, generation=1, task="7", seconds=8, turns=2, tokens=100, cut_off=True),
        RunEvent(kinds.SPAWNED, "a1", 10.0, generation=2, task="7", restart=True),
        RunEvent(kinds.STOPPED, "a1", 15.0, generation=2, task="7", seconds=5, turns=1, tokens=50),
    )
    seat = memory.seat("a1")
    assert (seat.spent, seat.restarts, seat.over) == (Spent(13.0, 3, 150, None, has_unknown_cost=True), 1, 2)
    assert memory.task("7").spent.tokens == 150
    assert memory.task("7").is_cut_off is False


def test_something_new_on_the_board_makes_what_was_said_once_sayable_again():
    memory = remembered(RunEvent(kinds.NOTHING_CLAIMABLE, "r", 1.0, about=kinds.NOTHING_CLAIMABLE))
    assert kinds.NOTHING_CLAIMABLE in memory.told
    memory.take(RunEvent(kinds.UNBLOCKED, "2", 2.0))
    assert kinds.NOTHING_CLAIMABLE not in memory.told


def test_an_event_of_a_later_version_is_passed_over():
    assert remembered(RunEvent("run.sings", "r", 5.0)).last_at == 5.0


def test_limits_that_are_not_set_or_cannot_be_counted_are_no_limits():
    assert [*uses(Limits(), Spent(1e9, 10**6, 10**9, 1e6))] == []
    assert [*uses(Limits(tokens=5, cost=1.0), Spent(1.0))] == []
    (use,) = uses(Limits(turns=10), Spent(turns=8))
    assert (use.is_near, use.is_over, str(use)) == (True, False, "8 of 10 turns")


def test_one_agent_for_six_tasks():
    assert [agents_for(n) for n in (0, 1, 6, 7, 12, 13)] == [1, 1, 1, 2, 2, 3]


def test_the_daemon_knows_every_kind_that_a_run_writes_down():
    own = {kind for kind in kinds.KINDS if not kind.startswith("approval.")}
    assert own == {*RUN_KINDS}
