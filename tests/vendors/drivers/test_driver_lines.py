"""Lines over pipes: bounded, never in anybody's way, and closed once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from tests.vendors.drivers.fake_agents import FakeAgent, Host

from atm.vendors.driver import GONE, OUTPUT, READY, TROUBLE, Brief
from atm.vendors.drivers import lines
from atm.vendors.drivers.lines import LineCutter
from atm.vendors.drivers.plain import PlainDriver

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="waits for pipes with select")

BRIEF = Brief(cwd="/wt")


@pytest.fixture
def agent():
    made = FakeAgent()
    yield made
    made.ends()


@pytest.fixture
def host():
    return Host()


def test_lines_are_put_together_from_pieces():
    cutter = LineCutter()
    assert cutter.feed(b"on") == []
    assert cutter.feed(b"e\ntwo\nth") == [b"one", b"two"]
    assert cutter.feed(b"ree\n") == [b"three"]
    assert cutter.rest() == []


def test_a_last_line_without_an_end_is_a_line():
    cutter = LineCutter()
    assert cutter.feed(b"one\nlast") == [b"one"]
    assert cutter.rest() == [b"last"]


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole():
    cutter = LineCutter(4)
    assert cutter.feed(b"12345") == []
    assert cutter.feed(b"67\n1234\n123456789\nok") == [None, b"1234", None]
    assert cutter.feed(b"\n") == [b"ok"]


def test_a_line_that_never_ends_is_not_kept():
    cutter = LineCutter(4)
    for _ in range(3):
        assert cutter.feed(b"1234567") == []
    assert cutter.rest() == [None]


def test_what_a_program_prints_is_heard_and_its_end_once(agent, host):
    PlainDriver(agent.stdin, agent.stdout, BRIEF).begin(host.hear)
    agent.says_bytes(b"hello\n\xff\nlast")
    agent.stops_speaking()
    heard = [host.next() for _ in range(5)]
    assert [(one.kind, one.text) for one in heard] == [
        (READY, ""),
        (OUTPUT, "hello"),
        (OUTPUT, "\ufffd"),
        (OUTPUT, "last"),
        (GONE, ""),
    ]


def test_a_line_that_was_cut_is_told_as_trouble(agent, host):
    PlainDriver(agent.stdin, agent.stdout, BRIEF, 10).begin(host.hear)
    agent.says_bytes(b"x" * 100 + b"\nshort\n")
    assert host.until(TROUBLE).text
    assert host.next().text == "short"


def test_what_is_said_to_a_program_is_typed_and_closing_ends_its_input(agent, host):
    driver = PlainDriver(agent.stdin, agent.stdout, BRIEF)
    driver.begin(host.hear)
    assert driver.say('{"one": 1}')
    driver.answer("never asked", allow=True)
    driver.interrupt()
    driver.close()
    assert agent.hears() == {"one": 1}
    assert agent.hears() == {}
    assert not driver.say("too late")


def test_closing_its_input_is_not_its_end(agent, host):
    driver = PlainDriver(agent.stdin, agent.stdout, BRIEF)
    driver.begin(host.hear)
    driver.close()
    assert agent.hears() == {}
    agent.says_bytes(b"still here\n")
    assert host.until(OUTPUT).text == "still here"
    assert host.rest() == []


def test_a_program_that_does_not_read_keeps_nobody_waiting(agent, host, monkeypatch):
    monkeypatch.setattr(lines, "MOST_WAITING", 1 << 20)
    driver = PlainDriver(agent.stdin, agent.stdout, BRIEF)
    driver.begin(host.hear)
    taken = [driver.say("x" * (1 << 17)) for _ in range(20)]
    assert taken[0]
    assert not taken[-1]
    driver.forget()  # and the writer, which waits for room, ends with it
    host.until(GONE)


def test_a_program_that_has_gone_takes_no_more_words(agent, host):
    driver = PlainDriver(agent.stdin, agent.stdout, BRIEF)
    driver.begin(host.hear)
    agent.ends()
    host.until(GONE)
    assert not driver.say("anybody?")


def test_something_left_behind_with_the_pipes_does_not_hide_an_end(agent, host):
    driver = PlainDriver(agent.stdin, agent.stdout, BRIEF)
    driver.begin(host.hear)
    agent.says_bytes(b"last words\n")  # and its pipe stays open: somebody else holds it
    host.until(READY)
    driver.forget()
    driver.forget()
    heard = [host.next(), host.next()]
    assert [(one.kind, one.text) for one in heard] == [(OUTPUT, "last words"), (GONE, "")]
    assert host.rest() == []


def test_the_same_with_a_real_program_that_leaves_a_child_with_its_pipes(host):
    script = "import os, time\npid = os.fork()\nif pid == 0:\n    time.sleep(60)\nprint(pid, flush=True)\nos._exit(0)\n"
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    driver = PlainDriver(process.stdin, process.stdout, BRIEF)
    driver.begin(host.hear)
    child = int(host.until(OUTPUT).text)
    try:
        assert process.wait(20) == 0
        assert host.rest() == []
        driver.forget()
        assert host.next().kind == GONE
    finally:
        os.kill(child, signal.SIGKILL)
