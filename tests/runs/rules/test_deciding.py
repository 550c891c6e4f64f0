"""One tick of a run, as sentences: given a board, agents and what is remembered, what is to be done."""

from __future__ import annotations

from dataclasses import replace

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import COMPLETED, FAILED, IN_PROGRESS, Card
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import Action, AskHow, Clear, CloseSeat, EndAgent, Finish, Give, Refuse, Say, StartLeader
from atm.runs.rules.deciding import decide
from atm.runs.rules.limits import Limits
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.observing import observe
from atm.runs.rules.orders import AgentSeat, RunOrder, RunRules
from atm.runs.rules.view import AgentView, RunView, TaskFacts

NOW = 10_000.0


class Table:
    """A run laid out for one tick."""

    def __init__(self, *cards: Card, seats: int = 2, script: bool = False) -> None:
        self.order = RunOrder(
            run="r",
            team="crew",
            folder="/r",
            seats=[
                AgentSeat(name=f"a{n}", runtime="script" if script else "claude", is_script=script)
                for n in range(1, seats + 1)
            ],
        )
        self.cards = [*cards]
        self.agents: dict[str, AgentView] = {}
        self.facts: dict[str, TaskFacts] = {c.id: TaskFacts(has_commands=script) for c in cards}
        self.memory = RunMemory()
        self.memory.take(RunEvent(kinds.STARTED, "r", NOW - 3600))
        self.said_at: dict[str, float] = {}
        self.stopped = ""
        self.lead_knows_at = 0.0

    def agent(self, name: str, task: str = "", *, state: str = "working", since: float = 60.0, **facts: object) -> None:
        """One that lives, started so many seconds ago."""
        view = AgentView(
            name=name, generation=1, state=state, is_alive=True, task=task, began_at=NOW - since, heard_at=NOW - since
        )
        self.agents[name] = replace(view, **facts)  # type: ignore[arg-type]
        self.memory.take(RunEvent(kinds.SPAWNED, name, NOW - since, generation=1, task=task))
        if task:
            self.facts[task] = replace(self.facts.get(task, TaskFacts()), claimed_at=NOW - since)

    def view(self) -> RunView:
        return RunView(
            now=NOW,
            board=Board({card.number: card for card in self.cards}),
            agents=self.agents,
            facts=self.facts,
            said_at=self.said_at,
            stopped=self.stopped,
            lead_knows_at=self.lead_knows_at,
        )

    def actions(self) -> list[Action]:
        view = self.view()
        for event in observe(self.order, self.memory, view):
            self.memory.take(event)
        return decide(self.order, self.memory, view)


def claimed(number: int, owner: str, **facts: object) -> Card:
    return Card(number, f"T{number}", status=IN_PROGRESS, owner=owner, claim_id=f"c{number}", **facts)  # type: ignore[arg-type]


def done(number: int) -> Card:
    return Card(number, f"T{number}", status=COMPLETED)


# Giving out.


def test_free_tasks_go_to_free_agents_the_most_urgent_first():
    table = Table(Card(1), Card(2, priority="critical"), Card(3))
    assert table.actions() == [Give("2", "a1"), Give("1", "a2")]


def test_a_task_waits_for_what_it_depends_on():
    table = Table(claimed(1, "a1"), Card(2, blocked_by=["1"]))
    table.agent("a1", "1")
    said = table.actions()
    assert [one.kind for one in said if isinstance(one, Say)] == [kinds.NOTHING_CLAIMABLE]
    assert not [one for one in said if isinstance(one, Give)]


def test_that_nothing_is_claimable_is_said_once():
    table = Table(claimed(1, "a1"), Card(2, blocked_by=["1"]))
    table.agent("a1", "1")
    table.actions()
    table.memory.told.add(kinds.NOTHING_CLAIMABLE)
    assert table.actions() == []


def test_tasks_that_name_the_same_file_do_not_run_side_by_side():
    table = Table(claimed(1, "a1", files=["src/x.py"]), Card(2, files=["src/*.py"]), Card(3, files=["docs/x.md"]))
    table.agent("a1", "1")
    assert table.actions() == [Give("3", "a2")]
    table.order.rules.overlap = True
    assert table.actions() == [Give("2", "a2")]


