"""`atm run` with each vendor's real program: scripted models edit real files in worktrees, and the tests are green."""

from __future__ import annotations

import pytest
from tests.lab.conftest import until
from tests.lab.running import LONGEST, RunLab, does, task, writing

from atm.testing.model import hears

pytestmark = pytest.mark.lab


def test_a_plan_is_worked_off_and_its_tests_pass_on_the_branches(agent):
    lab, story, name = RunLab(agent), agent.story, agent.vendor.name
    plan = lab.plans(task("one", 1), task("two", 2), task("three", 3, after="one"))
    for number, word in enumerate(("one", "two", "three"), 1):
        writing(agent.vendor, story.when(does(number)), word, number)
        story.when(does(number)).says(f"I wrote it.\nDONE: {word}.py returns {number}")
    run = lab.runs("--plan", plan, "--runtime", name, "--agents", "2")
    branches = run.has_succeeded("1", "2", "3")
    lab.has_nothing_left()
    assert story.untold == []
    lab.proves(branches["2"], "two")
    lab.proves(branches["3"], "one", "three")
    assert lab.git("log", "-1", "--format=%s", branches["1"]) == "write one.py"
    assert run.report["agents"][0]["turns"] >= 1


def test_done_with_a_check_that_fails_is_mended_in_the_next_turn(agent):
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    writing(agent.vendor, story.then(), "one", 7)
    story.then().says("DONE: it returns 1")
    writing(agent.vendor, story.when(hears("It is not done yet")), "one", 1)
    story.then().says("DONE: now it does")
    run = lab.runs("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1")
    branches = run.has_succeeded("1")
    agent.seen.once("AssertionError: 7")
    lab.proves(branches["1"], "one")
    lab.has_nothing_left()
    assert story.untold == []
    assert run.report["agents"][0]["restarts"] == 0


def test_a_question_waits_for_its_answer_and_the_work_goes_on(agent):
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    story.first().says("I looked around.\nQUESTION: with a docstring or without?")
    writing(agent.vendor, story.when(hears("without any")), "one", 1)
    story.then().says("DONE: without any")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1")
    until(lambda: (run.events("task.claimed") and lab.task("1")["needs"]) == "lead", LONGEST, lambda: run.words)
    lab.atm("tasks", "clarify", "1", "--answer", "without any")
    branches = run.ends().has_succeeded("1")
    lab.proves(branches["1"], "one")
    lab.has_nothing_left()
    assert story.untold == []
    agent.seen.once("your question was answered")
