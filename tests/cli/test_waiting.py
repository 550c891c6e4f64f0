"""Whoever waits at a terminal sees for what, for how long, and what a check says; nobody else does."""

from __future__ import annotations

import os
import re
import signal

import pytest
from tests.cli.conftest import screen

from atm.ui.views.fitting import last_lines

COLUMNS = 60


def signs_gone(text: str) -> bool:
    return not any(line.startswith(tuple("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")) for line in screen(text))


def test_a_terminal_shows_what_is_waited_for_and_the_line_goes(crew, on_terminal, quickly):
    terminal = on_terminal("read", "--wait", "60", "--as", "ann")
    terminal.read_until(lambda text: "waiting for mail to ann@crew  0 s" in text)
    quickly("send", "ann", "hello", "--as", "bob")
    text = terminal.read_until(lambda _: False)
    assert screen(text)[0].startswith("● bob")
    assert signs_gone(text)


@pytest.fixture
def slow_check(tasks, atm):
    """A task whose check says something, and ends when a file is there."""
    check = "echo compiling; printf '\\033]0;x\\007 50%%\\r'; until test -e done; do sleep 0.05; done; echo it is fine"
    tasks("add", "First", "--accept", check)
    tasks("claim", "1", "--as", "bob")
    yield (end := atm.folder / "done")
    end.touch()  # also if the test has failed


def test_a_check_that_takes_its_time_is_seen_with_what_it_says_last(slow_check, on_terminal):
    terminal = on_terminal("tasks", "complete", "1", "--as", "bob", "--allow-checks", columns=COLUMNS)
    terminal.read_until(lambda text: re.search(r"checking #1  [1-9] s", text) and "50%" in text)
    shown = screen(terminal.text)
    assert [line.strip() for line in shown[1:3]] == ["compiling", "50%"]
    assert max(map(len, shown)) < COLUMNS
    slow_check.touch()
    text = terminal.read_until(lambda _: False)
    assert (screen(text)[0].startswith("completed #1"), signs_gone(text)) == (True, True)
    assert "compiling" not in "".join(screen(text))


@pytest.mark.parametrize(
    "env", [{"CLAUDECODE": "1"}, {"CODEX_THREAD_ID": "1"}, {"NO_COLOR": "1"}, {"ATM_NO_COLOR": "1"}, {"TERM": "dumb"}]
)
def test_neither_an_agent_nor_a_terminal_that_is_to_be_left_plain_gets_turns_of_it(crew, on_terminal, env):
    terminal = on_terminal("read", "--wait", "1", "--as", "ann", env=env)
    assert "waiting" not in terminal.read_until(lambda _: False)


def test_without_a_terminal_there_is_nothing(crew, slow_check):
    slow_check.touch()
    assert crew("read", "--wait", "1", "--as", "ann", code=None).err == ""
    assert "checking" not in crew("tasks", "complete", "1", "--as", "bob", "--allow-checks").err


def test_a_daemon_that_takes_its_time_is_waited_for(crew, on_terminal):
    """It is held still, as by a long turn of a loop."""
    pid = crew("daemon", "start", "--json").json["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        terminal = on_terminal("daemon", "stop", "--seconds", "50")
        terminal.read_until(lambda text: "waiting for the daemon to finish what it is doing  1 s" in text)
    finally:
        os.kill(pid, signal.SIGCONT)
    text = terminal.read_until(lambda _: False)
    assert (screen(text)[0], signs_gone(text)) == ("the daemon has stopped", True)
    assert crew("daemon", "stop", code=3).err == ""


def test_what_is_said_meanwhile_stands_above_the_line(crew, on_terminal, eventually):
    """An agent that is at a task says that it finishes it first; `down` waits, and says for whom."""
    crew("tasks", "add", "Long", "--run", "touch begun; until test -e go; do sleep 0.05; done")
    crew("up", "script:cat", "--cwd", ".", env={"ATM_DAEMON_AUTOSTART": "0"})
    eventually((crew.folder / "begun").exists)
    terminal = on_terminal("down")
    terminal.read_until(lambda text: "finishes its task first" in text and "waiting for the agents of crew" in text)
    terminal.read_until(lambda text: screen(text)[1:2] and "waiting for the agents of crew to end" in screen(text)[1])
    assert screen(terminal.text)[0] == "cat finishes its task first"
    (crew.folder / "go").touch()
    text = terminal.read_until(lambda _: False)
    assert (screen(text)[0], signs_gone(text)) == ("cat finishes its task first", True)
    assert "✓ cat has ended" in screen(text)


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("", []),
        ("\n$ make test\n", ["$ make test"]),
        ("\n$ make test\na\n\nb\nc\n", ["b", "c"]),
        ("tests\r\n10%\r20%\r30%\r", ["tests", "30%"]),
        ("\x1b[1;31mFAILED\x1b[0m\x1b[2K x\n\x1b]0;y\x07\ufffd", ["FAILED x", "\ufffd"]),
    ],
)
def test_of_an_output_the_last_lines_are_shown_and_do_nothing_to_the_terminal(output, shown):
    assert last_lines(output, 2) == shown
