"""`atm permit`, which four vendors call before a tool runs: it says yes only to what was granted."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.approvals.test_approvals import ALLOW_MAKE, DENY_RM, rules, write_policy

from atm.roster.services.members import add_member, update_member
from atm.team.rules.team import Member

BOB = {"ATM_IDENTITY": "bob", "ATM_TEAM": "crew"}
EVENTS = {
    "claude": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "Bash"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "opencode": ("tool.execute.before", "bash"),
}
VENDORS = pytest.mark.parametrize("vendor", EVENTS)


@pytest.fixture
def policy(crew):
    write_policy(crew.home, rules(DENY_RM, ALLOW_MAKE, default="ask-human"))

    def more(text: str) -> None:
        write_policy(crew.home, text)

    return more


def payload(crew, vendor: str, command: str, call_id: str = "c1") -> str:
    event, tool = EVENTS[vendor]
    said: dict[str, Any] = {"tool_input": {"command": command}}
    if vendor == "opencode":
        said |= {"event": event, "tool": tool, "sessionID": "s", "callID": call_id, "directory": str(crew.folder)}
    else:
        said |= {"hook_event_name": event, "tool_name": tool, "session_id": "s", "tool_use_id": call_id}
        said |= {"cwd": str(crew.folder)}
    return json.dumps(said)


def verdict(
    crew, vendor: str, command: str, env: dict[str, str] | None = None, stdin: str | None = None
) -> tuple[str, str]:
    """`allow`, `deny`, or nothing; and why."""
    given = payload(crew, vendor, command) if stdin is None else stdin
    done = crew("permit", vendor, EVENTS[vendor][0], stdin=given, env=BOB if env is None else env, code=None)
    if not done.out:
        return {0: "", 2: "deny"}[done.code], done.err
    assert done.code == 0
    said = json.loads(done.out)
    if vendor == "gemini":
        return said["decision"], said["reason"]
    if vendor == "opencode":
        return said["permission"], said["reason"]
    inner = said["hookSpecificOutput"]
    assert inner["hookEventName"] == "PreToolUse"
    return inner["permissionDecision"], inner["permissionDecisionReason"]


SHORT = rules(DENY_RM, ALLOW_MAKE, default="ask-human").replace("[approvals]", "[approvals]\nhook_seconds = 0")


@VENDORS
def test_what_a_rule_says_is_said_in_every_vendors_words(crew, policy, vendor):
    yes, _ = verdict(crew, vendor, "make test")
    assert yes == ("" if vendor == "codex" else "allow"), "Codex goes on where nothing is said"
    no, why = verdict(crew, vendor, "rm -rf x")
    assert no == "deny"
    assert "rule 1" in why


@VENDORS
def test_what_nobody_answers_is_denied_with_the_id_and_let_through_once_it_is_answered(crew, policy, vendor, quickly):
    policy(SHORT)
    no, why = verdict(crew, vendor, "git push")
    (one,) = json.loads(quickly("approvals", "list", "--json").out)["approvals"]
    assert (no, one["requester"], one["id"] in why) == ("deny", "bob", True)
    assert quickly("approvals", "approve", one["id"], "--as", "human").code == 0
    assert verdict(crew, vendor, "git push")[0] == ("" if vendor == "codex" else "allow")
    other = payload(crew, vendor, "git push", "c2")
    assert verdict(crew, vendor, "", stdin=other)[0] == "deny", "it was good for one execution"


def test_an_answer_that_comes_while_it_waits_is_given(crew, policy, quickly, eventually):
    heard: list[tuple[str, str]] = []
    thread = threading.Thread(target=lambda: heard.append(verdict(crew, "claude", "git push")))
    thread.start()
    eventually(lambda: quickly("approvals", "list").code == 0, 15)
    (one,) = json.loads(quickly("approvals", "list", "--json").out)["approvals"]
    quickly("approvals", "deny", one["id"], "--as", "human", "--reason", "after the review")
    thread.join(30)
    ((said, why),) = heard
    assert said == "deny"
    assert "after the review" in why


@VENDORS
def test_a_broken_file_of_settings_is_a_no_for_a_member_and_no_opinion_for_a_person(crew, policy, vendor):
    policy("[approvals\n")
    assert verdict(crew, vendor, "make")[0] == "deny"
    assert verdict(crew, vendor, "make", env={})[0] == ""


@VENDORS
def test_a_rule_that_is_none_is_a_no(crew, policy, vendor):
    policy(rules(ALLOW_MAKE, 'decision = "sure"'))
    assert verdict(crew, vendor, "make")[0] == "deny"


@pytest.mark.parametrize("stdin", ["", "{", "[]", "null", "{}", '{"tool_name": 3}', "\x00"], ids=repr)
@VENDORS
def test_a_payload_that_cannot_be_read_is_a_no_whoever_it_is(crew, policy, vendor, stdin):
    """It may be an agent's whose name is in what was cut off."""
    assert verdict(crew, vendor, "", stdin=stdin)[0] == "deny"
    assert verdict(crew, vendor, "", env={}, stdin=stdin)[0] == "deny"


