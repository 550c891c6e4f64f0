"""What `docs/how-to-approvals.md` promises, as a person and their agents meet it on the command line."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest
from tests.proving import proves

POLICY = """
[daemon]
autostart = false

[approvals]
default = "allow"
hook_seconds = 0

[[approvals.rules]]
decision = "ask-lead"
command = "git commit *"

[[approvals.rules]]
decision = "allow"
command = "make *"
"""
WITH_ATM = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
BOB, ANN = ({"ATM_IDENTITY": name, "ATM_TEAM": "crew", "PATH": WITH_ATM} for name in ("bob", "ann"))


@pytest.fixture
def led(atm):
    """A team that ann leads, and a policy."""
    settings(atm, POLICY)
    atm("teams", "create", "crew", "--lead", "ann", env={"ATM_IDENTITY": "ann"})
    atm("teams", "add-member", "crew", "bob")
    return atm


def settings(atm: Any, text: str) -> None:
    path = atm.home / ".config/atm/config.toml"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)


def verdict_on(atm: Any, command: str) -> tuple[str, str | None, str]:
    said = atm("approvals", "policy", "test", "--tool", "Bash", "--command", command, "--json", code=None).json
    return said["decision"], said["tier"], said["operation"]


def permit(atm: Any, env: dict[str, str], tool: str, **given: str) -> dict[str, str]:
    call = {"session_id": "s", "cwd": str(atm.folder), "tool_name": tool, "tool_input": given, "tool_use_id": "t"}
    said = atm("permit", "claude", "PreToolUse", stdin=json.dumps(call), env=env).out
    answer: dict[str, str] = json.loads(said)["hookSpecificOutput"] if said else {}
    return answer


@proves("R000-permission-cascade-01", "R000-permission-cascade-06")
def test_a_request_goes_to_the_tier_that_may_grant_it(led):
    assert verdict_on(led, "make test")[:2] == ("allow", None)
    assert verdict_on(led, "git commit -m x")[:2] == ("ask", "lead")
    assert verdict_on(led, "git commit -m x && git push origin topic")[:2] == ("ask", "human")
    for command, who in (("git commit -m x", "ann"), ("git push origin topic", "human")):
        asked = ("approvals", "ask", "--tool", "Bash", "--command", command, "--json")
        id = led(*asked, env=BOB, code=3).json["approval"]["id"]
        led("approvals", "approve", id, "--as", "bob", code=1)
        if who == "human":
            led("approvals", "approve", id, "--as", "ann", code=1)
        led("approvals", "approve", id, "--as", who)
        assert led(*asked, env=BOB).json["approval"]["decided_by"] == who


@proves("R000-permission-cascade-02", "R000-permission-cascade-03")
def test_a_push_is_for_a_person_whatever_is_allowed(led):
    assert verdict_on(led, "git push origin topic") == ("ask", "human", "git_push")
    assert verdict_on(led, "sh -c 'git -C . push'") == ("ask", "human", "git_push")


@proves("R000-permission-cascade-02", "R000-permission-cascade-04")
def test_a_deletion_outside_of_the_worktree_is_for_a_person(led):
    assert verdict_on(led, "rm -rf /opt/data") == ("ask", "human", "delete")
    assert verdict_on(led, "find /opt/data -delete") == ("ask", "human", "delete")
    assert verdict_on(led, "rm -rf build") == ("allow", None, "delete")


@proves("R000-permission-cascade-02", "R000-permission-cascade-05")
def test_a_call_to_another_machine_is_for_a_person(led):
    assert verdict_on(led, "curl https://example.com") == ("ask", "human", "network")
    assert verdict_on(led, "claude -p hello") == ("ask", "human", "spend")
    said = led("approvals", "policy", "test", "--tool", "WebFetch", "--command", "https://example.com", code=3).out
    assert said.startswith("the human is asked (network)")


@proves("R000-approval-ui-01", "R000-approval-ui-02")
def test_the_dialog_shows_everything_blocks_nobody_and_goes_on_when_it_is_opened_again(led, on_terminal):
    """What the popup in tmux runs."""
    ids = []
    for branch in ("one", "two"):
        asked = ("approvals", "ask", "--tool", "Bash", "--command", f"git push origin {branch}", "--json")
        ids.append(led(*asked, env=BOB, code=3).json["approval"]["id"])
    dialog = on_terminal("approvals", "review")
    shown = dialog.read_until(lambda text: "quit? " in text)
    for words in ("(1 of 2)", ids[0], "bob in crew", str(led.folder), "git push origin one", "no answer means no"):
        assert words in shown
    led("send", "bob", "while it is open", "--from", "ann")
    led("tasks", "add", "Something")
    led("approvals", "deny", ids[1], "--reason", "later")
    dialog.type("quit\n")
    dialog.read_until(lambda _: False)
    again = on_terminal("approvals", "review")
    assert "(1 of 1)" in again.read_until(lambda text: "quit? " in text)
    again.type("approve\n")
    again.read_until(lambda _: False)
    state = led("approvals", "show", ids[0], "--json").json["approval"]
    assert (state["state"], state["decided_by"]) == ("approved", "human")


REFUSED = "you lead in delegate mode"


@proves("R004-target-16", "R004-current-state-10", "R004-gap-p2-03", "R004-gap-p2-04", "R004-orchestration-O2")
@proves("R004-orchestration-O2b", "R004-orchestration-O2c", "R004-orchestration-O2d", "R004-files-11")
def test_a_lead_in_delegate_mode_coordinates_and_changes_nothing(led):
    edit, build = ("Write", {"file_path": "a.py", "content": "x"}), ("Bash", {"command": "make"})
    for tool, given in (edit, build):  # off by default
        assert permit(led, ANN, tool, **given)["permissionDecision"] == "allow"
    led("teams", "update-member", "crew", "ann", "--delegate", "on")
    for tool, given in (edit, build):
        said = permit(led, ANN, tool, **given)
        assert said["permissionDecision"] == "deny"
        assert REFUSED in said["permissionDecisionReason"]
        assert permit(led, BOB, tool, **given)["permissionDecision"] == "allow"
    for command in ("atm send bob hi", "atm tasks add x", "atm tasks plan approve 1", "atm down", "git status"):
        assert permit(led, ANN, "Bash", command=command)["permissionDecision"] == "allow"
    assert permit(led, ANN, "mcp__atm__board_add")["permissionDecision"] == "allow"
    assert REFUSED not in permit(led, ANN, "Bash", command="atm spawn claude:cat")["permissionDecisionReason"]
    led("teams", "update-member", "crew", "ann", "--delegate", "off")
    assert permit(led, ANN, *edit[:1], **edit[1])["permissionDecision"] == "allow"


def test_delegate_mode_can_be_a_setting(led):
    settings(led, POLICY + "\n[crew]\ndelegate = true\n")
    assert REFUSED in permit(led, ANN, "Bash", command="make")["permissionDecisionReason"]
    led("teams", "update-member", "crew", "ann", "--delegate", "off")
    assert permit(led, ANN, "Bash", command="make")["permissionDecision"] == "allow"


@proves("R004-orchestration-O5", "R004-orchestration-O5b")
def test_whoever_reviews_a_plan_is_asked_what_matters_and_says_yes_or_why_not(led):
    led("tasks", "add", "Change the schema", "--plan", "--files", "db/*.sql")
    led("tasks", "claim", env=BOB)
    led("tasks", "plan", "submit", "1", "--text", "Change db/one.sql and src/app.py", env=BOB)
    (letter,) = [row["text"] for row in led.rows("ann") if "plan that waits" in row["text"]]
    assert "does it do what the task asks for?" in letter
    assert "(db/*.sql): it names files that the task did not expect: src/app.py?" in letter
    assert "the right size" in letter
    led("tasks", "plan", "reject", "1", "--feedback", "why app.py?", env=ANN)
    assert "your plan was rejected: why app.py?" in led.rows("bob")[-1]["text"]
    led("tasks", "plan", "submit", "1", "--text", "Change db/one.sql", env=BOB)
    led("tasks", "plan", "approve", "1", env=ANN)
    assert "approved" in led.rows("bob")[-1]["text"]
