"""The mark that holds mail back counts for as long as the daemon that set it lives."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from atm.files.adapters.processes import began, boot_id
from atm.roster.services.members import create_team
from atm.team.formats.lead_fields import away_mark
from atm.wiring.files import find_layout
from atm.wiring.mail import build_room


@pytest.fixture
def room(tmp_path):
    made = build_room(find_layout({"HOME": str(tmp_path)}))
    create_team(made, "crew", lead="ann")
    return made


def test_one_of_a_process_that_lives_counts(room):
    room.states.set_lead_away("crew", away_mark("", os.getpid(), began(os.getpid()), boot_id()))
    assert room.rosters.load("crew").lead_is_away


def test_one_of_a_daemon_that_was_killed_does_not(room):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    room.states.set_lead_away("crew", away_mark("", process.pid, began(process.pid), boot_id()))
    assert room.rosters.is_lead_away("crew")
    process.communicate(b"\n")
    assert not room.rosters.is_lead_away("crew")


@pytest.mark.parametrize(
    "mark",
    [
        b"",
        b"no json",
        away_mark("", os.getpid(), "another time", boot_id()),
        away_mark("", os.getpid(), began(os.getpid()), "another start of the machine"),
        away_mark("", 0, "", ""),
    ],
    ids=["empty", "garbage", "another time", "another start", "nobody"],
)
def test_neither_does_one_of_another_process_or_garbage(room, mark):
    room.states.set_lead_away("crew", mark)
    assert not room.rosters.is_lead_away("crew")