def test_a_task_that_names_a_runtime_waits_for_an_agent_of_it():
    table = Table(Card(1), Card(2))
    table.facts["1"] = TaskFacts(runtime="codex")
    assert table.actions() == [Give("2", "a1")]
    table.order.seats[1].runtime = "codex"
    assert table.actions() == [Give("1", "a2"), Give("2", "a1")]


def test_what_says_what_to_run_is_for_scripts_and_what_does_not_is_for_minds():
    table = Table(Card(1), Card(2))
    table.facts["1"] = TaskFacts(has_commands=True)
    table.order.seats[0].is_script = True
    assert table.actions() == [Give("1", "a1"), Give("2", "a2")]


def test_a_task_goes_rather_to_somebody_who_has_not_failed_at_it():
    table = Table(Card(1))
    table.memory.task("1").tried_by.append("a1")
    assert table.actions() == [Give("1", "a2")]


def test_an_agent_that_holds_a_task_and_does_not_run_is_started_for_it_first():
    table = Table(claimed(1, "a1"), Card(2))
    assert table.actions() == [Give("1", "a1"), Give("2", "a2")]


def test_a_command_that_nobody_allowed_keeps_its_task_back_and_is_told():
    table = Table(Card(1), Card(2))
    table.facts["1"] = TaskFacts(untrusted="rm -rf x")
    assert table.actions() == [Refuse("1", "nobody has allowed `rm -rf x`"), Give("2", "a1")]


def test_a_command_that_a_person_has_allowed_is_given_out_at_once():
    table = Table(Card(1), seats=1)
    table.facts["1"] = TaskFacts(untrusted="rm -rf x")
    (refused,) = table.actions()
    assert isinstance(refused, Refuse)
    table.memory.take(RunEvent(kinds.REFUSED, "1", NOW - 1, why=refused.why))
    table.facts["1"] = TaskFacts()
    assert table.actions() == [Give("1", "a1")]


def test_a_task_that_could_not_be_begun_for_another_reason_waits_before_it_is_given_out_again():
    table = Table(Card(1), seats=1)
    table.memory.take(RunEvent(kinds.REFUSED, "1", NOW - 1, why="no worktree could be made"))
    assert Give("1", "a1") not in table.actions()
    table.memory.take(RunEvent(kinds.REFUSED, "1", NOW - 31, why="no worktree could be made"))
    assert table.actions() == [Give("1", "a1")]


def test_tasks_that_were_over_before_are_none_of_its_business():
    table = Table(done(1), Card(2))
    table.order.done_before = ["1"]
    assert table.actions() == [Give("2", "a1")]


# Agents that are gone, stuck, or too dear.


def test_an_agent_whose_host_is_gone_is_cleared_away():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", is_alive=False)
    assert table.actions() == [Clear("a1", "it ended without a word", is_blamed=False)]


def test_an_agent_that_does_not_come_up_in_time_is_ended_without_blame_of_its_task():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", state="spawning", since=31)
    assert table.actions() == [EndAgent("a1", "it was not there within 30 s", is_blamed=False)]


def test_an_agent_that_died_too_often_gets_nothing_more():
    table = Table(Card(1), seats=1)
    table.memory.seats["a1"] = kinds.SeatMemory(generation=3, over=3, state="error", restarts=2)
    assert table.actions() == [CloseSeat("a1", "it died 3 times")]


def test_when_no_agent_is_left_the_run_ends():
    table = Table(Card(1), done(2), seats=1)
    table.memory.seats["a1"] = kinds.SeatMemory(state="error", closed="it died 3 times")
    assert table.actions() == [Finish("partial", "no agent is left")]


def test_a_silent_agent_is_asked_after_ten_minutes_while_nobody_knows_how_long_a_task_takes():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", since=599)
    assert table.actions() == []
    table.agent("a1", "1", since=601)
    assert table.actions() == [AskHow("a1", "1", 601.0)]


def test_later_after_twice_the_usual_time_and_never_within_five_minutes():
    table = Table(claimed(1, "a1"), seats=1)
    table.memory.durations = [200.0, 240.0, 180.0]
    table.agent("a1", "1", since=401)
    assert table.actions() == [AskHow("a1", "1", 401.0)]
    table.memory.durations = [1.0, 1.0, 1.0]
    table.agent("a1", "1", since=299)
    assert table.actions() == []


