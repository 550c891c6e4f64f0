"""An agent that has finished and still clears away: nobody is called, and nobody is forgotten either."""

from __future__ import annotations

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.crew.rules.states import WORKING
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import Say
from atm.runs.rules.deciding import decide
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.orders import AgentSeat, RunOrder
from atm.runs.rules.view import AgentView, RunView, TaskFacts

NOON = 43_200.0
ORDER = RunOrder(run="r", team="t", folder="/r", seats=[AgentSeat(name="a1", runtime="script", is_script=True)])


def memory() -> RunMemory:
    made = RunMemory()
    made.take(RunEvent(kinds.STARTED, "r", NOON - 5))
    made.take(RunEvent(kinds.SPAWNED, "a1", NOON - 4, generation=1, pid=7))
    made.take(RunEvent(kinds.COMPLETED, "1", NOON, state="completed", seconds=1))
    return made


def view(now: float) -> RunView:
    done, waiting = Card(1, status="completed", owner="a1"), Card(2, blocked_by=["1"])
    agent = AgentView(name="a1", generation=1, state=WORKING, is_alive=True, task="1", began_at=NOON - 4)
    facts = {"2": TaskFacts(has_commands=True)}
    return RunView(now=now, board=Board({1: done, 2: waiting}), agents={"a1": agent}, facts=facts)


def said(now: float) -> list[str]:
    return [one.kind for one in decide(ORDER, memory(), view(now)) if isinstance(one, Say)]


def test_whoever_clears_away_after_its_task_is_no_reason_to_call_a_person():
    assert said(NOON + 1) == []
