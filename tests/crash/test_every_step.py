"""
kill -9 at every single step of a send, a read, an acknowledgement and a clean-up.

First with a disk that stops the world at step n, then with real signals. Whatever the step, afterwards: every
file is whole, what was reported is there once, nothing is there twice, and the next command works.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.chaos import ROUNDS, refusals
from tests.crash.conftest import Left, copied_or, made_by, silent_kills
from tests.proving import proves

from atm.core.errors import AtmError
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import find_layout
from atm.mail.formats.inbox import only
from atm.mail.rules.lifetimes import RetentionPolicy
from atm.mail.services.conversations import acknowledge
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.retention import compact
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, create_team, remove_member
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import Crash, FaultyDisk, QuickDisk, make_message
from atm.wiring.mail import build_room

pytestmark = pytest.mark.campaign  # there every step is looked at, and is refused in every way


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


def a_room(home: Path, disk: FaultyDisk | None = None) -> Teamroom:
    layout = find_layout({"ATM_HOME": str(home)})
    return build_room(layout, disk=disk or QuickDisk(), clock=HurriedClock())


def new_team(home: Path) -> None:
    room = a_room(home)
    create_team(room, "crew")
    for name in ("ann", "bob"):
        add_member(room, "crew", Member(name))


def a_team(home: Path) -> None:
    copied_or(new_team, home)
    send(a_room(home), "crew", "ann", Draft(sender="bob", text="before"))


def a_team_made_here(home: Path) -> None:
    """For those who change the roster, of which the files that we know again are a part."""
    new_team(home)
    send(a_room(home), "crew", "ann", Draft(sender="bob", text="before"))


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
        send(room, "crew", agent, Draft(sender="bob", text=f"after {number}"))
    drain(room, everything=True)
    put_back_dropped(room, room.rosters.load("crew"), everything=True)


Act = Callable[[Teamroom], object]
Prepare = Callable[[Path], object]


def steps_of(prepare: Prepare, tmp_path: Path, act: Act) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    with made_by(prepare, tmp_path) as home:
        act(a_room(home, disk))
    return disk.steps


def every_kill(prepare: Prepare, tmp_path: Path, act: Act) -> Iterator[tuple[str, Path]]:
    """What is left after a kill at any step of the act."""
    steps, left = steps_of(prepare, tmp_path, act), Left()
    for step in silent_kills(steps):
        with made_by(prepare, tmp_path) as home:
            with pytest.raises(Crash):
                act(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
            if left.is_new(home):
                yield f"after a kill at step {step} ({steps[step]})", home


def send_one(room: Teamroom) -> str:
    return send(room, "crew", "ann", Draft(sender="bob", text="the one")).message_id


@proves("R001-3.2-10", "R001-3.2-20")
def test_a_send_takes_a_known_number_of_steps(tmp_path):
    steps = steps_of(a_team, tmp_path, send_one)
    assert {"exchange", "sync", "sync_folder", "make_folder", "lock"} <= set(steps)
    assert len(steps) < 120


def read_all(room: Teamroom) -> None:
    take(room, "crew", "ann", Filter())


@pytest.mark.parametrize("act", [send_one, read_all], ids=["send", "read"])
def test_a_kill_at_a_step_that_is_left_out_leaves_what_another_leaves(tmp_path, act):
    """The ground on which `kills` and `silent_kills` stand, on every step of the two that matter most."""
    steps, left = steps_of(a_team, tmp_path, act), Left()
    tried = silent_kills(steps)
    leave_their_own = []
    for step in sorted(range(len(steps)), key=lambda step: step not in tried):
        with made_by(a_team, tmp_path) as home:
            with pytest.raises(Crash):
                act(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
            if left.is_new(home) and step not in tried:
                leave_their_own.append(f"step {step} ({steps[step]})")
    assert leave_their_own == []


@proves("R001-1-04", "R001-1-10", "R001-2.2-07", "R001-3.2-27", "R001-8.3-03")
def test_kill_minus_nine_at_any_step_of_a_send_loses_and_doubles_nothing(tmp_path):
    for when, home in every_kill(a_team, tmp_path, send_one):
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)), f"doubled {when}"
        assert len(ids) in (11, 12), f"{len(ids)} rows {when}"
        assert litter(home) == [], f"left behind {when}"


@proves("R001-3.2-02", "R001-3.3-17", "R001-8.1-07")
@pytest.mark.parametrize("turn", ROUNDS)
def test_an_error_at_any_step_of_a_send_is_success_queued_or_a_clear_refusal(tmp_path, turn):
    left = Left()
    for refusal in refusals(steps_of(a_team, tmp_path, send_one), turn):
        with made_by(a_team, tmp_path) as home:
            disk = FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
            try:
                reported: str | None = send_one(a_room(home, disk))
            except AtmError:
                reported = None
            # What could not be closed stays open and locked in this process: each time that is something else.
            if not left.is_new(home, (reported is None, refusal.call == "close" and refusal.step)):
                continue
            settle(home)
            ids = ids_in(home, "ann")
            assert len(ids) == len(set(ids)), f"doubled after {refusal}"
            if reported is not None:
                assert reported in ids, f"lost after {refusal}"
            assert litter(home) == [], f"left behind by {refusal}"


def answer(room: Teamroom) -> None:
    id = room.inboxes.rows("crew", "ann")[0].id
    assert id is not None
    acknowledge(room, "crew", "ann", id, "my reply")


@pytest.mark.parametrize("act", [send_one, read_all, answer])
def test_where_the_team_was_copied_the_steps_are_the_same(tmp_path, act):
    here, copied = tmp_path / "here", tmp_path / "copied"
    here.mkdir()
    copied.mkdir()
    assert steps_of(a_team, copied, act) == steps_of(a_team_made_here, here, act)


@proves("R001-4.2-read-09")
def test_kill_minus_nine_at_any_step_of_a_read_shows_nothing_twice(tmp_path):
    for when, home in every_kill(a_team, tmp_path, read_all):
        settle(home)
        ids = ids_in(home, "ann")
        assert len(ids) == len(set(ids)) == 11, when
        assert litter(home) == [], when


def test_an_acknowledgement_is_all_or_nothing_wherever_it_is_killed(tmp_path):
    for when, home in every_kill(a_team, tmp_path, answer):
        settle(home, "bob")
        room = a_room(home)
        replies = [row for row in room.inboxes.rows("crew", "bob") if row.text == "my reply"]
        marked = room.inboxes.rows("crew", "ann")[0].read
        assert len(replies) == int(marked), f"half done {when}"
        assert litter(home) == [], when


@proves("R000-compaction-07")
def test_a_clean_up_killed_anywhere_loses_no_row(tmp_path):
    old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(30)]

    def prepare(home: Path) -> None:
        a_team(home)
        (home / ".claude/teams/crew/inboxes/ann.json").write_bytes(only([row.raw for row in old]))

    def clean(room: Teamroom) -> None:
        room.policy = RetentionPolicy(keep_read=5, keep_days=1)
        compact(room, "crew", "ann")

    for when, home in every_kill(prepare, tmp_path, clean):
        archived = "".join(path.read_text() for path in home.rglob("archive-*.json"))
        inbox = (home / ".claude/teams/crew/inboxes/ann.json").read_text()
        lost = [row.id for row in old if f'"{row.id}"' not in inbox and f'"{row.id}"' not in archived]
        assert lost == [], when
        settle(home)
        assert not any(
            str(row.id).startswith("old-") and not row.read for row in a_room(home).inboxes.rows("crew", "ann")
        )


@pytest.mark.parametrize("verb", ["add", "remove"])
def test_a_member_is_never_left_half_done(tmp_path, verb):
    def act(room: Teamroom) -> None:
        if verb == "add":
            add_member(room, "crew", Member("cleo"))
        else:
            remove_member(room, "crew", "bob", force=True)

    name = "cleo" if verb == "add" else "bob"
    for when, home in every_kill(a_team_made_here, tmp_path, act):
        room = a_room(home)
        room.clock.sleep(31)
        add_member(room, "crew", Member("dora"))
        in_roster = room.rosters.load("crew").member(name) is not None
        assert in_roster == room.inboxes.exists("crew", name), f"half done {when}"
        assert room.rosters.abandoned("crew") == [], when


def send_and_die(home: str, step: str) -> None:
    disk = FaultyDisk(RealDisk(), stop_at=int(step), for_real=True)
    send_one(build_room(find_layout({"ATM_HOME": home}), disk=disk))


@proves("R001-1-08", "R001-3.2-02", "R001-10-10", "R003-5.1-06")
def test_a_real_kill_signal_at_every_step_of_a_send_loses_and_doubles_nothing(tmp_path, zygote):
    """Until a process gets to its end: how many steps that takes depends on how old the file is when it starts."""
    send_in_a_process, left = zygote(send_and_die), Left()
    for step in count():
        with made_by(a_team, tmp_path) as home:
            code = send_in_a_process(home, step)
            assert code in (-9, 0)
            if left.is_new(home, code):
                settle(home)
                ids = ids_in(home, "ann")
                assert len(ids) == len(set(ids)), f"doubled after a kill at step {step}"
                assert len(ids) in ((11, 12) if code else (12,)), f"after a kill at step {step}"
                assert litter(home) == []
        if code == 0:
            assert step > 40
            return
