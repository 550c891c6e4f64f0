"""`atm watch` and `atm status --watch`: what changes is told as it happens, and Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.tui.lantern import shown_seen

from atm.ui.cli.session import Session
from atm.ui.cli.snapshot.watch import _Watcher
from atm.ui.views.changes import changes
from atm.ui.views.team.seen import ApprovalSeen, MemberSeen, TaskSeen, TeamSeen
from atm.wiring.snapshot import build_snapshots


@pytest.fixture
def watching(crew):
    """A command that goes on, and what it has said so far."""

    def start(*words):
        process = crew.start(*words, env={"PYTHONUNBUFFERED": "1"})
        os.set_blocking(process.stdout.fileno(), False)
        said = bytearray()

        def text():
            said.extend(process.stdout.read() or b"")
            return said.decode("utf-8", "replace")  # what comes next may be half a character

        return process, text

    return start


def test_mail_board_and_members_are_told_as_they_change(tasks, quickly, watching, eventually):
    tasks("add", "First")
    process, text = watching("watch", "--team", "crew")
    eventually(lambda: "crew: 0 of 2 members online, 0 of 1 task done" in text())
    quickly("send", "ann", "The parser is done.\nSee there.", "--as", "bob")
    eventually(lambda: "✉ bob → ann  The parser is done.\n          See there.\n" in text())
    tasks("claim", "1", "--as", "bob")
    eventually(lambda: "◉ #1 ready → in progress  @bob  First" in text())
    eventually(lambda: "bob is online" in text())
    quickly("teams", "add-member", "crew", "cat")
    eventually(lambda: "cat is in the team" in text())
    tasks("assign", "1", "--to", "cat")
    eventually(lambda: "You have a new task: #1 First" in text())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


def test_mail_that_comes_right_after_its_first_word_is_told(crew, monkeypatch, capsys):
    session = Session({**crew.environment, "ATM_TEAM": "crew"})
    snapshots = build_snapshots(session.layout, session.settings, session.boardroom, session.environment)
    watcher = _Watcher(session, snapshots)
    monkeypatch.setattr(_Watcher, "_say_how_it_is", lambda *_: crew("send", "ann", "at once", "--from", "bob"))
    crew("send", "ann", "long ago", "--from", "bob")
    watcher.look(["crew"])
    crew("send", "ann", "later", "--from", "bob")
    watcher.look(["crew"])
    told = capsys.readouterr().out
    assert [told.count(text) for text in ("long ago", "at once", "later")] == [0, 1, 1]


def test_json_is_one_object_a_line_and_the_last_has_the_action(tasks, quickly, watching, eventually):
    process, text = watching("watch", "--json", "--for", "30")
    eventually(lambda: quickly("send", "ann", "hello", "--as", "bob") and '"text"' in text())
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    found = [json.loads(line) for line in text().splitlines()]
    assert {"team": "crew", "kind": "message", "from": "bob", "to": "ann", "text": "hello"}.items() <= found[0].items()
    assert quickly("watch", "--json", "--for", "0").json == {"action": "watch", "teams": 0}


def test_a_status_that_is_watched_is_printed_again_when_something_changed(quickly, watching, eventually):
    process, text = watching("status", "--watch")
    eventually(lambda: text().count("Team: crew") == 1)
    quickly("send", "ann", "hello", "--as", "bob")
    eventually(lambda: text().count("Team: crew") == 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


def test_on_a_terminal_it_is_drawn_anew(crew, on_terminal):
    terminal = on_terminal("status", "--watch")
    terminal.read_until(lambda text: "Ctrl-C ends." in text and "\x1b[2J" in text)
    terminal.type("\x03")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.process.wait(60) == 130


def seen(**more):
    return TeamSeen("crew", status="active", **more)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (seen(), seen(), []),
        (seen(), TeamSeen("crew", status="completed"), ["crew is completed now, and was active"]),
        (seen(tasks=[TaskSeen("1", "x", "pending", shown=shown_seen("pending"))]), seen(), ["? #1 ready → gone  x"]),
        (seen(), seen(tasks=[TaskSeen("1", "x", "blocked", shown=shown_seen("blocked"))]), ["◌ #1 new → blocked  x"]),
        (seen(members=[MemberSeen("bob")]), seen(), ["bob has left the team"]),
        (
            seen(members=[MemberSeen("bob", state="idle", liveness="online")]),
            seen(members=[MemberSeen("bob", state="idle", liveness="offline")]),
            ["bob is offline"],
        ),
        (
            seen(),
            seen(approvals=[ApprovalSeen("3f", "bob", tool="Bash", command="git push")]),
            ["bob asks for Bash: git push  (3f)"],
        ),
        (seen(approvals=[ApprovalSeen("3f", "bob")]), seen(), ["request 3f of bob waits no more"]),
    ],
)
def test_what_is_different_is_said_and_nothing_else(was, now, said):
    assert [change.words for change in changes(was, now)] == said


def test_without_a_team_a_program_is_told_in_json_alone(atm):
    assert atm("watch", "--for", "0.1", "--json").json == {"action": "watch", "teams": 0}
