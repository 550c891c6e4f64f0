"""Doctor names rules that allow less than their text seems to say, and no others."""

from __future__ import annotations

import pytest

from atm.approvals.rules.allowing import why_narrower
from atm.approvals.rules.policy import ALLOW, DENY, Policy, PolicyLayer, Rule
from atm.checkup.services.findings import Finding
from atm.checkup.services.policies import examine_policy


@pytest.mark.parametrize(
    "pattern",
    [
        *("make test", "git diff *", "git *", "ls*", "cargo test *", "npm test", "atm send *", "deploy staging"),
        *("./gradlew test", "bash -c *", "pytest *"),
    ],
)
def test_a_pattern_that_allows_what_it_says_is_not_narrow(pattern):
    assert why_narrower(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("*", "names no program"),
        ("g*t status", "its first word is a pattern"),
        ("deploy *", "the options of deploy are not known"),
        ("./gradlew *", "the options of ./gradlew are not known"),
        ("CI=1 npm test", "begins with an assignment"),
        ("echo * > *", "a redirection or an operator"),
        ("git frobnicate *", "the options of git are not known"),
    ],
)
def test_a_pattern_that_allows_less_says_why(pattern, why):
    assert why in why_narrower(pattern)


def test_only_rules_that_allow_are_examined_each_of_their_patterns():
    own = PolicyLayer(
        "mine", [Rule(ALLOW, {"command": ["make test", "x *"]}, "mine", 1), Rule(DENY, {"command": ["y *"]}, "mine", 2)]
    )
    *findings, said = examine_policy(Policy(own))
    assert [(one.code, one.subject) for one in findings if isinstance(one, Finding)] == [("narrow-rule", "x *")]
    assert said == "2 rules; none allows a wrapper, so lines with timeout or bash -c are asked for"


def test_a_policy_that_allows_wrappers_and_no_policy_at_all_have_nothing_to_be_told():
    wrappers = PolicyLayer("mine", [Rule(ALLOW, {"grammar": ["timeout DURATION COMMAND"]}, "mine", 1)])
    assert [*examine_policy(Policy(wrappers))] == ["1 rules"]
    assert [*examine_policy(Policy(PolicyLayer("")))] == ["no policy: agents ask by the rules of their own programs"]
