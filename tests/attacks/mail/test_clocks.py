"""Clocks that are set, and time stamps that lie ahead, met by real processes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.conftest import Atm

CLOCKS = """
import os, time

def moved(clock, seconds):
    return lambda: clock() + seconds

time.time = moved(time.time, float(os.environ.get("WALL", "0")))
time.monotonic = moved(time.monotonic, float(os.environ.get("UPTIME", "0")))
"""


@pytest.fixture
def crew(atm, room, tmp_path) -> Atm:
    """Every command has the clock that its environment says: WALL and UPTIME seconds ahead."""
    folder = tmp_path / "clocks"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCKS)
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": "crew", "PYTHONPATH": str(folder)}
    atm.fresh = True
    made: Atm = atm
    return made


def send(crew: Atm, text: str, **clocks: str) -> str:
    outcome: str = crew("send", "bob", text, "--from", "ann", "--json", env=clocks).json["outcome"]
    return outcome


def texts(crew: Atm) -> list[str]:
    return [row["text"] for row in crew.rows("bob")]


def test_a_clock_that_is_set_back_does_not_reverse_queued_mail(crew):
    inbox = crew.inbox("bob")
    inbox.write_bytes(b"not yet")
    hours = [0, -1, -5, 2, -2]
    for number, hour in enumerate(hours):
        assert send(crew, f"number {number}", WALL=str(3600 * hour)) == "queued"
    inbox.write_bytes(b"[]")
    assert send(crew, "last", WALL="-7200") == "success"
    assert texts(crew) == [*(f"number {number}" for number in range(len(hours))), "last"]
    assert crew.pending == []


@pytest.mark.hurried  # it waits for a lock as long as users do
def test_a_lock_folder_from_the_future_is_broken_after_half_a_minute(crew):
    folder = Path(f"{crew.inbox('bob')}.lock")
    folder.mkdir()
    ahead = time.time() + 86_400
    os.utime(folder, (ahead, ahead))
    assert send(crew, "first") == "queued"
    assert folder.exists()
    assert send(crew, "second", UPTIME="31") == "success"
    assert texts(crew) == ["first", "second"]
    assert not folder.exists()
