"""The loop's rules, given values: who is asked, who loses a task, when it ends, and how many agents there are."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.crew.rules.states import IDLE, STOPPED, WORKING
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import AskHow, Clear, EndAgent, Finish, Give, Say
from atm.runs.rules.deciding import decide
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.orders import AgentSeat, RunOrder, agents_for
from atm.runs.rules.view import AgentView, RunView, TaskFacts

NOON = 43_200.0
LONG_AGO = NOON - 100_000


def order() -> RunOrder:
    seats = [AgentSeat(name="a1", runtime="claude"), AgentSeat(name="a2", runtime="codex")]
    return RunOrder(run="r", team="t", folder="/r", seats=seats)


def memory(*durations: float, told: str = "") -> RunMemory:
    made = RunMemory()
    made.take(RunEvent(kinds.STARTED, "r", NOON - 1000))
    made.take(RunEvent(kinds.SPAWNED, "a1", NOON - 900, generation=1, task="1"))
    for number, seconds in enumerate(durations, 10):
        made.take(RunEvent(kinds.COMPLETED, str(number), NOON - 500, state="completed", seconds=seconds))
    if told:
        made.take(RunEvent(told, "r", NOON - 1))
    return made


def agent(**more: object) -> AgentView:
    facts = {"name": "a1", "generation": 1, "state": WORKING, "is_alive": True, "task": "1", "began_at": NOON - 900}
    return AgentView(**{**facts, **more})  # type: ignore[arg-type]


def view(card: Card, *agents: AgentView, others: tuple[Card, ...] = ()) -> RunView:
    board = Board({one.number: one for one in (card, *others)})
    facts = {card.id: TaskFacts(claimed_at=NOON - 900)}
    return RunView(now=NOON, board=board, agents={one.name: one for one in agents}, facts=facts)


def claimed(**more: str) -> Card:
    return Card(1, status="in_progress", owner="a1", claim_id="c", **more)  # type: ignore[arg-type]


@proves("R004-orchestration-O4")
@pytest.mark.parametrize(("heard", "is_asked"), [(NOON - 401, True), (NOON - 399, False)])
def test_silence_of_more_than_twice_the_usual_time_of_a_task_is_asked_about(heard, is_asked):
    done = decide(order(), memory(200, 200, 200), view(claimed(), agent(heard_at=heard)))
    assert any(isinstance(one, AskHow) for one in done) is is_asked


@proves("R004-orchestration-O4b", "R004-gap-p0-09")
@pytest.mark.parametrize(("asked", "is_ended"), [(NOON - 60, True), (NOON - 59, False)])
def test_whoever_does_not_answer_within_a_minute_loses_the_task(asked, is_ended):
    known = memory(60, 60, 60)
    known.take(RunEvent(kinds.ASKED, "a1", asked, task="1"))
    done = decide(order(), known, view(claimed(), agent(heard_at=LONG_AGO)))
    assert any(isinstance(one, EndAgent) for one in done) is is_ended


@proves("R004-orchestration-O4b")
def test_a_task_that_was_taken_from_a_silent_agent_is_given_to_another():
    known = memory()
    known.take(RunEvent(kinds.CLAIMED, "1", NOON - 900, owner="a1", claim="c"))
    known.take(RunEvent(kinds.ERROR, "a1", NOON - 1, generation=1, task="1"))
    known.take(RunEvent(kinds.FAILED, "1", NOON - 1, attempt=1, state="pending"))
    gone = agent(state=STOPPED, is_alive=False, task="")
    assert decide(order(), known, view(Card(1, failures=1), gone)) == [Give("1", "a2")]


@proves("R004-gap-p0-08")
def test_an_agent_that_should_live_and_does_not_is_cleared_away():
    done = decide(order(), memory(), view(claimed(), agent(is_alive=False)))
    assert [one.seat for one in done if isinstance(one, Clear)] == ["a1"]


@proves("R004-orchestration-O4")
def test_an_agent_that_waits_for_an_answer_is_not_asked():
    done = decide(order(), memory(60, 60, 60), view(claimed(needs="lead"), agent(heard_at=LONG_AGO)))
    assert not any(isinstance(one, AskHow | EndAgent) for one in done)


@proves("R004-orchestration-O1c")
def test_it_goes_on_while_somebody_works_although_nothing_else_is_open():
    done = decide(order(), memory(), view(claimed(), agent(heard_at=NOON)))
    assert not any(isinstance(one, Finish) for one in done)


@proves("R004-orchestration-O1c", "R004-agent-lifecycle-L4")
def test_when_all_tasks_are_resolved_that_is_said_and_it_ends():
    over = view(Card(1, status="completed"), agent(state=STOPPED, is_alive=False, task=""))
    assert decide(order(), memory(), over) == [
        Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved"),
        Finish("success"),
    ]


@proves("R004-agent-lifecycle-L4b")
def test_an_agent_that_leads_is_told_first_and_may_have_more_work_in_mind():
    led = order()
    led.leader = AgentSeat(name="lead", runtime="claude")
    known = memory()
    known.take(RunEvent(kinds.SPAWNED, "lead", NOON - 900, generation=1))
    known.take(RunEvent(kinds.RESOLVED, "r", NOON - 9, about=kinds.RESOLVED, letter="m-1"))
    thinking = agent(name="lead", task="", heard_at=NOON)
    resting = agent(name="lead", task="", state=IDLE, heard_at=NOON, turns=1)
    unaware = view(Card(1, status="completed"), resting)
    assert decide(led, known, unaware) == [], "it ended another turn, and has not seen it yet"
    for one, done in ((thinking, []), (resting, [Finish("success")])):
        aware = view(Card(1, status="completed"), one)
        aware.lead_knows_at = NOON - 1
        assert decide(led, known, aware) == done
    aware.lead_knows_at = NOON + 1
    assert decide(led, known, aware) == [], "it was shown to it since, and its turn begins"


@proves("R004-agent-lifecycle-L3b")
def test_that_nothing_can_be_claimed_is_said_once():
    waiting = Card(2, blocked_by=["1"])
    look = view(claimed(), agent(heard_at=NOON), others=(waiting,))
    said = [one.kind for one in decide(order(), memory(), look) if isinstance(one, Say)]
    assert said == [kinds.NOTHING_CLAIMABLE]
    assert decide(order(), memory(told=kinds.NOTHING_CLAIMABLE), look) == []


@proves("R004-defects-03")
def test_when_only_a_person_could_help_and_nobody_comes_it_ends():
    known = memory()
    known.take(RunEvent(kinds.WAITS, "r", NOON - 1))
    known.moved_at = NOON - order().rules.human - 1
    asking = view(claimed(needs="lead"), agent(heard_at=LONG_AGO))
    assert [type(one) for one in decide(order(), known, asking)] == [Finish]


@proves("R004-orchestration-O7")
@pytest.mark.parametrize(("tasks", "agents"), [(0, 1), (1, 1), (6, 1), (7, 2), (12, 2), (13, 3)])
def test_there_is_an_agent_for_every_six_tasks(tasks, agents):
    assert agents_for(tasks) == agents
