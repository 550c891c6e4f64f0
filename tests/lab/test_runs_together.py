"""`atm run` with several vendors' programs in one team, and with programs in windows."""

from __future__ import annotations

import pytest
from tests.lab.conftest import until
from tests.lab.running import RunLab, Running, does, task, writing
from tests.lab.vendors import VENDORS
from tests.optional import skip_without

from atm.testing.model import sees

pytestmark = pytest.mark.lab


def test_a_mixed_team_works_on_one_plan(agent):
    """Each vendor's program beside the next one, in one run and one home."""
    names = sorted(VENDORS)
    other = VENDORS[names[(names.index(agent.vendor.name) + 1) % len(names)]]
    lab, story = RunLab(agent, other), agent.story
    plan = lab.plans(
        {**task("one", 1), "runtime": agent.vendor.name},
        {**task("two", 2), "runtime": other.name},
        {**task("three", 3, after="one"), "depends_on": ["one", "two"], "runtime": other.name},
    )
    for number, (vendor, name) in enumerate(((agent.vendor, "one"), (other, "two"), (other, "three")), 1):
        writing(vendor, story.when(does(number)), name, number)
        story.when(does(number)).says(f"DONE: {name}.py is there")
    run = lab.runs("--plan", plan, "--runtime", f"{agent.vendor.name},{other.name}", "--agents", "2")
    branches = run.has_succeeded("1", "2", "3")
    lab.proves(branches["3"], "one", "two", "three")
    assert {one["detail"]["runtime"] for one in run.events("agent.spawned")} == {agent.vendor.name, other.name}
    assert story.untold == []
    lab.has_nothing_left()


def says_yes_to_hooks(lab: RunLab, run: Running) -> None:
    """Codex asks a person once about hooks that are new; atm never answers for one."""
    run.says("agent.spawned")
    until(lambda: "Hooks need review" in lab.screen("a1") or run.process.poll() is not None, 120, lambda: run.words)
    lab.press("a1", "Down", "Enter")


def test_in_windows_the_checks_decide(agent):
    """There only the end of a turn is seen; what fails is told by mail."""
    skip_without("tmux")
    lab, story = RunLab(agent), agent.story
    plan = lab.plans(task("one", 1))
    writing(agent.vendor, story.when(does(1)), "one", 7)
    story.when(does(1)).says("I wrote something.")
    told = sees("It is not done yet")
    writing(agent.vendor, story.when(does(1) & told), "one", 1)
    story.whenever(does(1)).says("I wrote it.")
    run = lab.starts("--plan", plan, "--runtime", agent.vendor.name, "--agents", "1", "--backend", "tmux")
    if agent.vendor.name == "codex":
        says_yes_to_hooks(lab, run)
    try:
        branches = run.ends().has_succeeded("1")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{lab.screen('a1')}") from None
    lab.proves(branches["1"], "one")
    assert story.untold == []
    lab.has_nothing_left()
