"""
Each call looks once: at the arguments, the roster, the inbox, the board; and it leaves one sign of life.

Counted over real files and a real server, at the adapters and not at their callers: whoever looks a second time on
another way is counted too.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.conftest import claim, run

from atm.board.adapters.task_folder import TaskFolder
from atm.mail.adapters.inbox_store import InboxStore
from atm.mail.formats.inbox import LARGEST_ROW
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.adapters.heartbeats import HeartbeatFiles
from atm.team.adapters.team_store import TeamStore
from atm.ui.cli.main import main
from atm.ui.mcp import schema
from atm.ui.mcp.serving.reception import Reception
from mcp import Client as Official

COUNTED = {
    "roster": (TeamStore, "load"),
    "sign of life": (HeartbeatFiles, "beat"),
    "board": (TaskFolder, "board"),
    "inbox, the unread": (InboxStore, "unread"),
    "inbox, all rows": (InboxStore, "rows"),
    "inbox, marking": (InboxStore, "claim_named"),
    "argument": (schema, "_checked"),
}


@pytest.fixture
def counts(monkeypatch) -> Counter[str]:
    made: Counter[str] = Counter()

    def watch(what: str, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*args: Any, **named: Any) -> Any:
            made[what] += 1
            return real(*args, **named)

        monkeypatch.setattr(owner, name, counted)

    for what, (owner, name) in COUNTED.items():
        watch(what, owner, name)
    return made


@pytest.fixture
def ask(layout, room, counts) -> Any:
    """Call a tool, or read a resource, as ann; what came back. Only what that looked at is counted."""

    async def talk(tool: str, **arguments: Any) -> Any:
        reception = Reception(layout, lambda *_, **__: None, has_daemon=True)
        client = await reception.admit(claim())
        async with Official(reception.server(lambda _: client)) as official:
            await official.list_tools()  # else the client does so by itself, for the schemas
            counts.clear()
            if "://" in tool:
                return (await official.read_resource(tool)).contents[0]
            result = await official.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return result.structured_content

    return lambda tool, **arguments: run(talk(tool, **arguments))


@pytest.fixture
def task(ask) -> str:
    return str(ask("board_add", subject="Write it")["task"]["id"])


@pytest.mark.usefixtures("task")
def test_a_claim_reads_the_roster_once_checks_its_arguments_once_and_leaves_one_sign_of_life(ask, counts, room):
    assert ask("board_claim", id="1")["claimed"] is True
    assert counts["argument"] == counts["roster"] == counts["sign of life"] == 1
    last = room.presence.last("crew", "ann")
    assert last is not None
    assert (last.source, last.state, last.state_source) == ("atm mcp", "working", "atm mcp")


def test_a_claim_of_nothing_too(ask, counts):
    assert ask("board_claim")["claimed"] is False
    assert counts["roster"] == counts["sign of life"] == 1


@pytest.mark.usefixtures("task")
def test_a_claim_that_is_asked_for_again_too(ask, counts):
    ask("board_claim")
    assert ask("board_claim")["resumed"] is True
    assert counts["roster"] == counts["sign of life"] == 1


@pytest.mark.parametrize(
    ("tool", "more"), [("board_complete", {}), ("board_fail", {"error": "broken"}), ("board_release", {})]
)
def test_whatever_else_changes_a_task_leaves_one_sign_of_life(ask, counts, task, tool, more):
    ask("board_claim")
    ask(tool, id=task, **more)
    assert counts["sign of life"] == 1


def test_reading_mail_looks_at_the_inbox_once_and_marks_once(ask, counts, room):
    send(room, "crew", "ann", Draft(sender="bob", text="hello"))
    assert [one["text"] for one in ask("mail_read")["messages"]] == ["hello"]
    assert (counts["inbox, the unread"], counts["inbox, all rows"], counts["inbox, marking"]) == (1, 0, 1)
    assert counts["roster"] == 1


def test_reading_an_inbox_without_news_looks_once(ask, counts):
    assert ask("mail_read") == {"messages": [], "unread_left": 0}
    assert (counts["inbox, the unread"], counts["inbox, all rows"], counts["inbox, marking"]) == (1, 0, 0)
    assert counts["roster"] == 1


def test_rows_that_are_too_large_are_counted_in_the_same_look(ask, counts, layout):
    row = {"from": "bob", "text": "x" * LARGEST_ROW, "timestamp": "2026-08-27T10:15:30.123Z", "read": False}
    Path(layout.inbox("crew", "ann")).write_text(json.dumps([row]))
    said = ask("mail_read")
    assert (said["messages"], "1 unread message is too large" in said["hint"]) == ([], True)
    assert counts["inbox, the unread"] == 1


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize("asked", ["atm://crew/agenda/ann", "member_work_sync_status"])
def test_an_agenda_reads_the_board_once(ask, counts, asked):
    ask(asked)
    assert counts["board"] == 1


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_agenda_on_the_command_line_reads_the_board_once(counts, monkeypatch, home, capsys, words):
    monkeypatch.setenv("ATM_HOME", str(home))
    monkeypatch.setenv("ATM_DAEMON_AUTOSTART", "0")
    counts.clear()
    assert main(["sync", "agenda", "--team", "crew", "--as", "ann", *words]) == 0
    assert "agenda:v1:" in capsys.readouterr().out
    assert counts["board"] == 1
