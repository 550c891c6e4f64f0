"""Rules as they stand in settings: one mistake, and nothing of the file can be relied on."""

from __future__ import annotations

from typing import Any

import pytest

from atm.approvals.formats.rules import DEFAULT, MOST_RULES, RULES, read_layer
from atm.approvals.rules.policy import DECISIONS
from atm.files.formats.settings_text import read_settings


def layer(default: Any = "", *tables: Any) -> Any:
    return read_layer("config.toml", {DEFAULT: default, RULES: list(tables)})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"decision": "allow"}, "allow: everything"),
        ({"decision": "deny", "tool": "Bash"}, "deny: tool = Bash"),
        ({"decision": "ask-lead", "command": ["a", "b *"]}, "ask-lead: command = a | b *"),
        (
            {"decision": "ask-human", "operation": "git_push", "branch": "main"},
            "ask-human: branch = main, operation = git_push",
        ),
        ({"decision": "deny", "path": ["~/.ssh/**"]}, "deny: path = ~/.ssh/**"),
    ],
    ids=str,
)
def test_a_rule_is_a_decision_and_what_it_is_about(table, text):
    (rule,) = layer("", table).rules
    assert (rule.text, rule.file, rule.number) == (text, "config.toml", 1)


@pytest.mark.parametrize("default", ["", *DECISIONS])
def test_a_default_is_a_decision(default):
    read = layer(default)
    assert (read.default, read.unreadable) == (default, "")


@pytest.mark.parametrize(
    "table",
    [
        *({}, {"tool": "Bash"}, {"decision": "Allow"}),
        *({"decision": "ask"}, {"decision": ["allow"]}, {"decision": True}),
        *({"decision": "allow", "tool": ""}, {"decision": "allow", "tool": []}, {"decision": "allow", "tool": 3}),
        *({"decision": "allow", "tool": ["a", ""]}, {"decision": "allow", "command": ["a", 3]}, "allow", ["allow"]),
        *({"decision": "allow", "comand": "x"}, {"decision": "deny", "operation": "push"}),
        *({"decision": "deny", "Tool": "x"},),
        *({"decision": "deny", "operation": ["git_push", "x"]}, {"decision": "deny", "path": {}}),
    ],
    ids=str,
)
def test_one_rule_that_is_none_makes_the_whole_file_deny(table):
    fine = {"decision": "allow"}
    read = layer("allow", fine, table)
    assert "rule 2 of config.toml" in read.unreadable
    assert (read.rules, read.default, read.says_something) == ([], "", True)


@pytest.mark.parametrize("said", [{DEFAULT: "yes"}, {DEFAULT: 3}, {RULES: "deny"}, {RULES: {}}, {RULES: 1}])
def test_what_is_no_policy_denies_too(said):
    assert read_layer("config.toml", said).unreadable


def test_there_may_be_a_thousand_rules_and_not_one_more():
    assert not layer("", *[{"decision": "deny"}] * MOST_RULES).unreadable
    assert layer("", *[{"decision": "deny"}] * (MOST_RULES + 1)).unreadable


def test_nothing_said_is_no_policy():
    assert not read_layer("config.toml", {}).says_something


def test_rules_are_read_as_people_write_them():
    text = (
        '[approvals]\ndefault = "allow"\n\n[[approvals.rules]]\ndecision = "deny"\ncommand = ["git push *", "rm *"]\n'
    )
    table = read_settings(text)["approvals"]
    assert isinstance(table, dict)
    read = read_layer("x", {f"approvals.{key}": value for key, value in table.items()})
    assert ([rule.text for rule in read.rules], read.default) == (["deny: command = git push * | rm *"], "allow")