def test_a_stranger_is_bound_by_deny_rules_alone(crew, policy):
    assert verdict(crew, "claude", "git push", env={})[0] == ""
    assert verdict(crew, "claude", "make", env={})[0] == ""
    assert verdict(crew, "claude", "rm x", env={})[0] == "deny"


def test_a_human_member_is_asked_nothing_and_bound_by_deny_rules(crew, policy, room):
    add_member(room, "crew", Member("hugo", backend="human"))
    hugo = {"ATM_IDENTITY": "hugo", "ATM_TEAM": "crew"}
    assert verdict(crew, "claude", "git push", env=hugo)[0] == ""
    assert verdict(crew, "claude", "rm x", env=hugo)[0] == "deny"


def test_an_agent_is_known_by_its_session_whatever_name_a_file_gives_it(crew, policy, room):
    add_member(room, "crew", Member("hugo", backend="human"))
    update_member(room, "crew", "bob", {"sessionId": "s"})
    policy(rules(DENY_RM, default="deny") + '\n[core]\nidentity = "hugo"\ndefault_team = "crew"\n')
    assert verdict(crew, "claude", "git push", env={})[0] == "deny"


def test_a_broken_file_of_the_repository_is_a_no_for_who_is_known_by_its_session(crew, policy, room):
    update_member(room, "crew", "bob", {"sessionId": "s"})
    (crew.folder / ".atm.toml").write_text("x = =\n")
    assert verdict(crew, "claude", "make", env={})[0] == "deny"


def test_a_file_further_down_takes_back_nothing_that_the_repository_denies(crew, policy):
    policy(rules(default="allow"))
    (crew.folder / ".git").mkdir()
    (crew.folder / ".atm.toml").write_text(rules('decision = "deny"\ncommand = "make deploy*"'))
    (crew.folder / "sub").mkdir()
    (crew.folder / "sub/.atm.toml").write_text("")
    said = json.loads(payload(crew, "claude", "make deploy"))
    said["cwd"] = str(crew.folder / "sub")
    assert verdict(crew, "claude", "", stdin=json.dumps(said))[0] == "deny"


def test_a_variable_that_says_that_a_host_asks_says_nothing_where_none_does(crew, policy):
    """An agent's own children inherit it."""
    policy(rules(default="ask-human").replace("[approvals]", "[approvals]\nhook_seconds = 0"))
    assert verdict(crew, "gemini", "git push", env={**BOB, "ATM_HOST_ASKS": "1"})[0] == "deny"


def test_without_a_policy_there_is_no_opinion(crew):
    assert verdict(crew, "claude", "git push")[0] == ""


def test_a_vendor_that_nobody_knows_is_denied_by_the_exit_code(crew, policy):
    said = payload(crew, "claude", "rm x")
    assert crew("permit", "somebody", "PreToolUse", stdin=said, env=BOB, code=2).out == ""
    assert crew("permit", code=2).out == ""
    assert crew("permit", "claude", code=2).out == ""


