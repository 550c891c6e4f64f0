"""
A policy, and each vendor's real program: a scripted model tries what is allowed, denied, for the lead, for a person,
and what nobody answers. What it then saw is asserted, and what lies in its folder.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.lab.conftest import ME, LabAgent, Run, processes_of, until
from tests.lab.test_crew import Upped
from tests.optional import skip_without

from atm.testing.model import hears, offered, sees

pytestmark = pytest.mark.lab

POLICY = """
[approvals]
hook_seconds = {seconds}

[[approvals.rules]]
decision = "allow"
command = "echo *"

[[approvals.rules]]
decision = "deny"
command = "touch denied*"

[[approvals.rules]]
decision = "ask-lead"
command = "touch for-lead*"

[[approvals.rules]]
decision = "ask-human"
command = "touch for-human*"
"""
LEAD, HUMAN = "team-lead", "human"


def with_policy(agent: LabAgent, seconds: float) -> LabAgent:
    settings = agent.home / ".config/atm/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(POLICY.format(seconds=seconds))
    agent.atm("init", "--vendor", agent.vendor.name)
    return agent


def waiting(agent: LabAgent) -> list[dict[str, Any]]:
    said = agent.says("approvals", "--json", me=HUMAN)
    found: list[dict[str, Any]] = json.loads(said.out)["approvals"]
    return found


def asked(agent: LabAgent, what: str) -> dict[str, Any]:
    """The request about this, when it has come."""
    found: list[dict[str, Any]] = []

    def has_come() -> bool:
        found[:] = [one for one in waiting(agent) if what in one["command"]]
        return bool(found)

    until(has_come, 240, lambda: waiting(agent))
    return found[0]


def audit(agent: LabAgent) -> list[tuple[str, str]]:
    said = json.loads(agent.says("approvals", "list", "--all", "--json", me=HUMAN).out)
    return [(line["event"], line["by"]) for line in said["audit"]]


def test_each_call_is_decided_as_the_policy_says_and_the_model_reads_why(agent):
    with_policy(agent, 120)
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "echo allowed-by-rule")
    for command in ("touch denied.txt", "touch for-lead.txt", "touch for-human.txt", "touch for-human-no.txt"):
        shell(story.then(), command)
    story.otherwise().says("done")
    run = agent.starts("begin")

    lead = asked(agent, "for-lead")
    assert (lead["tier"], lead["requester"], lead["command"]) == ("lead", ME, "touch for-lead.txt")
    assert lead["folder"] == str(agent.folder)
    agent.atm("approvals", "approve", lead["id"], me=LEAD)
    person = asked(agent, "for-human.txt")
    assert person["tier"] == "human"
    assert agent.says("approvals", "approve", person["id"], me=LEAD).code == 1
    agent.atm("approvals", "approve", person["id"], me=HUMAN)
    agent.atm("approvals", "deny", asked(agent, "for-human-no")["id"], "--reason", "not before lunch", me=HUMAN)
    run.ends()

    made = {path.name for path in agent.folder.iterdir() if path.suffix == ".txt"}
    assert made == {"for-lead.txt", "for-human.txt"}
    agent.seen.once("allowed-by-rule")
    agent.seen.once("says no (deny: command = touch denied*)")
    agent.seen.once("not before lunch")
    assert [line for line in audit(agent) if line[0] in ("approved", "used", "denied")] == [
        ("denied", "policy"),
        ("approved", LEAD),
        ("used", ME),
        ("approved", HUMAN),
        ("used", ME),
        ("denied", HUMAN),
    ]
    assert agent.model.strays == []


def test_in_a_terminal_the_same_policy_decides(agent):
    skip_without("tmux")
    with_policy(agent, 120)
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "touch denied.txt")
    shell(story.then(), "touch for-human.txt")
    shell(story.then(), "touch for-human-no.txt")
    story.otherwise().says("done")
    pane = agent.sits_down("begin")
    with pane.shown_on_failure():
        agent.atm("approvals", "approve", asked(agent, "for-human.txt")["id"], me=HUMAN)
        agent.atm("approvals", "deny", asked(agent, "for-human-no")["id"], "--reason", "not before lunch", me=HUMAN)
        agent.seen.eventually("not before lunch")
        agent.seen.once("says no (deny: command = touch denied*)")
    made = {path.name for path in agent.folder.iterdir() if path.suffix == ".txt"}
    assert made == {"for-human.txt"}


def test_silence_means_no_and_the_same_call_finds_its_answer_later(agent):
    """As long as its program runs: the request of one that has ended is cancelled, since nobody waits for it."""
    skip_without("tmux")
    with_policy(agent, 2)
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "touch for-human.txt")
    story.otherwise().says("done")
    pane = agent.sits_down("begin")
    with pane.shown_on_failure():
        agent.seen.eventually("Nobody has answered request")
        (one,) = waiting(agent)
        agent.seen.once(f"Nobody has answered request {one['id']} yet")
        assert not (agent.folder / "for-human.txt").exists()

        again = agent.model.story(ME)
        shell(again.then(), "touch for-human.txt")
        again.otherwise().says("done")
        agent.atm("approvals", "approve", one["id"], me=HUMAN)  # the answer is mail, which wakes it
        until((agent.folder / "for-human.txt").exists, 120)


def test_a_permission_hook_that_is_killed_denies(agent):
    """By its own line in the settings; OpenCode's plugin does the same."""
    with_policy(agent, 120)
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "touch for-human.txt")
    story.otherwise().says("done")
    run = agent.starts("begin")
    asked(agent, "for-human")
    for pid in processes_of(agent.home):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"permit" in words:
            os.kill(pid, signal.SIGKILL)
    run.ends()
    assert not (agent.folder / "for-human.txt").exists()


