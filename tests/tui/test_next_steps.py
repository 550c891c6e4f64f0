"""What to type next: every step can be typed as it stands, and what waits for somebody comes first."""

from __future__ import annotations

import shlex

import pytest

from atm.ui.views.team.next_steps import NextStep, agents_to_start, first_steps, next_steps, step_lines
from atm.ui.views.team.seen import (
    AgentSeen,
    ApprovalSeen,
    AskedSeen,
    MailSeen,
    MemberSeen,
    MergesSeen,
    TaskSeen,
    TeamSeen,
)


def agent(name: str, runtime: str = "script", unread: int = 0, state: str = "idle", liveness: str = "online"):
    started = AgentSeen(runtime=runtime, state=state)
    return MemberSeen(name, agent=started, liveness=liveness, mail=MailSeen(unread=unread))


ZOE = MemberSeen("zoe", kind="human")


def commands(seen: TeamSeen, programs=()):
    return [step.command for step in next_steps(seen, "zoe", programs)]


def test_agents_of_programs_that_are_here_are_proposed():
    assert agents_to_start(["codex", "claude"]) == ["claude:ann", "codex:bob"]
    assert agents_to_start(["gemini"]) == ["gemini:ann", "gemini:bob"]


def test_without_any_program_scripts_are():
    assert agents_to_start([]) == ["script:ann", "script:bob"]


def test_nobody_is_proposed_who_has_the_name_of_the_person():
    assert agents_to_start([], ["ann"]) == ["script:bob", "script:cat"]
    assert "--owner bob" in first_steps([], "ann")[1].command


def test_the_first_steps_are_three_and_end_with_a_look():
    assert [step.command for step in first_steps([])] == [
        "atm up script:ann script:bob",
        "atm tasks add 'Greet bob' --owner ann --run 'atm send bob hello'",
        "atm",
    ]
    assert first_steps(["claude"])[1].command == "atm tasks add 'Greet bob'"


def test_what_waits_for_a_person_comes_first():
    seen = TeamSeen(
        "crew",
        members=[MemberSeen("zoe", kind="human", mail=MailSeen(unread=2)), agent("ann")],
        approvals=[ApprovalSeen("3f0c1f4e-7a52", "ann")],
        asked=[AskedSeen("4", by="ann")],
        merges=MergesSeen(needs_human=["2"]),
    )
    assert commands(seen) == ["atm approvals show 3f0c1f4e", "atm tasks clarify 4 --answer TEXT", "atm read"]


def test_a_team_of_people_only_gets_agents():
    assert commands(TeamSeen("crew", members=[ZOE]), ["claude"])[0] == "atm up claude:ann claude:bob"


def test_an_empty_board_gets_a_first_task():
    seen = TeamSeen("crew", members=[ZOE, agent("ann"), agent("bob")])
    assert commands(seen)[0] == "atm tasks add 'Greet bob' --owner ann --run 'atm send bob hello'"
    modelled = TeamSeen("crew", members=[ZOE, agent("ann", "claude"), agent("bob", "codex")])
    assert commands(modelled)[0] == "atm tasks add 'Greet bob'"


def test_a_script_with_mail_answers_by_a_task():
    done = TaskSeen("1", state="completed", owner="ann")
    seen = TeamSeen("crew", members=[agent("ann", unread=1), agent("bob", unread=1)], tasks=[done])
    assert commands(seen)[0] == "atm tasks add 'Answer ann' --owner bob --run 'atm read; atm send ann hi'"


def test_a_failed_task_is_looked_at_and_agents_that_ended_come_again():
    failed = TeamSeen("crew", members=[agent("ann")], tasks=[TaskSeen("1", state="failed", owner="ann")])
    assert commands(failed)[0] == "atm tasks show 1"
    ended = TeamSeen("crew", members=[agent("ann", state="stopped", liveness="offline")])
    assert commands(ended)[0] == "atm up"


@pytest.mark.parametrize("name", ["a b", "$(touch x)", "--force", "'; rm -rf ~", "ÿ", "x\x1b[31m"])
def test_a_name_that_nobody_could_type_is_in_no_command(name):
    for runtime in ("script", "claude"):
        seen = TeamSeen("crew", members=[agent(name, runtime, unread=1), agent("bob", runtime)], tasks=[])
        assert all(name not in word for command in commands(seen) for word in shlex.split(command))


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_command_is_never_cut_and_what_comes_of_it_stands_beside_or_below(columns):
    steps = [NextStep("atm " + "x" * 70, "long"), NextStep("atm", "short and sweet"), NextStep("atm top", "y" * 60)]
    lines = step_lines(steps, columns)
    for step in steps:
        assert any(line.startswith(f"  {step.command}") for line in lines)
        assert any(step.why in line for line in lines)
    whole = {step.command for step in steps} | {step.why for step in steps}
    assert all(len(line) <= columns or line.strip() in whole for line in lines)


def test_a_window_that_asks_comes_first():
    asked = AgentSeen(runtime="codex", state="waiting", asks="to sign in")
    seen = TeamSeen("crew", members=[ZOE, MemberSeen("bob", liveness="online", agent=asked)])
    assert commands(seen)[0] == "atm attach --team crew bob"
