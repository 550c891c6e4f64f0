"""Attacks through the pump, the real daemon behind it: agents that die, close their ears, cancel, go on for long."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.chaos import LONG
from tests.mcp.conftest import INITIALIZE, Spoken, claim
from tests.mcp.test_attacks_lines import ODD, line

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.ui.mcp.hello import encode_hello


def sent(daemon: Any) -> list[str]:
    return [row["text"] for row in daemon.atm.rows("bob")] if daemon.atm.inbox("bob").exists() else []


def test_mail_that_was_being_sent_when_the_daemon_died_is_never_sent_twice(daemon, speak):
    """The agent is told that nobody knows; the pump asks no second time on its own."""
    spoken = speak(daemon, "--as", "ann")
    spoken.shake_hands()
    ids = [
        spoken.begin("tools/call", name="mail_send", arguments={"to": "bob", "text": f"letter {n}"}) for n in range(40)
    ]
    daemon.kill()
    heard: dict[Any, dict[str, Any]] = {}
    while len(heard) < len(ids):
        said = spoken.hear()
        heard[said.get("id")] = said
    answered = {id for id in ids if "result" in heard[id]}
    assert all("look whether it was done" in heard[id]["error"]["message"] for id in ids if id not in answered)
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
    found = sent(daemon)
    assert len(found) == len(set(found)), "nothing came twice"
    assert {f"letter {n}" for n, id in enumerate(ids) if id in answered} <= set(found), "what was answered is there"


def test_a_call_whose_agent_closed_its_input_is_done_once_and_the_pump_ends(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    spoken.begin("tools/call", name="mail_send", arguments={"to": "bob", "text": "last words"})
    assert spoken.end() == 0
    shared.until(lambda: sent(shared) == ["last words"])


def test_an_agent_that_closes_its_ear_ends_the_pump_and_not_the_daemon(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    assert spoken.process.stdout is not None
    spoken.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):  # a notice of the daemon may have shown the pump already, and ended it
        spoken.begin("tools/list")
    assert spoken.process.wait(60) == 0
    shared.until(lambda: shared.status()["surfaces"][0]["connections"] == 0)
    assert [record for record in shared.log() if record["level"] == "error"] == []


def test_a_pump_that_is_stopped_and_goes_on_has_missed_nothing(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    spoken.process.send_signal(signal.SIGSTOP)
    ids = [spoken.begin("ping") for _ in range(50)]
    spoken.process.send_signal(signal.SIGCONT)
    assert sorted(spoken.hear()["id"] for _ in ids) == ids


def test_odd_lines_through_the_pump_leave_it_and_the_daemon_well(shared, speak):
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    for said in ODD:
        spoken.say(said.rstrip(b"\n"))
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
    assert [record for record in shared.log() if record["level"] == "error"] == []


def test_nothing_but_the_protocol_is_on_standard_output(house, room, speak):
    """Also without a daemon, where the SDK runs in this very process, and also when it has something to complain of."""
    spoken = speak(house, "--team", "crew", "--as", "ann", env={"ATM_DAEMON_AUTOSTART": "0"})
    spoken.shake_hands()
    for said in ODD:
        spoken.say(said.rstrip(b"\n"))
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"  # `hear` reads JSON, or fails
    assert spoken.end() == 0
    assert spoken.process.stdout is not None
    assert all(json.loads(rest)["jsonrpc"] == "2.0" for rest in spoken.process.stdout)


def test_a_server_without_standard_error_serves_all_the_same(house, room, speak):
    read, write = os.pipe()
    os.close(read)
    words = house.atm.command("mcp", "--team", "crew", "--as", "ann")
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=write,
        env={**house.atm.environment, "ATM_DAEMON_AUTOSTART": "0"},
        cwd=house.atm.folder,
    ) as process:
        os.close(write)
        spoken = Spoken(process)
        spoken.shake_hands()
        spoken.say(ODD[0].strip())
        assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
        assert spoken.end() == 0


# Memory.


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


CALLS, CONNECTIONS = (4000, 200) if LONG else (2000, 100)


@pytest.mark.campaign
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_thousands_of_calls_and_hundreds_of_connections_leave_no_memory_behind(daemon, room, speak):
    """
    Bounds mean a leak: a kilobyte for each call, thirty for each connection; noise is far below.

    The daemon has other work, too, and what that takes in this very moment is no leak: one would grow every time.
    """
    path = f"{os.path.dirname(daemon.socket)}/mcp.sock"
    pid = daemon.status()["pid"]

    def connect(calls: int) -> None:
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(60)
            raw.connect(path)
            hands = [encode_hello(claim()), line(id=0, method="initialize", params=INITIALIZE)]
            raw.sendall(b"".join(hands))
            with raw.makefile("rb") as lines:
                assert json.loads(lines.readline())["ok"] is True
                assert json.loads(lines.readline())["id"] == 0
                for begin in range(0, calls, 50):
                    ids = range(begin + 1, begin + 51)
                    raw.sendall(b"".join(line(id=id, method="ping") for id in ids[:25]))
                    raw.sendall(b"".join(line(id=id, method="prompts/list") for id in ids[25:]))
                    assert sorted(json.loads(lines.readline())["id"] for _ in ids) == [*ids]

    def grown_by(work: Callable[[], None]) -> int:
        before = resident(pid)
        work()
        daemon.until(lambda: daemon.status()["surfaces"][0]["connections"] == 0)
        return resident(pid) - before

    def many(connections: int) -> None:
        for _ in range(connections):
            connect(0)

    connect(1000)
    assert any(grown_by(lambda: connect(CALLS)) < CALLS << 10 for _ in range(3))
    many(100)
    assert any(grown_by(lambda: many(CONNECTIONS)) < CONNECTIONS * 30 << 10 for _ in range(3))


def test_mail_cancelled_while_it_is_read_is_read_later(shared, speak):
    """Whatever the moment at which the agent gives up, it gets each message: none is lost to a cancelled call."""
    for number in range(10):
        send(shared.room, shared.team, "ann", Draft(sender="bob", text=f"letter-{number};"))
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    texts = ""
    for _ in range(10):
        id = spoken.begin("tools/call", name="mail_read", arguments={"limit": 3})
        spoken.say(line(method="notifications/cancelled", params={"requestId": id}).strip())
    spoken.ask("ping")
    late = [said for said in spoken.notices if "result" in said]  # those were answered before they were cancelled
    texts = json.dumps(late)

    def read_all() -> bool:
        nonlocal texts
        texts += json.dumps(spoken.call("mail_read", limit=20))
        return all(f"letter-{number};" in texts for number in range(10))

    shared.until(read_all)
