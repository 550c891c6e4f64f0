"""
kill -9 at every single step of a send, a read, an acknowledgement and a clean-up.

First with a disk that stops the world at step n, then with real signals. Whatever the step, afterwards: every
file is whole, what was reported is there once, nothing is there twice, and the next command works.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from atm.domain.retention import Policy
from atm.domain.team import Member
from atm.formats.inbox import only
from atm.services.conversations import acknowledge
from atm.services.mail import Letter, send
from atm.services.mail_upkeep import compact, drain, put_back_dropped
from atm.services.mailroom import Mailroom
from atm.services.reading import Filter, take
from atm.services.roster import add_member, create_team, remove_member
from atm.system.machine import find_layout
from atm.testing import Crash, FaultyDisk, QuickDisk, make_message
from atm.wiring import build_room


class HurriedClock:
    """Real time, but waiting takes none: locks that must be waited for are waited for in no time."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


def a_room(home: Path, disk: FaultyDisk | None = None) -> Mailroom:
    layout = find_layout({"ATM_HOME": str(home)})
    return build_room(layout, disk=disk or QuickDisk(), clock=HurriedClock())


def a_team(home: Path) -> None:
    room = a_room(home)
    create_team(room, "crew")
    for name in ("ann", "bob"):
        add_member(room, "crew", Member(name))
    send(room, "crew", "ann", Letter(sender="bob", text="before"))


def ids_in(home: Path, agent: str) -> list[str]:
    """Reads with the standard parser, so a torn file fails here."""
    path = home / ".claude/teams/crew/inboxes" / f"{agent}.json"
    return [row["message_id"] for row in json.loads(path.read_bytes()) if "message_id" in row]


def litter(home: Path) -> list[str]:
    found = [*(home / ".claude/teams/crew").rglob(".*atm-*"), *(home / ".claude/teams/crew").rglob("*.lock")]
    return [str(path) for path in found]


def settle(home: Path, agent: str = "ann") -> None:
    """The next commands that somebody runs. Half a minute has passed, so a lock that looks foreign is given up."""
    room = a_room(home)
    room.clock.sleep(31)
    for number in range(10):
        send(room, "crew", agent, Letter(sender="bob", text=f"after {number}"))
    drain(room, everything=True)
    put_back_dropped(room, room.rosters.load("crew"), everything=True)


def steps_of(home: Path, act) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    act(a_room(home, disk))
    return disk.steps


def send_one(room: Mailroom) -> str:
    return send(room, "crew", "ann", Letter(sender="bob", text="the one")).message_id


def test_a_send_takes_a_known_number_of_steps(home):
    a_team(home)
    steps = steps_of(home, send_one)
    assert {"exchange", "sync", "sync_folder", "make_folder", "lock"} <= set(steps)
    assert len(steps) < 120


@pytest.mark.parametrize("part", range(8))
def test_kill_minus_nine_at_any_step_of_a_send_loses_and_doubles_nothing(tmp_path, part):
    first = tmp_path / "count"
    a_team(first)
    total = len(steps_of(first, send_one))
    for step in range(part, total, 8):
        home = tmp_path / f"step-{step}"
        a_team(home)
        with pytest.raises(Crash):
            send_one(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)), f"doubled after a kill at step {step}"
        assert len(ids) in (11, 12), f"{len(ids)} rows after a kill at step {step}"
        assert litter(home) == [], f"left behind by a kill at step {step}"


@pytest.mark.parametrize("errno_name", ["ENOSPC", "EACCES", "EROFS", "EIO"])
def test_an_error_at_any_step_of_a_send_is_success_queued_or_a_clear_refusal(tmp_path, errno_name):
    import errno
    import os

    from atm.domain.errors import AtmError

    number = getattr(errno, errno_name)
    first = tmp_path / "count"
    a_team(first)
    total = len(steps_of(first, send_one))
    for step in range(total):
        home = tmp_path / f"step-{step}"
        a_team(home)
        disk = FaultyDisk(QuickDisk(), stop_at=step, error=OSError(number, os.strerror(number)))
        try:
            reported: str | None = send_one(a_room(home, disk))
        except AtmError:
            reported = None
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)), f"doubled after {errno_name} at step {step} ({disk.steps[step]})"
        assert reported is None or reported in ids, f"lost after {errno_name} at step {step} ({disk.steps[step]})"
        assert litter(home) == [], f"left behind by {errno_name} at step {step} ({disk.steps[step]})"


