"""Whoever waits at a terminal sees for what, and for how long; nobody else does."""

from __future__ import annotations


def test_a_terminal_shows_what_is_waited_for_and_the_line_goes(crew, on_terminal, quickly):
    terminal = on_terminal("read", "--wait", "60", "--as", "ann")
    terminal.read_until(lambda text: "waiting for mail to ann@crew  0 s" in text)
    quickly("send", "ann", "hello", "--as", "bob")
    assert "\r\x1b[K● " in terminal.read_until(lambda text: "hello" in text).replace("\x1b[32m", "").replace(
        "\x1b[0m", ""
    )


def test_a_check_that_takes_its_time_is_seen(tasks, on_terminal, atm):
    tasks("add", "First", "--accept", "until test -e done; do sleep 0.1; done")
    tasks("claim", "1", "--as", "bob")
    terminal = on_terminal("tasks", "complete", "1", "--as", "bob", "--allow-checks")
    terminal.read_until(lambda text: "checking #1" in text)
    (atm.folder / "done").touch()
    terminal.read_until(lambda text: "completed #1" in text)


def test_without_a_terminal_there_is_nothing(crew):
    assert crew("read", "--wait", "1", "--as", "ann", code=None).err == ""