def test_a_word_of_the_agent_begins_the_time_anew():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", since=900)
    table.said_at["a1"] = NOW - 10
    assert table.actions() == []


def test_a_script_is_silent_for_long_and_well():
    table = Table(claimed(1, "a1"), seats=1, script=True)
    table.memory.durations = [1.0, 1.0, 1.0]
    table.agent("a1", "1", since=500)
    assert table.actions() == []


def test_who_does_not_answer_within_a_minute_is_ended_and_the_attempt_counts():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", since=900)
    table.memory.take(RunEvent(kinds.ASKED, "a1", NOW - 61, task="1"))
    assert table.actions() == [EndAgent("a1", "it did not say how #1 stands within 60 s")]


def test_any_sign_after_the_question_is_an_answer():
    table = Table(claimed(1, "a1"), seats=1)
    table.agent("a1", "1", since=900, heard_at=NOW - 5)
    table.memory.take(RunEvent(kinds.ASKED, "a1", NOW - 61, task="1"))
    assert table.actions() == []
    assert table.memory.seat("a1").asked_at == 0.0


def test_who_waits_for_an_answer_of_others_is_not_stuck():
    for card, waits in ((claimed(1, "a1"), True), (claimed(1, "a1", plan="submitted"), False)):
        table = Table(card, seats=1)
        table.agent("a1", "1", since=5_000, waits=waits)
        assert not [one for one in table.actions() if isinstance(one, AskHow | EndAgent)]


def test_a_task_is_warned_of_at_eighty_per_cent_of_its_budget_and_ended_at_all_of_it():
    table = Table(claimed(1, "a1"), seats=1)
    table.order.per_task = Limits(minutes=10)
    table.agent("a1", "1", since=8 * 60)
    assert [one.kind for one in table.actions() if isinstance(one, Say)] == [kinds.WARNED]
    table.agent("a1", "1", since=10 * 60)
    said = table.actions()
    assert [one.kind for one in said if isinstance(one, Say)] == [kinds.EXCEEDED]
    assert EndAgent("a1", "the budget of #1 is used up", is_final=True) in said


def test_tokens_of_earlier_lives_count_and_what_is_not_told_does_not():
    table = Table(claimed(1, "a1"), seats=1)
    table.order.per_agent = Limits(tokens=1_000)
    table.agent("a1", "1", tokens=None)
    assert table.actions() == []
    table.memory.seat("a1").spent = replace(table.memory.seat("a1").spent, tokens=600)
    table.agents["a1"].tokens = 400
    said = table.actions()
    assert EndAgent("a1", "its budget is used up", is_blamed=False) in said
    assert CloseSeat("a1", "its budget is used up") in said


def test_a_run_that_has_used_up_its_time_is_stopped():
    table = Table(claimed(1, "a1"), seats=1)
    table.order.limits = Limits(minutes=60)
    table.agent("a1", "1")
    assert table.actions()[-1] == Finish("stopped", "the run has used 60 of 60 minutes")


def test_a_clock_that_was_set_back_costs_nothing_and_ends_nothing():
    table = Table(claimed(1, "a1"), seats=1)
    table.order.limits = table.order.per_task = Limits(minutes=1)
    table.memory = RunMemory()
    table.memory.take(RunEvent(kinds.STARTED, "r", NOW + 3600))
    table.agent("a1", "1", since=-3600)
    assert table.actions() == []


# The end.


