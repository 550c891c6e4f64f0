"""What to do next is said in tools where tools are used, and a tool that became part of another says which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mcp.crew import Crew

from atm.core.errors import AtmError
from atm.ui.mcp.catalog import MOVED, all_tools, find_tool, moved, tools_for
from atm.ui.mcp.serving.remedies import TOOLS, in_tools

SOURCE = Path(__file__).parents[2] / "src" / "atm"
ADVISING = (
    *("core", "*/rules", "*/rules.py", "board/services", "mail/services", "team/services", "approvals/services"),
    "worksync/services",
)

OF_THE_SHELL = (
    *("doctor", "cleanup", "teams", "config", "spool", "runtimes", "down"),
    *("session", "logs", "daemon", "tasks allow", "trust", "prime", "init", "run", "mcp"),
    *("sync metrics", "sync diagnose"),
)
"""Commands that no tool replaces: a person's, or about this machine."""


@pytest.fixture
def crew(layout) -> Crew:
    made = Crew(layout)
    made.add()
    return made


def advice() -> Iterator[str]:
    """Every command between backticks in the layers that advise."""
    for place in sorted(place for pattern in ADVISING for place in SOURCE.glob(pattern)):
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.JoinedStr):
                    said = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
                    yield from re.findall(r"`atm [a-z][^`]*`", said)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                    yield from re.findall(r"`atm [a-z][^`]*`", node.value)


def test_every_advice_is_a_tool_or_a_command_that_only_a_shell_can_run():
    found = dict.fromkeys(advice())
    assert len(found) > 20, "the look at the source finds them"
    stays = {command for command in found if "atm " in in_tools(command, None, "lead")}
    assert stays == {command for command in found if command[5:].startswith(OF_THE_SHELL)}


def test_every_tool_that_is_advised_is_there():
    assert {named.partition(" ")[0] for named in TOOLS.values()} <= {tool.name for tool in all_tools()}


@pytest.mark.parametrize(
    ("said", "reworded"),
    [
        ("claim it first: `atm tasks claim 7`", "claim it first: board_claim with id 7"),
        ("`atm tasks review request 7 --reviewer ann`", "review_request with id 7 and reviewer ann"),
        ("begin: `atm tasks start 7`", "begin: board_claim with id 7"),
        ("`atm tasks review start 7`", "board_claim with review and id 7"),
        ("see `atm tasks history 7`", "see board_show with part history and id 7"),
        ("`atm tasks reopen 7`", "board_reopen with id 7 (for the lead and humans)"),
        ("see `atm doctor`", "see `atm doctor`"),
        ("run there: atm tasks complete 7 --as bob", "run there: atm tasks complete 7 --as bob"),
        ("say `atm tasks 'half", "say `atm tasks 'half"),
        ("say what is wrong, with --note", "say what is wrong, with note"),
        ("send it with --file", "send it with `--file` of the command line"),
    ],
)
def test_advice_in_the_words_of_tools(said, reworded):
    assert in_tools(said, find_tool("teammate", "review_changes"), "teammate") == reworded


def test_errors_of_tools_name_tools(crew):
    assert crew.refused("ann", "board_show", id=99).remedy == "see board_list"
    assert crew.refused("ann", "board_complete", id=1).remedy == "claim it first: board_claim with id 1"
    assert crew.refused("ann", "review_approve", id=1).remedy == "ask for one: review_request with id 1"
    needs = crew.refused("ann", "mail_send", to="bob", text="x", type="status_update")
    assert needs.remedy == "give it with meta state=VALUE"


def test_a_shell_is_told_commands(atm, crew):
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    assert "`atm tasks list`" in atm("tasks", "show", "99", "--team", "crew", "--json", code=None).out


# Tools that became part of others.


@pytest.mark.parametrize("name", MOVED)
def test_a_former_name_says_which_tool_it_is_now(name):
    new, _ = MOVED[name]
    assert find_tool("teammate", name) is None
    error = moved("teammate", name)
    assert isinstance(error, AtmError)
    assert (error.code, str(error)) == ("tool-moved", f"{name} is part of {new} now")
    assert error.remedy.startswith(f"call {new}: ")


def test_whoever_never_had_a_tool_is_not_told_where_it_went():
    assert moved("observer", "mail_receipts") is None
    assert moved("teammate", "nonsense") is None
    assert moved("nobody", "whoami") is None


def test_a_teammate_has_28_tools_and_the_lead_eight_more():
    assert (len(tools_for("teammate")), len(tools_for("lead")), len(tools_for("observer"))) == (28, 36, 5)


# Names that stand for others.


