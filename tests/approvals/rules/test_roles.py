"""Who must plan first only looks; a lead in delegate mode only looks and coordinates."""

from __future__ import annotations

import pytest

from atm.approvals.rules.act import CallPlace
from atm.approvals.rules.calls import AgentCall, understand
from atm.approvals.rules.roles import DELEGATES, PLANS, refusal

WORK = "/home/u/w"


def refused(tool: str, command: str = "", path: str = "", role: str = PLANS) -> str:
    call = AgentCall(tool, command=command, folder=WORK, paths=[path] if path else [])
    return refusal(understand(call, CallPlace(WORK)), role)


@pytest.mark.parametrize("role", [PLANS, DELEGATES])
@pytest.mark.parametrize(
    "line",
    [
        *("ls -la", "cat a b", "cd sub && ls"),
        *("grep -rn x src | sort | uniq -c | head", "find . -name '*.py'", "wc -l x"),
        *("git status", "git log --oneline -3", "git diff HEAD~1", "git show x", "git grep x"),
        *("sort -u x", "tree -L 2", "rg x", "atm tasks list", "atm send ann hello", "ls 2>/dev/null", "timeout 5 ls"),
    ],
)
def test_looking_and_coordinating_is_for_everybody(line, role):
    assert refused("Bash", line, role=role) == ""


@pytest.mark.parametrize("role", [PLANS, DELEGATES])
@pytest.mark.parametrize(
    "line",
    [
        *("touch x", "make", "rm x", "ls > x", "cat a >> b"),
        *("git commit -m x", "git push", "git checkout x", "sed -i p x"),
        *("ls; make", "ls && rm x", "echo $x", "sh x.sh", "python x.py", "curl x", "./ls", "tee x", "git statusx"),
        *("sort -o x y", "sort -uo x y", "sort --output=x y", "uniq a b", "tree -o x", "rg --pre=sh x", "file -C -m x"),
        *("git diff --output=x", "git log --outp x", "git grep -Osh x", "find . -delete", "find . -fprint x"),
        *("find . -exec rm {} +", "atm tasks list > x", "atm; make", "/tmp/atm x", "cat <<E\nx\nE"),
    ],
)
def test_whatever_could_change_something_is_not(line, role):
    assert refused("Bash", line, role=role)


@pytest.mark.parametrize(
    "tool", ["Write", "Edit", "MultiEdit", "apply_patch", "replace", "write_file", "delete", "deploy"]
)
def test_no_tool_that_writes_is_for_them(tool):
    assert refused(tool, path="a")


@pytest.mark.parametrize(
    "tool",
    ["Read", "read_file", "Grep", "LS", "Task", "TodoWrite", "ExitPlanMode", "mcp__atm__send", "AskUserQuestion"],
)
def test_tools_that_look_ask_or_coordinate_are(tool):
    assert refused(tool) == ""


def test_a_tool_of_another_server_is_not_ours_by_a_name_that_looks_like_ours():
    assert refused("mcp__atmx__write")
    assert refused("mcp__x__mcp__atm__send")


def test_the_refusal_says_what_to_do_instead():
    assert "atm tasks plan submit" in refused("Write", path="a")
    assert "give this to a teammate" in refused("Write", path="a", role=DELEGATES)
