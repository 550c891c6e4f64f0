"""`atm approvals` as the contract says it: words, exit codes and JSON."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.attacks.shells import refused, under

PUSH = ("--tool", "Bash", "--command", "git push origin main")
BOB = ("--as", "bob", "--team", "crew")
FIELDS = {
    *("id", "team", "requester", "tier", "operation", "tool", "command", "folder", "paths", "diff", "task", "asked_at"),
    *("expires_at", "state", "decided_by", "decided_at", "reason", "rule", "used_at"),
}


@pytest.fixture
def approvals(room, quickly):
    """`atm approvals … --json` in this process; its exit code is checked."""

    def run(*words: str, code: int | None = 0) -> Any:
        done = quickly("approvals", *words, "--json")
        assert code in (None, done.code), done
        return done.json

    return run


@pytest.fixture
def asked(approvals) -> str:
    id: str = approvals("ask", *PUSH, *BOB, code=3)["approval"]["id"]
    return id


def write_policy(home: Path, text: str) -> None:
    path = home / ".config/atm/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def rules(*said: str, default: str = "") -> str:
    head = f'[approvals]\ndefault = "{default}"\n' if default else ""
    return head + "\n".join(f"[[approvals.rules]]\n{one}" for one in said)


DENY_RM = 'decision = "deny"\ncommand = "rm *"'
ALLOW_MAKE = 'decision = "allow"\ncommand = "make *"'
LEAD_COMMITS = 'decision = "ask-lead"\ncommand = "git commit *"'


def test_nothing_waits_at_first(approvals):
    assert approvals("list", code=3) == {"action": "approvals list", "approvals": []}
    assert approvals(code=3)["approvals"] == []


def test_a_request_is_listed_and_shown_with_every_field_of_the_contract(approvals, asked, atm):
    (listed,) = approvals("list")["approvals"]
    shown = approvals("show", asked[:5])
    assert shown["action"] == "approvals show"
    assert shown["approval"] == listed
    assert set(listed) >= FIELDS
    assert {key: listed[key] for key in ("team", "requester", "tier", "operation", "tool", "command", "state")} == {
        "team": "crew",
        "requester": "bob",
        "tier": "human",
        "operation": "git_push",
        "tool": "Bash",
        "command": "git push origin main",
        "state": "waiting",
    }
    assert (listed["folder"], listed["decided_by"], listed["used_at"]) == (str(atm.folder), None, None)


def test_a_yes_is_used_by_the_next_one_who_asks_and_then_used_up(approvals, asked):
    done = approvals("approve", asked, "--as", "human", "--note", "fine")
    assert (done["action"], done["approval"]["state"], done["approval"]["decided_by"]) == (
        *("approvals approve", "approved", "human"),
    )
    used = approvals("ask", *PUSH, *BOB)["approval"]
    assert (used["id"], used["state"], used["used_at"] is not None) == (asked, "approved", True)
    assert approvals("ask", *PUSH, *BOB, code=3)["approval"]["id"] != asked


def test_a_no_needs_a_reason_and_is_a_no_for_whoever_asks_again(approvals, asked, quickly):
    assert quickly("approvals", "deny", asked, "--as", "human").code == 1
    assert approvals("deny", asked, "--reason", "later", "--as", "human")["approval"]["state"] == "denied"
    again = approvals("ask", *PUSH, *BOB, code=1)["approval"]
    assert (again["id"], again["reason"]) == (asked, "later")


def test_the_first_answer_counts(approvals, asked):
    approvals("deny", asked, "--reason", "no", "--as", "human")
    error = approvals("approve", asked, "--as", "human", code=1)["error"]
    assert error["code"] == "approval-closed"
    assert approvals("list", "--all")["approvals"][0]["state"] == "denied"


@pytest.mark.parametrize("who", ["bob", "ann", "team-lead"])
def test_only_a_person_answers_what_is_for_a_person(approvals, asked, who):
    assert approvals("approve", asked, "--as", who, code=1)["error"]["code"] == "not-allowed"
    assert approvals("list")["approvals"][0]["state"] == "waiting"


def test_the_lead_answers_what_is_for_the_lead(approvals, atm):
    write_policy(atm.home, rules(LEAD_COMMITS, default="allow"))
    words = ("ask", "--tool", "Bash", "--command", "git commit -m x", *BOB)
    id = approvals(*words, code=3)["approval"]["id"]
    assert approvals("approve", id, "--as", "ann", code=1)["error"]["code"] == "not-allowed"
    assert approvals("approve", id, "--as", "team-lead")["approval"]["decided_by"] == "team-lead"


def test_there_is_no_such_request(approvals):
    for verb in (["show", "x"], ["approve", "x", "--as", "human"], ["deny", "x", "--reason", "y", "--as", "human"]):
        assert approvals(*verb, code=1)["error"]["code"] == "no-such-approval"


def test_a_request_whose_time_is_over_is_denied(approvals):
    words = ("ask", *PUSH, *BOB, "--minutes", "0")
    assert approvals(*words, code=1)["approval"]["state"] == "expired"
    (one,) = approvals("list", "--all")["approvals"]
    assert approvals("approve", one["id"], "--as", "human", code=1)["error"]["code"] == "approval-closed"


def test_whoever_waits_hears_the_answer(approvals, crew, eventually):
    write_policy(crew.home, "[daemon]\nautostart = false\n")
    heard: list[Any] = []
    words = ("approvals", "ask", *PUSH, *BOB, "--wait", "60", "--json")
    thread = threading.Thread(target=lambda: heard.append(crew(*words, code=0).json))
    thread.start()
    eventually(lambda: approvals("list", code=None)["approvals"], 60)
    approvals("approve", approvals("list")["approvals"][0]["id"], "--as", "human")
    thread.join(60)
    assert [one["approval"]["state"] for one in heard] == ["approved"]


def test_the_audit_is_told_with_all(approvals, asked):
    approvals("approve", asked, "--as", "human")
    audit = approvals("list", "--all")["audit"]
    assert [line["event"] for line in audit] == ["asked", "left", "approved"]
    assert set(audit[0]) >= {"at", "id", "event", "by", "how", "pid", "rule", "reason"}


def test_people_see_the_exact_command(asked, quickly):
    said = quickly("approvals", "show", asked)
    assert "git push origin main" in said.out
    assert "no answer means no" in said.out
    assert asked in quickly("approvals").out


# Person rule P.


def test_an_agent_is_no_person_whatever_name_it_gives(crew, asked):
    message = refused(under(crew, "bob", "approvals", "approve", asked, "--as", "human", "--json"))
    assert "bob" in message
    assert json.loads(crew("approvals", "list", "--json").out)["approvals"][0]["state"] == "waiting"


def test_a_teammate_is_not_the_lead_whatever_name_it_gives(crew, approvals):
    write_policy(crew.home, rules(LEAD_COMMITS, default="allow"))
    id = approvals("ask", "--tool", "Bash", "--command", "git commit", *BOB, code=3)["approval"]["id"]
    refused(under(crew, "ann", "approvals", "approve", id, "--as", "team-lead", "--json"))
    assert approvals("show", id)["approval"]["state"] == "waiting"


# Policy.


@pytest.mark.parametrize(
    ("command", "code", "decision", "tier"),
    [
        ("make test", 0, "allow", None),
        ("rm x", 1, "deny", None),
        ("git commit -m x", 3, "ask", "lead"),
        ("git push", 3, "ask", "human"),
        ("make $x", 3, "ask", "human"),
        ("rm $x", 1, "deny", None),
    ],
)
def test_policy_test_says_what_would_happen(approvals, atm, command, code, decision, tier):
    write_policy(atm.home, rules(DENY_RM, ALLOW_MAKE, LEAD_COMMITS, default="ask-human"))
    said = approvals("policy", "test", "--tool", "Bash", "--command", command, code=code)
    assert (said["action"], said["decision"], said["tier"]) == ("approvals policy test", decision, tier)
    assert {"rule", "chain"} <= set(said)
    assert approvals("list", "--all", code=3)["approvals"] == []


def test_policy_explain_shows_rules_and_their_order(approvals, atm, quickly):
    assert approvals("policy", "explain")["exists"] is False
    write_policy(atm.home, rules(DENY_RM, default="allow"))
    said = approvals("policy", "explain")
    assert said["order"] == ["deny", "ask-human", "ask-lead", "allow"]
    assert [rule["text"] for rule in said["layers"][0]["rules"]] == ["deny: command = rm *"]
    assert "deny: command = rm *" in quickly("approvals", "policy", "explain").out


def test_policy_explain_of_a_request_has_its_audit(approvals, asked):
    said = approvals("policy", "explain", asked)
    assert (said["approval"]["id"], [line["event"] for line in said["audit"]]) == (asked, ["asked", "left"])


@pytest.fixture
def repository(atm) -> Path:
    (atm.folder / ".git").mkdir()
    return Path(atm.folder, ".atm.toml")


@pytest.mark.parametrize(
    ("theirs", "command", "code"),
    [
        (rules(DENY_RM), "rm x", 1),
        (rules('decision = "ask-human"\ncommand = "make *"'), "make", 3),
        (rules('decision = "allow"'), "curl x", 3),
        (rules('decision = "allow"\ncommand = "rm *"', default="allow"), "rm -rf /", 3),
        (rules(default="deny"), "make", 1),
        (rules(default="allow"), "ls", 3),
        (rules('decision = "maybe"'), "make", 1),
        (rules(ALLOW_MAKE), "make", 0),
    ],
    ids=repr,
)
def test_a_repositorys_file_narrows_at_once_and_never_widens(approvals, atm, repository, theirs, command, code):
    write_policy(atm.home, rules(ALLOW_MAKE, default="ask-human"))
    repository.write_text(theirs)
    approvals("policy", "test", "--tool", "Bash", "--command", command, code=code)


@pytest.mark.parametrize("theirs", [rules(ALLOW_MAKE), rules(default="allow"), rules(DENY_RM)], ids=repr)
def test_a_repositorys_file_alone_approves_nothing(approvals, repository, theirs):
    repository.write_text(theirs)
    make = ("--tool", "Bash", "--command", "make")
    approvals("policy", "test", *make, code=3)
    assert approvals("ask", *make, *BOB, code=3)["approval"]["state"] == "waiting"


def test_a_file_that_the_environment_names_widens_nothing_either(approvals, atm):
    write_policy(atm.home, rules(default="deny"))
    other = atm.home / "other.toml"
    other.write_text(rules(default="allow"))
    atm.environment["ATM_CONFIG"] = str(other)
    approvals("policy", "test", "--tool", "Bash", "--command", "make", code=1)


def test_a_rule_that_is_none_is_a_no_for_whoever_asks(approvals, atm):
    write_policy(atm.home, rules(ALLOW_MAKE, 'decision = "deny"\ncomand = "x"'))
    approvals("policy", "test", "--tool", "Bash", "--command", "make", code=1)
    assert approvals("ask", "--tool", "Bash", "--command", "make", *BOB, code=1)["approval"]["state"] == "denied"


def test_every_file_is_where_the_contract_says_and_private(asked, atm, layout):
    folder = Path(layout.approvals("crew"))
    assert {path.name for path in folder.iterdir()} >= {f"{asked}.json", "audit.jsonl"}
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir() if path.is_file()} == {"0o600"}