def test_lead_is_the_lead_wherever_a_member_is_named(crew):
    assert crew.call("ann", "mail_send", to="lead", text="x")["to"] == "lena@crew"
    assert crew.call("ann", "mail_request", to="Lead", text="x", wait_seconds=0)["answered"] is False
    assert crew.call("lena", "board_assign", id=1, to="lead")["task"]["owner"] == "lena"
    added = crew.call("lena", "board_add", subject="s", owner="lead", reviewer="lead")
    assert (added["task"]["owner"], added.get("warnings")) == ("lena", None)
    assert crew.call("ann", "board_list", owner="lead")["matching"] == 2
    crew.call("bob", "board_claim", id=crew.add("Third"))
    assert crew.call("bob", "review_request", id=3, reviewer="lead")["task"]["reviewer"] == "lena"
    assert crew.call("hugo", "mail_inbox", member="lead")["member"] == "lena"
    assert crew.call("ann", "member_work_sync_status", member="lead")["member"] == "lena"
    crew.call("lena", "mail_send", to="ann", text="from the lead")
    assert crew.call("ann", "mail_read", sender="lead")["messages"][0]["text"] == "from the lead"


def test_a_plan_may_name_the_lead(crew):
    crew.call("lena", "board_import", plan="- [ ] Look at it (owner: lead)")
    assert crew.call("ann", "board_show", id=2)["task"]["owner"] == "lena"


@pytest.mark.parametrize("to", ["*", "*@crew"])
def test_a_star_is_everybody_else(crew, to):
    done = crew.call("ann", "mail_send", to=to, text="hello")
    assert (done["to"], done["outcome"], done["delivered"]) == (to, "success", 3)


def test_a_star_is_nobody_in_particular(crew):
    for tool, more in (
        ("mail_request", {"to": "*", "text": "x"}),
        ("board_assign", {"id": 1, "to": "*"}),
        ("board_add", {"subject": "x", "owner": "*"}),
        ("board_add", {"subject": "x", "reviewer": "*"}),
        ("mail_send", {"to": "*@", "text": "x"}),
    ):
        assert crew.refused("lena", tool, **more).code in ("bad-name", "bad-request"), tool


# Ids.


def test_ids_may_be_numbers(crew):
    assert crew.call("ann", "board_claim", id=1)["task"]["id"] == "1"
    assert crew.call("ann", "board_depend", id=1, on=[int(crew.add("Second"))])["task"]["blocked_by"] == ["2"]
    assert crew.call("ann", "board_show", id=2.0)["id"] == "2"
    seen = crew.call("ann", "task_briefing")["workSync"]
    said = {"from": "ann", "agendaFingerprint": seen["agendaFingerprint"], "state": "still_working", "taskIds": [1]}
    assert crew.call("ann", "member_work_sync_report", **said)["ok"] is True


@pytest.mark.parametrize(
    "id", [True, 1.5, 10**5000, -1, 0, [1], {"id": 1}, "9" * 100_000, "1" * 4301], ids=lambda _: "odd"
)
def test_what_is_no_id_is_refused(crew, id):
    assert crew.refused("ann", "board_show", id=id).code in ("usage", "bad-task", "no-such-task")


def test_a_report_needs_no_token_where_the_connection_proves_who_reports(crew):
    crew.call("ann", "board_claim", id=1)
    seen = crew.call("ann", "task_briefing")["workSync"]
    said = {"from": "ann", "agendaFingerprint": seen["agendaFingerprint"], "state": "still_working", "taskIds": [1]}
    accepted = crew.call("ann", "member_work_sync_report", **said)
    assert (accepted["ok"], "leaseExpiresAt" in accepted) == (True, True)
    stranger = crew.call("bob", "member_work_sync_report", **said)
    assert (stranger["ok"], stranger["reason"]) == (False, "identity_mismatch")
    forged = crew.call("ann", "member_work_sync_report", **said, reportToken="wrs:v1.x.y")
    assert (forged["ok"], forged["reason"]) == (False, "invalid_report_token")


def test_a_blocker_is_named_by_the_id_that_board_show_gives(crew):
    crew.call("ann", "board_claim", id=1)
    made = crew.call("ann", "board_comment", id=1, text="the API is down")["comment_id"]
    task = crew.call("ann", "board_show", id=1)["task"]
    assert [one["id"] for one in task["comments"]] == [made]
    assert made in crew.call("ann", "board_show", id=1, part="comments")["text"]
    seen = crew.call("ann", "task_briefing")["workSync"]
    said = {"from": "ann", "agendaFingerprint": seen["agendaFingerprint"], "state": "blocked", "taskIds": ["1"]}
    assert crew.call("ann", "member_work_sync_report", **said, blockerCommentId=made)["ok"] is True
