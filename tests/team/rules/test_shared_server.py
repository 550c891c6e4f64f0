"""Codex's shared server: whose session is it?"""

from __future__ import annotations

import pytest

from atm.team.rules.agent_processes import nearest_agent, shared_server_in, teammate_in, terminal_in
from atm.vendors.shared_server import NOBODY, known_variables


def line(*words: str) -> str:
    return "\0".join(words) + "\0"


SERVER = line("/h/.codex/releases/0.166.0/bin/codex", "app-server", "--listen", "unix://", "--managed-daemon")
BOB = {"ATM_TEAM": "crew", "ATM_IDENTITY": "bob", "TMUX": "/t,1,0", "TMUX_PANE": "%0"}
ANN = {"ATM_TEAM": "crew", "ATM_IDENTITY": "ann", "TMUX": "/t,1,0", "TMUX_PANE": "%1"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (SERVER, True),
        (line("codex", "app-server", "--listen=unix://"), True),
        (line("codex", "app-server"), False),  # on its standard input: it belongs to whoever started it
        (line("codex", "fix the app-server"), False),
        (line("vim", "app-server", "--listen"), False),
        ("", False),
    ],
)
def test_a_server_that_listens_is_shared(command, expected):
    assert (shared_server_in(command) is not None) is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (line("codex"), True),
        (line("/x/bin/codex", "--model", "gpt-5", "begin"), True),
        (line("codex", "resume"), True),
        (line("codex", "exec", "--json", "x"), False),
        (SERVER, False),
        (line("node", "/x/bin/codex"), False),  # only starts the real one
    ],
)
def test_a_terminal_is_what_somebody_sits_before(command, expected):
    assert (terminal_in(command) is not None) is expected


def test_what_the_only_terminal_says_holds_whoever_started_the_server():
    assert known_variables("codex", {**BOB, "PATH": "/bin"}, [ANN]) == {**ANN, "PATH": "/bin"}


def test_two_members_on_one_server_cannot_be_told_apart():
    assert known_variables("codex", {**BOB, "PATH": "/bin"}, [BOB, ANN]) == {"PATH": "/bin", NOBODY: "codex"}


def test_somebody_without_a_name_beside_a_member_is_not_the_member():
    assert known_variables("codex", BOB, [BOB, {}]) == {NOBODY: "codex"}


def test_a_server_without_terminals_is_nobodys():
    assert known_variables("codex", BOB, []) == {NOBODY: "codex"}


def test_two_terminals_of_one_member_are_that_member_in_no_pane():
    assert known_variables("codex", {}, [BOB, {**BOB, "TMUX_PANE": "%7"}]) == {
        "ATM_TEAM": "crew",
        "ATM_IDENTITY": "bob",
    }


def test_a_shared_server_is_no_members_process():
    assert nearest_agent([(9, line("sh", "-c", "x")), (8, SERVER), (7, line("codex"))]) is None
    assert nearest_agent([(9, line("sh", "-c", "x")), (8, line("codex"))]) == 8


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("claude", "--agent-id", "scout@session-1a2b3c4d", "--agent-name", "scout"), ("scout", "session-1a2b3c4d")),
        (("claude", "--agent-id", "a@b@session-1a2b3c4d"), ("a@b", "session-1a2b3c4d")),
        (("claude", "--agent-id", "scout"), None),
        (("claude", "--agent-id", "@session-1a2b3c4d"), None),
        (("claude", "--agent-id"), None),
        (("claude", "--agent", "scout@x"), None),
    ],
)
def test_a_teammate_in_a_pane_says_who_it_is_on_its_command_line(words, expected):
    assert teammate_in("\0".join(words)) == expected
