"""
Real rivals, real processes: a program without locks rewrites an inbox in a tight loop while others send.

The bounds are generous, for a machine that does other things too: five seconds became three minutes before.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.attacks.mail.rival import fill, lost, rival_at
from tests.conftest import Atm

pytestmark = pytest.mark.hurried  # the bounds are the subject

LONGEST = 30.0
"""Seconds for a whole command: the deadline of five, the start of Python, and a busy machine."""

MANNERS = ["rename", "place"]


@pytest.fixture
def crew(atm, room) -> Atm:
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": "crew"}
    made: Atm = atm
    return made


@pytest.fixture
def log(tmp_path) -> Path:
    path: Path = tmp_path / "rival.log"
    return path


def timed(crew: Atm, *words: str) -> float:
    begun = time.monotonic()
    crew(*words)
    return time.monotonic() - begun


def beside(crew: Atm) -> list[str]:
    return sorted(name for name in os.listdir(crew.inbox("bob").parent) if ".atm-" in name)


def texts(crew: Atm) -> list[str]:
    return [row["text"] for row in crew.rows("bob") if row["from"] == "ann"]


@pytest.mark.parametrize(("manner", "size"), [("rename", 0), ("place", 0), ("place", 200_000)])
def test_sends_beside_a_rival_end_in_time_and_neither_loses_a_row(crew, log, manner, size):
    inbox = crew.inbox("bob")
    fill(inbox, size)
    with rival_at(inbox, manner, log):
        times = [timed(crew, "send", "bob", f"number {n}", "--from", "ann") for n in range(2)]
        copies = beside(crew)
    assert max(times) < LONGEST
    assert len(copies) <= 5  # one that is torn may be waited for
    assert timed(crew, "send", "bob", "at the end", "--from", "ann") < LONGEST
    assert texts(crew) == ["number 0", "number 1", "at the end"]
    assert lost(inbox, log) == []
    assert len(log.read_text().split()) > 3


@pytest.mark.parametrize("manner", MANNERS)
def test_the_command_after_a_kill_beside_a_rival_is_not_slow(crew, log, manner):
    inbox = crew.inbox("bob")
    fill(inbox, 200_000)
    with rival_at(inbox, manner, log):
        process = crew.start("send", "bob", "killed", "--from", "ann")
        until = time.monotonic() + LONGEST
        while not beside(crew) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(0.3)
        process.kill()
        process.communicate()
    assert timed(crew, "send", "bob", "after", "--from", "ann") < LONGEST
    crew("send", "bob", "at the end", "--from", "ann")
    assert [text for text in texts(crew) if text != "killed"] == ["after", "at the end"]
    assert texts(crew).count("killed") <= 1
    assert beside(crew) == []
    assert lost(inbox, log) == []


@contextmanager
def daemon_of(crew: Atm) -> Iterator[None]:
    process = subprocess.Popen(crew.command("daemon", "run"), env=crew.environment, cwd=crew.folder)
    try:
        until = time.monotonic() + 60
        while crew("daemon", "status", code=None).code and time.monotonic() < until:
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.parametrize("manner", ["place", "rename"])
def test_a_daemon_brings_back_what_a_rival_drops_of_its_own_without_any_command(crew, log, manner, eventually):
    inbox = crew.inbox("bob")

    def found() -> tuple[list[str], list[str], list[str]]:
        """The rival's rows that are gone, ours that are there, and what lies beside."""
        try:
            return lost(inbox, log), texts(crew), beside(crew)
        except ValueError:
            return ["torn"], [], []

    with daemon_of(crew):
        with rival_at(inbox, manner, log):
            for number in range(2):
                crew("send", "bob", f"number {number}", "--from", "ann")
        whole: tuple[list[str], list[str], list[str]] = [], ["number 0", "number 1"], []
        eventually(lambda: found() == whole, otherwise=found)


BRACKETS = {
    "closed": b"[" * 100_000 + b"]" * 100_000,
    "open": b"[" * 100_000,
    "in a row": b'[{"from": "x", "text": "y", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]",
    "objects": b"[" + b'{"a":' * 100_000,
}


@pytest.mark.parametrize("name", BRACKETS)
def test_an_inbox_of_brackets_keeps_nobody_for_long(crew, name):
    crew.inbox("bob").write_bytes(BRACKETS[name])
    begun = time.monotonic()
    sent = crew("send", "bob", "hello", "--from", "ann", "--json").json
    assert time.monotonic() - begun < LONGEST
    assert sent["outcome"] == ("success" if name in ("closed", "in a row") else "queued")
    if sent["outcome"] == "queued":
        assert crew.inbox("bob").read_bytes() == BRACKETS[name]
        crew.inbox("bob").write_bytes(b"[]")
        crew("spool", "retry")
        assert texts(crew) == ["hello"]
    else:
        assert b"[" * 99_999 in crew.inbox("bob").read_bytes()


def test_another_program_that_locks_is_not_kept_out_for_long(crew, log):
    """It takes the lock as Claude Code does, while one send after the other meets the rival."""
    inbox = crew.inbox("bob")
    folder = Path(f"{inbox}.lock")
    fill(inbox, 200_000)
    waits = []
    with rival_at(inbox, "rename", log):
        process = crew.start("send", "bob", "hello", "--from", "ann")
        while process.poll() is None:
            begun = time.monotonic()
            while True:
                try:
                    folder.mkdir()
                    break
                except FileExistsError:
                    time.sleep(0.005)
            waits.append(time.monotonic() - begun)
            folder.rmdir()
            time.sleep(0.02)
        process.communicate()
    assert waits
    assert max(waits) < LONGEST
    assert json.loads(inbox.read_bytes())
