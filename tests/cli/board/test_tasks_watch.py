"""`atm tasks watch`: changes as they happen, until everything is done or time is up."""

from __future__ import annotations

import json
import os
import shutil
import signal
from itertools import cycle

import pytest
from tests.proving import proves


@pytest.fixture
def watching(crew, eventually):
    """A watch that has begun, and what it has said so far."""

    def start(*words, env={"PYTHONUNBUFFERED": "1"}):  # noqa: B006 - never changed
        process = crew.start("tasks", "watch", *words, env=env)
        os.set_blocking(process.stdout.fileno(), False)
        said = bytearray()

        def text():
            said.extend(process.stdout.read() or b"")
            return said.decode()

        return process, text

    return start


@proves("R004-orchestration-O3")
def test_it_tells_what_changes_and_ends_when_all_is_done(tasks, watching, eventually):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    process, text = watching("--until-done")
    eventually(lambda: "0 of 2 done" in text())
    tasks("claim", "--as", "ann")
    eventually(lambda: "#1 ready → in progress  @ann  First" in text())
    tasks("complete", "1", "--as", "ann")
    eventually(lambda: "#2 blocked → ready" in text())
    tasks("add", "Third")
    eventually(lambda: "#3 new → ready" in text())
    tasks("cancel", "3")
    tasks("claim", "--as", "ann")
    assert process.poll() is None
    tasks("complete", "2", "--as", "ann")
    eventually(lambda: "2 of 3 done" in text())
    assert process.wait(60) == 0


def test_json_is_one_change_a_line(tasks, watching, eventually):
    tasks("add", "First")
    process, text = watching("--until-done", "--json")
    names = cycle(("ann", "bob"))
    eventually(lambda: tasks("assign", "1", "--to", next(names)) and text())
    tasks("cancel", "1")
    assert process.wait(60) == 0
    changes = [json.loads(line) for line in text().splitlines()]
    assert changes[0].keys() >= {"task", "subject", "from", "to", "owner", "at"}
    assert (changes[-1]["task"], changes[-1]["subject"], changes[-1]["to"]) == ("1", "First", "cancelled")


def test_the_first_line_is_there_before_anything_changes(tasks, watching, eventually):
    """Also in a pipe: a watch that says nothing looks like one that does not work."""
    tasks("add", "First")
    process, text = watching(env={})
    eventually(lambda: "0 of 1 done" in text())
    process.kill()


def test_changes_by_other_programs_are_told_too(tasks, watching, eventually, atm):
    tasks("add", "First")
    process, text = watching("--timeout", "300")
    eventually(lambda: "0 of 1 done" in text())
    path = atm.home / ".claude/tasks/crew/1.json"
    changed = path.read_text().replace('"pending"', '"completed"')
    with path.open("r+") as file:  # in place, but never empty: whoever looks in between would tell of a torn file too
        file.write(changed)
    eventually(lambda: "#1 ready → done" in text())
    path.unlink()
    eventually(lambda: "#1 done → gone" in text())
    process.kill()


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_time_is_up(tasks, words):
    tasks("add", "First")
    tasks("watch", "--timeout", "0.1", *words)
    tasks("watch", "--timeout", "0", *words)
    tasks("watch", "--until-done", "--timeout", "0.1", *words, code=3)


def test_a_board_on_which_nothing_is_left_ends_it_at_once(tasks):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    tasks("cancel", "1")
    assert "0 of 2 done" in tasks("watch", "--until-done").out


def test_an_empty_board_ends_it_at_once(tasks):
    tasks("watch", "--until-done")


@pytest.mark.parametrize("timeout", ["-1", "soon", "nan", "inf"])
def test_a_time_that_is_none_is_refused(tasks, timeout):
    assert "--timeout" in tasks("watch", "--timeout", timeout, code=1).err


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_an_interrupt_ends_it_without_a_traceback(tasks, watching, eventually):
    tasks("add", "First")
    process, text = watching()
    eventually(lambda: "0 of 1 done" in text())
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert b"Traceback" not in process.stderr.read()


def test_a_team_that_ends_meanwhile_does_not_crash_it(tasks, watching, eventually, atm):
    tasks("add", "First")
    process, text = watching("--until-done")
    eventually(lambda: "0 of 1 done" in text())
    shutil.rmtree(atm.home / ".claude/tasks/crew")
    assert process.wait(60) == 0
    assert "#1 ready → gone" in text()
    assert b"unexpected" not in process.stderr.read()


def test_the_state_has_its_colour_on_a_terminal_only(tasks, seen):
    tasks("add", "First")
    tasks("cancel", "1")
    assert "\x1b[" in seen("tasks", "list")
    assert "\x1b[" not in seen("tasks", "list", env={"NO_COLOR": "1"})
    assert "\x1b[" not in tasks("list").out