def test_kill_minus_nine_at_any_step_of_a_read_shows_nothing_twice(tmp_path):
    def read_all(room: Mailroom) -> None:
        take(room, "crew", "ann", Filter())

    first = tmp_path / "count"
    a_team(first)
    total = len(steps_of(first, read_all))
    for step in range(total):
        home = tmp_path / f"step-{step}"
        a_team(home)
        with pytest.raises(Crash):
            read_all(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)) == 11, f"after a kill at step {step}"
        assert litter(home) == []


def test_an_acknowledgement_is_all_or_nothing_wherever_it_is_killed(tmp_path):
    def answer(room: Mailroom) -> None:
        id = room.inboxes.rows("crew", "ann")[0].id
        assert id is not None
        acknowledge(room, "crew", "ann", id, "my reply")

    first = tmp_path / "count"
    a_team(first)
    total = len(steps_of(first, answer))
    for step in range(total):
        home = tmp_path / f"step-{step}"
        a_team(home)
        with pytest.raises(Crash):
            answer(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        settle(home, "bob")
        room = a_room(home)
        replies = [row for row in room.inboxes.rows("crew", "bob") if row.text == "my reply"]
        marked = room.inboxes.rows("crew", "ann")[0].read
        assert len(replies) == int(marked), f"half done after a kill at step {step}"
        assert litter(home) == []


def test_a_clean_up_killed_anywhere_loses_no_row(tmp_path):
    old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(30)]

    def clean(room: Mailroom) -> None:
        room.policy = Policy(keep_read=5, keep_days=1)
        compact(room, "crew", "ann")

    def prepare(home: Path) -> None:
        a_team(home)
        path = home / ".claude/teams/crew/inboxes/ann.json"
        path.write_bytes(only([row.raw for row in old]))

    first = tmp_path / "count"
    prepare(first)
    total = len(steps_of(first, clean))
    for step in range(total):
        home = tmp_path / f"step-{step}"
        prepare(home)
        with pytest.raises(Crash):
            clean(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        archived = "".join(path.read_text() for path in home.rglob("archive-*.json"))
        inbox = (home / ".claude/teams/crew/inboxes/ann.json").read_text()
        lost = [row.id for row in old if f'"{row.id}"' not in inbox and f'"{row.id}"' not in archived]
        assert lost == [], f"after a kill at step {step}"
        settle(home)
        assert not any(
            str(row.id).startswith("old-") and not row.read for row in a_room(home).inboxes.rows("crew", "ann")
        )


@pytest.mark.parametrize("verb", ["add", "remove"])
def test_a_member_is_never_left_half_done(tmp_path, verb):
    def act(room: Mailroom) -> None:
        if verb == "add":
            add_member(room, "crew", Member("cleo"))
        else:
            remove_member(room, "crew", "bob", force=True)

    name = "cleo" if verb == "add" else "bob"
    first = tmp_path / "count"
    a_team(first)
    total = len(steps_of(first, act))
    for step in range(total):
        home = tmp_path / f"step-{step}"
        a_team(home)
        with pytest.raises(Crash):
            act(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        room = a_room(home)
        room.clock.sleep(31)
        add_member(room, "crew", Member("dora"))
        in_roster = room.rosters.load("crew").member(name) is not None
        assert in_roster == room.inboxes.exists("crew", name), f"half done after a kill at step {step}"
        assert room.rosters.abandoned("crew") == []


WORKER = """
import sys
from pathlib import Path
from atm.services.mail import Letter, send
from atm.system.files.disk import RealDisk
from atm.system.machine import find_layout
from atm.testing import FaultyDisk
from atm.wiring import build_room

layout = find_layout({"ATM_HOME": sys.argv[1]})
room = build_room(layout, disk=FaultyDisk(RealDisk(), stop_at=int(sys.argv[2]), for_real=True))
send(room, "crew", "ann", Letter(sender="bob", text="the one"))
"""


@pytest.mark.parametrize("part", range(4))
def test_a_real_kill_signal_at_every_step_of_a_send_loses_and_doubles_nothing(tmp_path, part):
    """Until a process gets to its end: how many steps that takes depends on how old the file is when it starts."""
    for step in count(part, 4):
        home = tmp_path / f"step-{step}"
        a_team(home)
        done = subprocess.run([sys.executable, "-c", WORKER, str(home), str(step)], check=False, timeout=60)
        assert done.returncode in (-9, 0)
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)), f"doubled after a kill at step {step}"
        assert len(ids) in ((11, 12) if done.returncode else (12,)), f"after a kill at step {step}"
        assert litter(home) == []
        if done.returncode == 0:
            assert step > 40
            return
