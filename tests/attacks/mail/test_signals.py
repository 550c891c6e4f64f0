"""Ctrl-C, SIGTERM and SIGHUP while a command waits: for a reader of its output, for a lock, for an answer."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.attacks.mail.struck import SIGNALS
from tests.conftest import Atm

from atm.mail.rules.receipts import MAYBE_SHOWN
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send

SECONDS = 60
ANN = {"ATM_IDENTITY": "ann", "ATM_TEAM": "crew"}
MANY, LONG_TEXT = 30, "x" * 8000
"""Far more than a pipe takes."""


@pytest.fixture
def crew(atm: Atm, room: Any) -> Atm:
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", **ANN}
    return atm


@pytest.fixture
def begin(crew: Atm) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A command whose output nobody reads yet; ended with the test, if it did not end itself."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **more: Any) -> subprocess.Popen[bytes]:
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        started.append(subprocess.Popen(crew.command(*words), env=crew.environment, cwd=crew.folder, **more))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)


def waiting_bytes(process: subprocess.Popen[bytes]) -> int:
    """How much of its output lies in the pipe, read by nobody."""
    assert process.stdout is not None
    return int.from_bytes(fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, b"\0" * 4), "little")


def unread(crew: Atm, agent: str = "ann") -> int:
    return sum(not row["read"] for row in crew.rows(agent))


def states(crew: Atm, agent: str = "ann") -> set[str]:
    return {line["state"] for line in crew.ledger() if line["agent"] == agent}


def locks(crew: Atm) -> list[str]:
    return [str(path) for path in crew.home.glob(".claude/**/*.lock") if path.is_dir()]


# Nobody reads what is printed.


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [("read",), ("read", "--json")], ids=["text", "json"])
def test_mail_that_stuck_in_a_full_pipe_is_given_back(crew, room, begin, eventually, number, words):
    for text in range(MANY):
        send(room, "crew", "ann", Draft(sender="bob", text=f"{text} {LONG_TEXT}"))
    process = begin(*words)
    eventually(lambda: unread(crew) == 0 and waiting_bytes(process))
    process.send_signal(number)
    assert process.wait(SECONDS) == 128 + number
    assert unread(crew) == MANY, "marked as read, and nobody saw it"
    assert states(crew) == {"written", "returned"}
    assert locks(crew) == []
    again = crew("read", "--json").json["messages"]
    doubted = [message["text"].split()[0] for message in again if message.get("may_have_been_shown")]
    assert len(again) == MANY
    # Of what was written one by one, only what was begun; an object that is cut off is one that was begun.
    assert doubted == [str(n) for n in range(len(doubted))]
    assert 0 < len(doubted) < MANY if words == ("read",) else len(doubted) == MANY


def test_a_second_reader_gets_what_the_first_did_not_show(crew, room, begin, eventually):
    for text in range(MANY):
        send(room, "crew", "ann", Draft(sender="bob", text=f"{text} {LONG_TEXT}"))
    process = begin("read")
    eventually(lambda: unread(crew) == 0 and waiting_bytes(process))
    process.kill()
    process.wait(SECONDS)
    assert unread(crew) == 0
    said = crew("read").out
    assert said.count(f"({MAYBE_SHOWN})") == MANY
    assert crew("read", "--json").json["messages"] == []


def test_a_report_that_nobody_reads_is_of_something_that_was_done(crew, begin, eventually):
    """The pipe is full before it starts, so the report cannot be written; Ctrl-C does not undo what was sent."""
    read, write = os.pipe()
    try:
        fill(write)
        process = begin("send", "bob", "hello", stdout=write)
        eventually(lambda: crew.ledger() and len(crew.rows("bob")) == 1)
        eventually(lambda: is_in_a_write(process))
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    finally:
        os.close(read)
        os.close(write)
    assert [row["text"] for row in crew.rows("bob")] == ["hello"]
    assert locks(crew) == []


def fill(write: int) -> None:
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)


def is_in_a_write(process: subprocess.Popen[bytes]) -> bool:
    """Where the system tells; elsewhere the signal comes a little earlier, which must end in the same way."""
    try:
        with open(f"/proc/{process.pid}/wchan") as file:
            return "pipe" in file.read()
    except OSError:
        return True


# Somebody else has the lock.


@pytest.mark.parametrize("words", [("send", "bob", "hello"), ("broadcast", "hello"), ("read",)], ids=lambda w: w[0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_waits_for_a_lock_ends_at_once_and_leaves_the_lock_of_another(
    crew, room, begin, eventually, words, number
):
    send(room, "crew", "ann", Draft(sender="bob", text="hello"))
    inbox = crew.inbox("ann" if words[0] == "read" else "bob")
    lock = inbox.with_name(inbox.name + ".lock")
    lock.mkdir()
    before = {agent: crew.inbox(agent).read_bytes() for agent in ("ann", "bob")}
    process = begin(*words)
    private = crew.home / ".local/state/atm/locks"
    eventually(lambda: any(is_held(path) for path in private.glob(f"*-{inbox.name}")))
    process.send_signal(number)
    begun = time.monotonic()
    code = process.wait(SECONDS)
    assert time.monotonic() - begun < 4, "it waited for the lock all the same"
    out, err = process.communicate(timeout=SECONDS)
    if words[0] == "broadcast":
        assert code == 1
        assert b"interrupted while it was sent" in out
    else:
        assert (code, out) == (128 + number, b"")
    assert b"Traceback" not in err
    assert lock.is_dir()
    assert {agent: crew.inbox(agent).read_bytes() for agent in ("ann", "bob")} == before


def is_held(path: Any) -> bool:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


# An answer.


@pytest.mark.parametrize("number", SIGNALS)
def test_who_stops_waiting_for_an_answer_is_told_what_was_sent(crew, begin, eventually, number):
    process = begin("request", "ann@crew", "bob@crew", "which port?", "--timeout", "300")
    eventually(crew.ledger)
    process.send_signal(number)
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (128 + number, b"")
    assert f"the request is message {crew.rows('bob')[0]['message_id'][:8]}" in err.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_answer_that_nobody_saw_is_read_later(crew, room, begin, eventually, number):
    read, write = os.pipe()
    try:
        process = begin("request", "ann@crew", "bob@crew", "which port?", "--timeout", "300", stdout=write)
        os.close(write)
        eventually(lambda: crew.rows("bob"))
        answer = LONG_TEXT * 20
        marker = crew.rows("bob")[0]["text"].split()[-1]
        send(room, "crew", "ann", Draft(sender="bob", text=f"{answer}\n\nRequest-ID: {marker}"))
        eventually(lambda: unread(crew) == 0 and select.select([read], [], [], 0)[0])
        process.send_signal(number)
        assert process.wait(SECONDS) in (128 + number, -number)
    finally:
        os.close(read)
    (message,) = crew("read", "--json").json["messages"]
    assert message["text"].startswith(answer)
    assert message["may_have_been_shown"] is True
    assert crew("read", "--json").json["messages"] == []


# Watching marks nothing.


@pytest.mark.parametrize("number", SIGNALS)
def test_who_watches_inboxes_takes_nothing(crew, begin, number):
    process = begin("inbox", "--watch", "--json", "--team", "crew")
    assert process.stdout is not None
    while not select.select([process.stdout], [], [], 0.2)[0]:
        crew("send", "ann", "hello", "--from", "bob")  # until it watches
    process.send_signal(number)
    assert process.wait(SECONDS) == 128 + number
    assert unread(crew) == len(crew.rows("ann"))
    assert locks(crew) == []


# MCP without a daemon.


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux has pipes that are smaller than an answer")
@pytest.mark.parametrize("number", SIGNALS)
def test_mail_that_a_server_in_this_process_did_not_hand_over_is_given_back(crew, room, begin, eventually, number):
    pytest.importorskip("mcp")
    for text in range(5):
        send(room, "crew", "ann", Draft(sender="bob", text=f"{text} {'y' * 2900}"))
    read, write = os.pipe()
    try:
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        process = begin("mcp", "--as", "ann", "--team", "crew", stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        write = -1
        say(process, id=0, method="initialize", params=HELLO)
        assert json.loads(line_from(read))["id"] == 0
        say(process, method="notifications/initialized")
        say(process, id=1, method="tools/call", params={"name": "mail_read", "arguments": {}})
        eventually(lambda: unread(crew) == 0 and "surfaced" in states(crew) and select.select([read], [], [], 0)[0])
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)
    assert unread(crew) == 5, "surfaced, and the agent never got it"
    assert "returned" in states(crew)
    assert locks(crew) == []


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def say(process: subprocess.Popen[bytes], **message: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def line_from(read: int) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        assert select.select([read], [], [], SECONDS)[0], data
        data += os.read(read, 1)
    return data


# A check of a task.


def test_a_check_is_not_left_running_when_nobody_waits_for_it(crew, begin, eventually):
    mark = crew.folder / "pid"
    crew("tasks", "add", "paint", "--accept", f"echo $$ > {mark}; exec sleep 300", "--as", "human")
    crew("tasks", "claim")
    process = begin("tasks", "complete", "1")
    eventually(lambda: mark.exists() and mark.read_text().strip())
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 128 + signal.SIGTERM
    eventually(lambda: not is_running(int(mark.read_text())))
    assert crew("tasks", "show", "1", "--json").json["task"]["status"] == "in_progress"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# What is ignored stays ignored.


def test_who_was_told_to_ignore_a_hang_up_goes_on(crew, begin, eventually):
    process = begin("read", "--wait", "300", "--json", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    eventually(lambda: has_a_handler(process, signal.SIGTERM))
    process.send_signal(signal.SIGHUP)
    crew("send", "ann", "hello", "--from", "bob")
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert [message["text"] for message in json.loads(out)["messages"]] == ["hello"]


def has_a_handler(process: subprocess.Popen[bytes], number: int) -> bool:
    """Where the system tells; elsewhere the signal may come before it listens, which it ignores all the same."""
    try:
        with open(f"/proc/{process.pid}/status") as file:
            caught = next(line for line in file if line.startswith("SigCgt:")).split()[1]
    except OSError:
        return True
    return bool(int(caught, 16) >> (number - 1) & 1)
