"""`atm run` where a model decides: it breaks a goal down, hands in plans, or leads; with vendors' real programs."""

from __future__ import annotations

import json

import pytest
from tests.lab.conftest import until
from tests.lab.running import LONGEST, RunLab, does, task, writing
from tests.lab.vendors import Vendor

from atm.testing.model import hears, sees
from atm.testing.model.story import StoryLine

pytestmark = pytest.mark.lab

GOAL = "two functions that answer"
ASKED_FOR_A_PLAN = sees("Break the goal below into tasks")
SHORT = "[runs]\nhuman_minutes = 0.05\n"
ALLOWED = """
[runs]
human_minutes = 0.3

[[approvals.rules]]
decision = "allow"
command = "python3 test_*"

[[approvals.rules]]
decision = "allow"
tool = ["Write", "write", "edit"]

[[approvals.rules]]
decision = "allow"
command = "cp *"
"""


def answers_with(line: StoryLine, *tasks: object) -> None:
    line.says(f"I looked around. This is the plan.\n\n```json\n{json.dumps([*tasks])}\n```")


def bringing(vendor: Vendor, line: StoryLine, name: str, number: int) -> StoryLine:
    """As `writing`; what Codex runs must be a plain command for a rule to fit."""
    return (
        vendor.shell(line, f"cp answer_{number}.txt {name}.py")
        if vendor.name == "codex"
        else writing(vendor, line, name, number)
    )


def test_a_goal_is_broken_down_and_worked_off_where_a_rule_allows_its_checks(agent):
    lab, story = RunLab(agent), agent.story
    lab.settings(ALLOWED)
    agent.atm("init", "--vendor", agent.vendor.name)
    lab.plans(task("one", 1), task("two", 2))
    story.when(ASKED_FOR_A_PLAN).says("I have no idea.")
    answers_with(story.when(ASKED_FOR_A_PLAN & hears("cannot be used")), task("one", 1), task("two", 2, after="one"))
    for number, name in enumerate(("one", "two"), 1):
        bringing(agent.vendor, story.when(does(number)), name, number)
        story.when(does(number)).says("DONE: it is there")
    run = lab.runs(GOAL, "--runtime", agent.vendor.name, "--agents", "1")
    branches = run.has_succeeded("1", "2")
    lab.proves(branches["2"], "one", "two")
    assert story.untold == []
    lab.has_nothing_left()
    assert "planner" not in [one["name"] for one in lab.atm("members")["members"]]


def test_what_a_model_wants_to_run_waits_for_a_person_where_no_rule_allows_it(agent):
    lab, story = RunLab(agent), agent.story
    lab.settings(SHORT)
    lab.plans(task("one", 1), task("two", 2))
    answers_with(story.when(ASKED_FOR_A_PLAN), {**task("one", 1), "accept": []}, task("two", 2))
    writing(agent.vendor, story.when(does(1)), "one", 1)
    story.when(does(1)).says("DONE: it is there")
    run = lab.runs(GOAL, "--runtime", agent.vendor.name, "--agents", "1")
    report = run.is_partial(completed=["1"])
    assert report["tasks"]["needs_human"] == ["2"]
    assert "nobody has allowed `python3 test_two.py`" in report["failures"][0]["why"]
    assert story.untold == []
    lab.has_nothing_left()


def test_who_must_plan_hands_its_plan_in_and_writes_nothing_before_it_is_approved(agent):
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    story.first().says("I will write one.py with one function.")
    writing(agent.vendor, story.when(hears("your plan was approved")), "one", 1)
    story.when(sees("your plan was approved")).says("DONE: as planned")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1", "--require-plan")
    is_submitted = lambda: bool(run.events("task.claimed")) and lab.task("1")["plan"] == "submitted"  # noqa: E731
    until(lambda: is_submitted() or run.process.poll() is not None, LONGEST, lambda: run.words)
    (worktree,) = lab.worktrees
    assert not (worktree / "one.py").exists()
    lab.atm("tasks", "plan", "approve", "1")
    branches = run.ends().has_succeeded("1")
    lab.proves(branches["1"], "one")
    assert story.untold == []
    lab.has_nothing_left()


def test_an_agent_leads_and_is_woken_when_all_is_resolved(agent):
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    leads = sees("the lead of the team")
    story.when(leads).says("I wait for my team.")
    writing(agent.vendor, story.when(does(1)), "one", 1)
    story.when(does(1)).says("DONE: it is there")
    story.when(leads & hears("All tasks of the board are resolved")).says("The goal is reached.")
    story.whenever(leads).says("I go on waiting.")
    run = lab.runs("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1", "--lead", agent.vendor.name)
    branches = run.has_succeeded("1")
    lab.proves(branches["1"], "one")
    assert story.untold == []
    lab.has_nothing_left()


def test_a_plan_that_claude_shows_with_its_own_tool_is_the_plan_of_its_task(agent):
    """It asks with ExitPlanMode. One yes is enough, and it is given on the board."""
    if agent.vendor.name != "claude":
        pytest.skip("the others end their turn with their plan")
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    story.first().runs("ExitPlanMode", plan="I will write one.py with one function.")
    story.when(hears("Your plan is handed in")).says("I wait.")
    writing(agent.vendor, story.when(hears("your plan was approved")), "one", 1)
    story.then().says("DONE: as planned")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1", "--require-plan")
    is_submitted = lambda: bool(run.events("task.claimed")) and lab.task("1")["plan"] == "submitted"  # noqa: E731
    until(lambda: is_submitted() or run.process.poll() is not None, 60, lambda: (run.words, lab.atm("approvals")))
    lab.atm("tasks", "plan", "approve", "1")
    branches = run.ends().has_succeeded("1")
    lab.proves(branches["1"], "one")
    lab.has_nothing_left()
