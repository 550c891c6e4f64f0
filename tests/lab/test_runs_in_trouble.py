"""`atm run` with vendors' real programs that are killed, and with models that never answer."""

from __future__ import annotations

import os
import shutil
import signal
from threading import Event

import pytest
from tests.lab.conftest import until
from tests.lab.running import RunLab, Running, does, task, writing
from tests.lab.test_crew import is_written_down

from atm.testing.model import hears

pytestmark = pytest.mark.lab

BRIEF = "Your task is #1, and nothing else"
CUT_OFF = "An earlier attempt was cut off"


def kill_host_and_program(lab: RunLab, name: str) -> None:
    """As a machine that is out of memory would: both at once, and nobody says a word."""
    record = lab.record(name)
    for pid in (record["pid"], record["program_pid"]):
        os.kill(pid, signal.SIGKILL)


def is_resumed(run: Running) -> list[bool]:
    return [bool(one["detail"].get("resumed")) for one in run.events("agent.spawned")]


def test_killed_in_the_middle_it_goes_on_with_what_was_saved(agent):
    lab, story, never = RunLab(agent), agent.story, Event()
    plan = lab.plans(task("one", 1))
    writing(agent.vendor, story.first(), "one", 1)
    story.then().waits_for(never).says("never heard")
    story.whenever(hears(CUT_OFF)).says("DONE: it was there already")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1")
    try:
        agent.seen.asks(2, 240)
        until(lambda: is_written_down(agent, BRIEF.encode()), 120)
        kill_host_and_program(lab, "a1")
        branches = run.ends().has_succeeded("1")
    finally:
        never.set()
    lab.proves(branches["1"], "one")
    assert is_resumed(run) == [False, agent.vendor.name != "gemini"]
    briefs = [piece for piece in agent.seen.requests[-1].told if BRIEF in piece.text]
    assert len(briefs) == (1 if agent.vendor.name == "gemini" else 2)
    assert run.report["agents"][0]["restarts"] == 1
    lab.has_nothing_left()


def test_a_conversation_that_is_lost_is_begun_anew(agent):
    """It is tried once; then the agent begins with the task, its files, and nothing else."""
    if agent.vendor.name == "gemini":
        pytest.skip("its conversations are not gone on with: a session that began this minute is written over")
    lab, story, never = RunLab(agent), agent.story, Event()
    plan = lab.plans(task("one", 1))
    writing(agent.vendor, story.first(), "one", 1)
    story.then().waits_for(never).says("never heard")
    story.whenever(hears(CUT_OFF)).says("DONE: it was there already")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1")
    try:
        agent.seen.asks(2, 240)
        kill_host_and_program(lab, "a1")
        for place in (".claude/projects", ".codex/sessions", ".local/share/opencode"):
            shutil.rmtree(lab.home / place, ignore_errors=True)
        branches = run.ends().has_succeeded("1")
    finally:
        never.set()
    lab.proves(branches["1"], "one")
    assert is_resumed(run) == [False, True, False]
    lab.has_nothing_left()


IMPATIENT = """
[runs]
stuck_minutes = {minutes}
answer_seconds = 2
restarts = 3
"""


def test_a_model_that_never_answers_is_asked_and_ended_and_its_task_fails_for_good(agent):
    lab, story, never = RunLab(agent), agent.story, Event()
    lab.settings(IMPATIENT.format(minutes=0.4 if agent.vendor.name == "opencode" else 0.1))
    plan = lab.plans(task("one", 1), task("two", 2, after="one"))
    writing(agent.vendor, story.when(does(1)), "one", 1)
    story.whenever(does(1)).says("DONE: it is there")
    story.whenever(does(2)).waits_for(never).says("never heard")
    try:
        run = lab.runs("--plan", plan, "--runtime", agent.vendor.name, "--agents", "2")
    finally:
        never.set()
    report = run.is_partial(completed=["1"])
    assert report["tasks"]["failed"] == ["2"], run.words
    assert "did not say how #2 stands" in report["failures"][0]["why"]
    asked = [one["subject"] for one in run.events("agent.asked") if one["detail"]["task"] == "2"]
    assert len(asked) == 3, run.words
    assert {*asked} == {"a1", "a2"}, "it is given to whoever has not tried it"
    lab.has_nothing_left()
