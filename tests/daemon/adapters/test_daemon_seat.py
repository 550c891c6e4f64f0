"""One daemon for each home: a lock that dies with its process, and a process number that means one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.proving import proves

from atm.core.errors import WriteRefused
from atm.daemon.adapters.process_facts import memory
from atm.daemon.adapters.seat import LONGEST_ADDRESS, RunningDaemon, Seat, find_running, take_seat
from atm.files.adapters.processes import began

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="unix sockets")


def read_json(path):
    with open(path) as file:
        return json.load(file)


HOLD = """
import sys
from atm.files.adapters.machine import find_layout
from atm.daemon.adapters.seat import take_seat
seat = take_seat(find_layout({"ATM_HOME": sys.argv[1]}))
seat.announce("1", "now")
print("seated", flush=True)
sys.stdin.read()
"""


def clear(layout):
    """The next one that sits down and leaves takes with it what a killed one left."""
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    seat.leave()


@pytest.fixture
def other(home, layout):
    """Another process that sits there."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "seated\n"
    yield process
    process.kill()
    if not process.stdout.closed:
        process.communicate()
    clear(layout)


def test_the_first_one_gets_the_seat_and_says_who_it_is(layout):
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    assert find_running(layout) is None
    seat.announce("0.1", "2026-11-15T09:00:00.000Z")
    facts = read_json(f"{layout.daemon}/pid.json")
    assert (facts["pid"], facts["began"]) == (os.getpid(), began(os.getpid()))
    seat.leave()
    assert find_running(layout) is None


@proves("R001-5.3-13")
def test_a_second_one_is_told_who_sits_there(layout, other):
    found = take_seat(layout)
    assert isinstance(found, RunningDaemon)
    assert found.pid == other.pid


def test_the_seat_of_a_killed_daemon_is_free_at_once(layout, other):
    other.kill()
    other.communicate()
    assert find_running(layout) is None
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    seat.leave()


def test_a_number_that_is_used_again_is_not_the_daemon(layout, other):
    path = f"{layout.daemon}/pid.json"
    facts = read_json(path)
    with open(path, "w") as file:
        json.dump({**facts, "pid": os.getpid()}, file)
    assert find_running(layout) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"pid": "7"}', '{"pid": true}', '{"pid": -1, "began": ""}'])
def test_a_process_file_that_says_nothing_means_that_nobody_runs(layout, content):
    os.makedirs(layout.daemon)
    with open(f"{layout.daemon}/pid.json", "w") as file:
        file.write(content)
    assert find_running(layout) is None


def test_whoever_is_alive_but_does_not_hold_the_lock_is_not_the_daemon(layout):
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    seat.announce("1", "now")
    os.close(seat._fd)
    assert find_running(layout) is None
    clear(layout)


def test_a_home_that_is_too_deep_for_a_socket_gets_a_short_one(tmp_path, monkeypatch):
    from atm.files.adapters.machine import find_layout

    monkeypatch.setenv("TMPDIR", "/tmp")
    layout = find_layout({"ATM_HOME": str(tmp_path / ("deep" * 30))})
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    folder = os.path.dirname(seat.socket)
    assert len(seat.socket) <= LONGEST_ADDRESS
    assert os.stat(folder).st_mode & 0o777 == 0o700
    seat.leave()
    assert not os.path.exists(folder)
    os.mkdir(folder, 0o755)
    with pytest.raises(WriteRefused):
        take_seat(layout)
    os.rmdir(folder)


def test_a_process_has_a_beginning_and_memory_until_it_is_gone():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert began(process.pid)
    if os.path.exists("/proc/self/statm"):
        assert memory(process.pid)
    else:
        assert memory(process.pid) is None
    process.kill()
    process.communicate()
    assert began(process.pid) == ""


def test_a_dead_process_that_nobody_has_asked_after_is_gone_too(eventually):
    process = subprocess.Popen([sys.executable, "-c", ""])
    eventually(lambda: began(process.pid) == "")
    process.wait()
