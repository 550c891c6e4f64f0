"""
kill -9 at every single step of joining, leaving, updating, backing up, restoring, archiving and deleting.

Whatever the step: afterwards one command leaves nothing half made, and what was there before is there or in a backup.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos import ROUNDS, refusals
from tests.crash.conftest import ClosingDisk, Left, silent_kills
from tests.proving import proves

from atm.core.errors import AtmError, TeamCompleted
from atm.files.adapters.machine import find_layout
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.backups import back_up
from atm.roster.services.cleanup import clean_up, plan_cleanup
from atm.roster.services.ending import archive_team, delete_team
from atm.roster.services.members import add_member, create_team, join, leave, update_member
from atm.roster.services.restoring import restore
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.team.services.lifecycle import advance, standing
from atm.testing import Crash, FaultyDisk, QuickDisk
from atm.wiring.mail import build_room

pytestmark = pytest.mark.campaign  # there every step is looked at, and is refused in every way

Act = Callable[[Teamroom], object]


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
    room = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk or QuickDisk(), clock=HurriedClock())
    if disk is None:
        room.clock.sleep(31)  # a lock that looks foreign is given up
    return room


def a_team(home: Path) -> None:
    room = build_room(find_layout({"ATM_HOME": str(home)}))
    create_team(room, "crew", lead="ann")
    add_member(room, "crew", Member("bob"))
    send(room, "crew", "bob", Draft(sender="ann", text="before"))
    room.files.put_tasks("crew", {1: b'{"id": "1", "subject": "s", "status": "pending"}'}, 3)


def copied(tmp_path: Path) -> Path:
    """What was prepared, once more: copying takes a tenth of the time of making it again. The last one is gone."""
    home = tmp_path / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(tmp_path / "ready", home, symlinks=True)
    return home


def every_kill(tmp_path: Path, prepare: Callable[[Path], object], act: Act, check: Callable[[Path, str], None]) -> int:
    """Kill at any step of the act; check what is left each time. How many steps there are."""
    prepare(tmp_path / "ready")
    counted, left = FaultyDisk(QuickDisk()), Left()
    act(a_room(home := copied(tmp_path), counted))
    check(home, "not killed")
    for step in silent_kills(counted.steps):
        home = copied(tmp_path)
        with pytest.raises(Crash):
            act(a_room(home, FaultyDisk(QuickDisk(), stop_at=step)))
        if left.is_new(home):
            check(home, f"killed at step {step} ({counted.steps[step]})")
    return len(counted.steps)


def litter(home: Path) -> list[str]:
    """Temporary files and locks in folders that others read, and whatever is not a whole backup."""
    found = [
        path
        for root in (home / ".claude", home / ".config/atm/backups")
        for path in root.rglob("*")
        if ".atm-" in path.name or ".partial" in path.name or ".deleted-" in path.name or path.name.endswith(".lock")
    ]
    return [str(path) for path in found if path.name != ".lock"]


def is_whole(home: Path, team: str = "crew") -> None:
    """Everybody on the roster has an inbox, and the other way round; every file is JSON."""
    folder = home / ".claude/teams" / team
    names = [member["name"] for member in json.loads((folder / "config.json").read_bytes())["members"]]
    owners = [path.stem for path in (folder / "inboxes").glob("*.json")]
    assert sorted(names) == sorted(owners)
    for path in (folder / "inboxes").glob("*.json"):
        json.loads(path.read_bytes())
    json.loads((folder / "state.json").read_bytes())


def next_command(home: Path) -> Teamroom:
    """The next roster command that somebody runs, and a clean-up."""
    room = a_room(home)
    add_member(room, "crew", Member("dora"))
    clean_up(plan_cleanup(room, "crew"))
    return room


def test_joining_killed_anywhere_is_done_or_not(tmp_path):
    def check(home: Path, when: str) -> None:
        room = next_command(home)
        is_whole(home)
        assert room.rosters.abandoned("crew") == [], when
        join(room, "crew", Member("cleo", cwd="/w"))
        assert room.rosters.load("crew").names.count("cleo") == 1, when
        assert litter(home) == [], when

    steps = every_kill(tmp_path, a_team, lambda room: join(room, "crew", Member("cleo", cwd="/w")), check)
    assert steps > 40


def test_joining_again_killed_anywhere_leaves_the_member_whole(tmp_path):
    def prepare(home: Path) -> None:
        a_team(home)
        join(build_room(find_layout({"ATM_HOME": str(home)})), "crew", Member("bob", cwd="/old"))

    def check(home: Path, when: str) -> None:
        room = next_command(home)
        is_whole(home)
        bob = room.rosters.load("crew").member("bob")
        assert bob is not None
        assert bob.cwd in ("/old", "/new"), when
        assert litter(home) == [], when

    every_kill(tmp_path, prepare, lambda room: join(room, "crew", Member("bob", cwd="/new")), check)


def test_leaving_killed_anywhere_is_done_or_not_and_no_mail_is_lost(tmp_path):
    def check(home: Path, when: str) -> None:
        room = next_command(home)
        is_whole(home)
        archived = "".join(path.read_text() for path in home.rglob("archive-*.json"))
        inbox = home / ".claude/teams/crew/inboxes/bob.json"
        assert "before" in (inbox.read_text() if inbox.exists() else archived), when
        assert room.rosters.abandoned("crew") == [], when
        assert litter(home) == [], when

    every_kill(tmp_path, a_team, lambda room: leave(room, "crew", "bob", force=True), check)


def test_an_update_killed_anywhere_is_done_or_not(tmp_path):
    def check(home: Path, when: str) -> None:
        room = next_command(home)
        is_whole(home)
        bob = room.rosters.load("crew").member("bob")
        assert bob is not None
        assert (bob.model, bob.color) in (("", ""), ("opus", "blue")), when
        assert litter(home) == [], when

    every_kill(
        tmp_path, a_team, lambda room: update_member(room, "crew", "bob", {"model": "opus", "color": "blue"}), check
    )


def test_creating_killed_anywhere_is_done_or_not_and_can_be_repeated(tmp_path):
    def check(home: Path, when: str) -> None:
        room = a_room(home)
        create_team(room, "crew", lead="ann")
        is_whole(home)
        assert room.rosters.load("crew").names == ["ann"], when
        assert standing(room, "crew").status == "pending", when

    every_kill(tmp_path, lambda home: home.mkdir(), lambda room: create_team(room, "crew", lead="ann"), check)


def test_a_move_killed_anywhere_is_made_or_not(tmp_path):
    def check(home: Path, when: str) -> None:
        room = a_room(home)
        assert standing(room, "crew").status in ("pending", "active"), when
        advance(room, "crew", "active", "bob")
        assert standing(room, "crew").status == "active"
        assert [path.name for path in (home / ".claude/teams/crew").glob(".state*")] == [], when

    every_kill(tmp_path, a_team, lambda room: advance(room, "crew", "active", "ann"), check)


def test_a_backup_killed_anywhere_exists_whole_or_not_at_all(tmp_path):
    def prepare(home: Path) -> None:
        a_team(home)
        room = build_room(find_layout({"ATM_HOME": str(home)}))
        for _ in range(5):
            back_up(room, "crew")

    def check(home: Path, when: str) -> None:
        room = a_room(home)
        kept = room.backups.kept("crew")
        assert len(kept) in (5, 6), when
        for one in kept:
            assert room.backups.read("crew", one.name).files["team/inboxes/bob.json"], when
        back_up(room, "crew")
        assert len(room.backups.kept("crew")) == 5, when
        assert litter(home) == [], when

    steps = every_kill(tmp_path, prepare, lambda room: back_up(room, "crew"), check)
    assert steps > 60


def test_a_restore_killed_anywhere_leaves_no_team_or_a_whole_one(tmp_path):
    def prepare(home: Path) -> None:
        a_team(home)
        delete_team(build_room(find_layout({"ATM_HOME": str(home)})), "crew", force=True)

    def check(home: Path, when: str) -> None:
        room = a_room(home)
        if room.rosters.find("crew") is not None:
            is_whole(home)
        restore(room, "crew")
        is_whole(home)
        assert [row.text for row in room.inboxes.rows("crew", "bob")] == ["before"], when
        assert room.files.tasks("crew").numbers == {1}, when
        assert room.files.tasks("crew").mark == 3, when
        next_command(home)
        assert room.rosters.abandoned("crew") == [], when
        assert litter(home) == [], when

    steps = every_kill(tmp_path, prepare, lambda room: restore(room, "crew"), check)
    assert steps > 60


def test_a_restore_into_a_living_team_is_finished_by_the_next_roster_command(tmp_path):
    def prepare(home: Path) -> None:
        a_team(home)
        room = build_room(find_layout({"ATM_HOME": str(home)}))
        join(room, "crew", Member("cleo"))
        back_up(room, "crew")
        for name in ("bob", "cleo"):
            leave(room, "crew", name, force=True)

    def check(home: Path, when: str) -> None:
        room = a_room(home)
        was_begun = bool(room.rosters.abandoned("crew")) or when == "not killed"
        next_command(home)
        is_whole(home)
        names = set(room.rosters.load("crew").names)
        if was_begun:
            assert {"bob", "cleo"} <= names, when
        assert {"bob", "cleo"} & names in ({"bob", "cleo"}, set()), f"half restored {when}"
        assert room.rosters.abandoned("crew") == [], when
        assert litter(home) == [], when

    every_kill(tmp_path, prepare, lambda room: restore(room, "crew"), check)


@proves("R004-gap-p3-07", "R004-gap-p3-08")
def test_a_deletion_killed_anywhere_did_not_happen_or_is_finished(tmp_path):
    def check(home: Path, when: str) -> None:
        room = a_room(home)
        gone = room.rosters.find("crew") is None
        create_team(room, "other")  # any roster command
        add_member(room, "other", Member("zoe"))
        if gone:
            assert not (home / ".claude/teams/crew").exists(), when
            assert not (home / ".claude/tasks/crew").exists(), when
            assert b"before" in room.backups.read("crew", None).files["team/inboxes/bob.json"], when
            assert room.backups.read("crew", None).files["tasks/1.json"], when
            room.backups.sweep("crew")
        else:
            is_whole(home)
            assert room.files.tasks("crew").numbers == {1}, when
            assert delete_team(room, "crew", force=True).done, when
        assert room.files.cut_off() == [], when
        assert litter(home) == [], when

    steps = every_kill(tmp_path, a_team, lambda room: delete_team(room, "crew", force=True), check)
    assert steps > 100


def test_archiving_killed_anywhere_can_be_repeated(tmp_path):
    def check(home: Path, when: str) -> None:
        room = a_room(home)
        done = archive_team(room, "crew", "bob", force=True)
        assert standing(room, "crew").status == "complete", when
        assert json.loads((home / ".claude/teams/crew/state.json").read_bytes())["status"] == "complete", when
        assert room.backups.read("crew", done.backup_path).files["team/COMPLETED"], when
        with pytest.raises(TeamCompleted):
            add_member(room, "crew", Member("dora"))
        room.backups.sweep("crew")
        assert litter(home) == [], when

    every_kill(tmp_path, a_team, lambda room: archive_team(room, "crew", "ann", force=True), check)


ACTS: dict[str, Act] = {
    "join": lambda room: join(room, "crew", Member("cleo", cwd="/w")),
    "backup": lambda room: back_up(room, "crew"),
    "restore": lambda room: restore(room, "crew"),
    "delete": lambda room: delete_team(room, "crew", force=True),
}


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("verb", ACTS)
def test_an_error_at_any_step_is_done_or_a_clear_refusal(tmp_path, verb, turn):
    a_team(tmp_path / "ready")
    if verb == "restore":
        delete_team(build_room(find_layout({"ATM_HOME": str(tmp_path / "ready")})), "crew", force=True)
    counted, left = FaultyDisk(QuickDisk()), Left()
    ACTS[verb](a_room(copied(tmp_path), counted))
    for refusal in refusals(counted.steps, turn + [*ACTS].index(verb)):
        home = copied(tmp_path)
        disk = ClosingDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
        try:
            ACTS[verb](a_room(home, disk))
        except AtmError:
            pass  # said in words; what it left is looked at below
        except OSError:
            if refusal.call != "close":
                raise
        if not left.is_new(home):
            continue
        room = a_room(home)
        if room.rosters.find("crew") is None and verb == "delete":
            assert b"before" in room.backups.read("crew", None).files["team/inboxes/bob.json"], refusal
        if room.rosters.find("crew") is None:
            restore(room, "crew")
        next_command(home)
        is_whole(home)
        assert [row.text for row in room.inboxes.rows("crew", "bob")] == ["before"], refusal