def test_a_broken_policy_denies_everything(agent):
    with_policy(agent, 5)
    (agent.home / ".config/atm/config.toml").write_text("[approvals\n")
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "touch for-nobody.txt")
    story.otherwise().says("done")
    agent.runs("begin")
    assert not (agent.folder / "for-nobody.txt").exists()
    agent.seen.once("the policy cannot be read")


def test_an_agent_that_atm_started_waits_as_long_as_it_takes(agent):
    """Its host is asked over its program's own protocol, and nobody else waits for it."""
    with_policy(agent, 1)
    upped = Upped(agent)
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "echo allowed-by-rule")
    shell(story.then(), "touch for-human.txt")
    shell(story.then(), "touch for-human-no.txt")
    story.otherwise().says("done")
    said = upped.atm("up", f"{agent.vendor.name}:{ME}", "--prompt", "begin")
    (member,) = said["members"]
    assert member["state"] in ("ready", "idle", "working"), said
    one = asked(agent, "for-human.txt")
    agent.atm("approvals", "approve", one["id"], me=HUMAN)
    agent.atm("approvals", "deny", asked(agent, "for-human-no")["id"], "--reason", "not before lunch", me=HUMAN)
    upped.says("idle")
    worktree = Path(upped.record()["worktree"] or agent.folder)
    assert {path.name for path in worktree.iterdir() if path.name.startswith("for-")} == {"for-human.txt"}
    agent.seen.once("allowed-by-rule")
    agent.seen.eventually("not before lunch")
    assert [event for event, _ in audit(agent)].count("used") == 1
    upped.atm("kill", ME)


PLANNING = """
[[approvals.rules]]
decision = "allow"
tool = ["mcp__atm__*", "mcp_atm_*", "atm_*"]

[[approvals.rules]]
decision = "allow"
command = "touch worked*"
"""


def test_who_must_plan_first_writes_nothing_until_the_plan_is_approved(agent):
    """Submitted and approved on the board; its host then lets it work."""
    if agent.vendor.name == "gemini":
        pytest.skip("Gemini CLI offers no tools of MCP servers while it plans: it asks its host with exit_plan_mode")
    settings = agent.home / ".config/atm/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(PLANNING)
    agent.atm("init", "--vendor", agent.vendor.name)
    agent.atm("tasks", "add", "sort the letters")
    upped = Upped(agent)
    story, vendor = agent.story, agent.vendor
    claim, submit = vendor.tool("board_claim"), vendor.tool("plan_submit")
    ready = offered(claim) & offered(submit)
    story.whenever(~ready & ~sees("your plan was approved")).says("not yet")
    story.when(ready).runs(claim)
    story.when(ready).runs(submit, id="1", text="I will touch one file.")
    vendor.shell(story.when(ready), "touch worked-too-early.txt")
    story.when(ready & ~sees("your plan was approved")).says("I wait.")
    vendor.shell(story.when(sees("your plan was approved")), "touch worked.txt")
    vendor.shell(story.when(hears("you may work now")), "touch worked.txt")  # a hook told it while it could only plan
    story.otherwise().says("done")
    upped.atm("up", f"{vendor.name}:{ME}", "--prompt", "begin", "--require-plan")

    def is_submitted() -> bool:
        task = json.loads(agent.atm("tasks", "show", "1", "--json", me=HUMAN))["task"]
        if upped.record()["state"] == "idle" and story.untold[:1] == [ready.words]:
            agent.gets("try again")  # its program had not met our server yet
        return bool(task["plan"] == "submitted")

    until(is_submitted, 240, lambda: (story.untold, upped.atm("peek", ME)))
    upped.says("idle")
    worktree = Path(upped.record()["worktree"] or agent.folder)
    assert [path.name for path in worktree.iterdir() if path.name.startswith("worked")] == []
    agent.atm("tasks", "plan", "approve", "1", me=HUMAN)
    until((worktree / "worked.txt").exists, 240, lambda: upped.atm("peek", ME))
    assert not (worktree / "worked-too-early.txt").exists()
    upped.atm("kill", ME)


def test_a_call_that_is_deferred_outlives_its_program_and_goes_on_with_the_answer(agent):
    if agent.vendor.name != "claude":
        pytest.skip("only Claude Code can end with a call that waits, and go on with it")
    with_policy(agent, 1)
    settings = agent.home / ".config/atm/config.toml"
    settings.write_text(settings.read_text().replace("[approvals]", "[approvals]\ndefer = true", 1))
    shell, story = agent.vendor.shell, agent.story
    shell(story.first(), "touch for-human.txt")
    story.otherwise().says("done")
    ended = agent.runs("begin")
    last = json.loads(ended.out.strip().splitlines()[-1])
    assert last["terminal_reason"] == "tool_deferred", ended.words
    assert not (agent.folder / "for-human.txt").exists()
    agent.atm("approvals", "approve", asked(agent, "for-human")["id"], me=HUMAN)
    words = [*agent.vendor.headless(""), "--resume", last["session_id"]]
    Run(words, agent.environment, agent.folder, agent.home / "resumed").ends()
    assert (agent.folder / "for-human.txt").exists()