@VENDORS
def test_a_store_that_cannot_be_used_is_a_no(crew, policy, vendor, layout):
    policy(SHORT)
    folder = Path(layout.approvals("crew"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("x")
    assert verdict(crew, vendor, "git push")[0] == "deny"
    assert verdict(crew, vendor, "rm x")[0] == "deny"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_a_store_that_may_not_be_read_is_a_no(crew, policy, layout):
    policy(SHORT)
    verdict(crew, "claude", "git push")
    folder = Path(layout.approvals("crew"))
    folder.chmod(0)
    try:
        assert verdict(crew, "claude", "git push")[0] == "deny"
    finally:
        folder.chmod(0o700)


def test_a_team_that_cannot_be_read_is_a_no(crew, policy, layout):
    Path(layout.team_config("crew")).write_text("{")
    assert verdict(crew, "claude", "make")[0] == "deny"


def test_the_answer_comes_within_the_hooks_seconds(crew, policy):
    policy(SHORT.replace("hook_seconds = 0", "hook_seconds = 1"))
    begun = time.monotonic()
    assert verdict(crew, "claude", "git push")[0] == "deny"
    assert 1.0 <= time.monotonic() - begun < 10.0


def test_the_repositorys_file_is_that_of_the_agents_folder(crew, policy):
    (crew.folder / ".git").mkdir()
    (crew.folder / ".atm.toml").write_text(rules('decision = "deny"\ncommand = "make *"'))
    said = payload(crew, "claude", "make")
    done = crew("permit", "claude", "PreToolUse", stdin=said, env=BOB, cwd=crew.home)
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


@VENDORS
def test_a_yes_for_a_line_runs_nothing_else(crew, policy, vendor, quickly):
    """With all that stands before it: what a person saw is what runs."""
    policy(rules(default="ask-human").replace("[approvals]", "[approvals]\nhook_seconds = 0"))
    assert verdict(crew, vendor, "make one")[0] == "deny"
    (one,) = json.loads(quickly("approvals", "list", "--json").out)["approvals"]
    assert quickly("approvals", "approve", one["id"], "--as", "human").code == 0
    evil = "BASH_ENV=./evil.sh bash -c 'make one'"
    assert verdict(crew, vendor, evil)[0] == "deny"
    assert verdict(crew, vendor, "bash -c 'make one'")[0] == "deny"
    asked = [one["command"] for one in json.loads(quickly("approvals", "list", "--json").out)["approvals"]]
    assert sorted(asked) == sorted([evil, "bash -c 'make one'"])
    assert verdict(crew, vendor, "make one")[0] == ("" if vendor == "codex" else "allow")


@VENDORS
def test_a_field_beside_the_command_is_never_judged_in_its_place(crew, policy, vendor):
    policy(
        rules('decision = "allow"\ncommand = "ls*"', default="ask-human").replace(
            "[approvals]", "[approvals]\nhook_seconds = 0"
        )
    )
    said = json.loads(payload(crew, vendor, "git push origin main"))
    said["tool_input"]["rawInput"] = {"command": "ls"}
    no, why = verdict(crew, vendor, "", stdin=json.dumps(said))
    assert no == "deny"
    assert "Nobody has answered" in why
    said["tool_input"] = {"command": "ls", "rawInput": {"command": "git push origin main"}}
    assert verdict(crew, vendor, "", stdin=json.dumps(said))[0] == "deny"


@VENDORS
def test_a_key_that_stands_there_twice_is_asked_for(crew, policy, vendor):
    policy(rules(ALLOW_MAKE, default="ask-human").replace("[approvals]", "[approvals]\nhook_seconds = 0"))
    said = payload(crew, vendor, "make test")
    assert verdict(crew, vendor, "", stdin=said)[0] == ("" if vendor == "codex" else "allow")
    twice = said.replace('"command": ', '"command": "git push", "command": ')
    assert verdict(crew, vendor, "", stdin=twice)[0] == "deny"