def test_when_everything_is_completed_that_is_said_and_it_ends():
    table = Table(done(1), Card(2, status=IN_PROGRESS, outcome="cancelled"))
    assert table.actions() == [Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved"), Finish("success")]


def test_a_failed_task_and_what_can_never_be_done_make_it_partial():
    table = Table(done(1), Card(2, status=IN_PROGRESS, outcome=FAILED), Card(3, blocked_by=["2"]))
    assert table.actions()[-1] == Finish("partial")


def test_nothing_completed_is_failed():
    assert Table(Card(2, status=IN_PROGRESS, outcome=FAILED)).actions()[-1] == Finish("failed")


def test_it_waits_for_people_so_long_and_no_longer():
    table = Table(done(1), claimed(2, "a1", needs="lead"), seats=1)
    assert table.actions() == [Say(kinds.WAITS, kinds.WAITS, "#2 cannot go on without a person")]
    table.memory.told.add(kinds.WAITS)
    assert table.actions() == []
    table.memory.moved_at = NOW - 1801
    assert table.actions() == [Finish("partial", "nobody answered within 30 minutes")]


def test_a_member_that_is_no_agent_of_the_run_is_waited_for():
    table = Table(claimed(1, "ann"), seats=1)
    table.actions()
    table.memory.moved_at = NOW - 100_000
    table.memory.told.add(kinds.NOTHING_CLAIMABLE)
    assert table.actions() == []


def test_a_team_that_was_stopped_is_left_alone():
    table = Table(Card(1))
    table.stopped = "human"
    assert table.actions() == [Finish("stopped", "the team was stopped by human")]


def test_an_agent_that_leads_is_started_first_and_has_the_last_word():
    table = Table(done(1), seats=1)
    table.order.leader = AgentSeat(name="lead", runtime="claude")
    assert table.actions() == [StartLeader(), Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")]
    table.agent("lead", state="working")
    table.memory.told.add(kinds.RESOLVED)
    assert table.actions() == []
    table.agent("lead", state="idle")
    assert table.actions() == [Finish("success")]


def test_an_agent_that_leads_has_a_turn_after_it_was_told_that_all_is_resolved():
    table = Table(done(1), seats=1)
    table.order.leader = AgentSeat(name="lead", runtime="claude")
    table.agent("lead", state="idle", turns=4)
    assert table.actions() == [Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")]
    table.memory.take(RunEvent(kinds.RESOLVED, "r", NOW, about=kinds.RESOLVED, letter="m-1"))
    assert table.actions() == []
    table.lead_knows_at = NOW
    assert table.actions() == []
    table.agents["lead"].heard_at = NOW + 1
    assert table.actions() == [Finish("success")]


def test_an_agent_that_leads_and_was_started_again_has_its_turn_first():
    table = Table(done(1), seats=1)
    table.order.leader = AgentSeat(name="lead", runtime="claude")
    table.agent("lead", state="idle", heard_at=NOW)
    assert table.actions() == [Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")]
    table.memory.take(RunEvent(kinds.RESOLVED, "r", NOW, about=kinds.RESOLVED, letter="m-1"))
    table.lead_knows_at = NOW - 5
    assert table.actions() == []


def test_an_agent_that_leads_and_cannot_be_told_is_not_waited_for():
    table = Table(done(1), seats=1)
    table.order.leader = AgentSeat(name="lead", runtime="claude")
    table.agent("lead", state="idle", turns=4)
    assert table.actions() == [Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")]
    table.memory.take(RunEvent(kinds.RESOLVED, "r", NOW, about=kinds.RESOLVED))
    assert table.actions() == [Finish("success")]


def test_an_agent_that_leads_and_never_looks_is_not_waited_for_for_ever():
    table = Table(done(1), seats=1)
    table.order.leader = AgentSeat(name="lead", runtime="claude")
    table.agent("lead", state="idle", turns=4)
    assert table.actions() == [Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")]
    at = NOW - table.order.rules.answer
    table.memory.take(RunEvent(kinds.RESOLVED, "r", at, about=kinds.RESOLVED, letter="m-1"))
    assert table.actions() == [Finish("success")]


def test_a_tick_is_a_function_of_what_is_there():
    table = Table(*(Card(n, blocked_by=[str(n - 1)] if n % 3 == 0 else []) for n in range(1, 50)), seats=9)
    assert table.actions() == table.actions()


def test_rules_are_numbers_with_the_defaults_of_the_seed():
    rules = RunRules()
    assert (rules.stuck_factor, rules.stuck_first, rules.answer, rules.restarts) == (2.0, 600.0, 60.0, 2)


def test_an_agent_that_has_just_finished_is_not_taken_for_nobody():
    table = Table(done(1), claimed(2, "a2", plan="submitted"), Card(3), seats=2, script=True)
    table.agent("a1", "1", state="working")  # its task is done, and it has not said yet that it is free
    table.agent("a2", "2", state="planning")
    assert not [one for one in table.actions() if isinstance(one, Say) and one.kind == kinds.WAITS]
