"""Surfacings and endpoints: one contract for the twins and for the files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from atm.core.errors import AtmError
from atm.files.adapters.machine import find_layout
from atm.mail.rules.surfacing import HOOK, ShowingNote
from atm.roster.services.members import add_member
from atm.roster.services.teamroom import Teamroom
from atm.team.formats.team_config import new_team
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.team import Member
from atm.testing import FaultyDisk, QuickDisk, memory_room
from atm.wiring.mail import build_room


@pytest.fixture(params=["memory", "files"])
def stores(request, home) -> Teamroom:
    """A room with a team `crew` of ann and bob."""
    made = memory_room() if request.param == "memory" else on_files(home)
    made.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=made.clock.now()))
    for name in ("ann", "bob"):
        add_member(made, "crew", Member(name))
    return made


def on_files(home: Path, disk: FaultyDisk | None = None) -> Teamroom:
    return build_room(find_layout({"ATM_HOME": str(home)}), disk=disk or QuickDisk())


def note(*keys: object, where: str = "") -> ShowingNote:
    return ShowingNote(keys=list(keys) or ["m-1"], channel=HOOK, at=1000.5, where=where)


def endpoint(session: str = "s-1", **more: object) -> Endpoint:
    return Endpoint(vendor="claude", session=session, at=1000.0, **more)  # type: ignore[arg-type]


class TestSurfacings:
    def test_a_turn_is_held_by_one_at_a_time(self, stores):
        with stores.surfacings.turn("crew", "ann") as held:
            assert held
            with stores.surfacings.turn("crew", "ann") as second:
                assert not second
            with stores.surfacings.turn("crew", "ann") as third:
                assert not third, "whoever was turned away took the turn with him when he left"
        with stores.surfacings.turn("crew", "ann") as after:
            assert after

    def test_turns_of_two_members_do_not_disturb_each_other(self, stores):
        with stores.surfacings.turn("crew", "ann") as one, stores.surfacings.turn("crew", "bob") as other:
            assert (one, other) == (True, True)

    def test_a_turn_ends_with_the_error_in_it(self, stores):
        with pytest.raises(ZeroDivisionError), stores.surfacings.turn("crew", "ann"):
            raise ZeroDivisionError
        with stores.surfacings.turn("crew", "ann") as held:
            assert held

    def test_nobody_died_where_nobody_was(self, stores):
        turn = stores.surfacings.turn("crew", "ann")
        with turn:
            assert turn.abandoned() is None
        assert not stores.surfacings.is_cut_off("crew", "ann")

    def test_what_was_begun_and_not_ended_is_found(self, stores):
        turn = stores.surfacings.turn("crew", "ann")
        with turn:
            turn.begin(note("m-1", ("bob", "then", "words"), where="claude s-1"))
        assert stores.surfacings.is_cut_off("crew", "ann")
        assert not stores.surfacings.is_cut_off("crew", "bob")
        assert isinstance(stores.surfacings.cut_off_since("crew", "ann"), float)
        assert stores.surfacings.cut_off_since("crew", "bob") is None
        again = stores.surfacings.turn("crew", "ann")
        with again:
            found = again.abandoned()
        assert found is not None
        assert (found.keys, found.channel, found.at, found.where) == (
            ["m-1", ("bob", "then", "words")],
            HOOK,
            1000.5,
            "claude s-1",
        )

    def test_what_was_ended_is_gone(self, stores):
        turn = stores.surfacings.turn("crew", "ann")
        with turn:
            turn.begin(note())
            turn.end()
            assert turn.abandoned() is None
        assert not stores.surfacings.is_cut_off("crew", "ann")

    def test_ending_twice_or_without_a_beginning_is_no_error(self, stores):
        turn = stores.surfacings.turn("crew", "ann")
        with turn:
            turn.end()
            turn.begin(note())
            turn.end()
            turn.end()
            assert turn.abandoned() is None
        assert not stores.surfacings.is_cut_off("crew", "ann")

    def test_a_second_note_takes_the_place_of_the_first(self, stores):
        turn = stores.surfacings.turn("crew", "ann")
        with turn:
            turn.begin(note("m-1"))
            turn.begin(note("m-2"))
            found = turn.abandoned()
        assert found is not None
        assert found.keys == ["m-2"]

    def test_a_long_text_is_kept_and_its_path_says_where(self, stores):
        path = stores.surfacings.keep_text("crew", "ann", "m-1", "long\ntext ünï \ud800")
        assert path.endswith(".md")
        assert "crew/ann" in path

    def test_two_texts_lie_in_two_places(self, stores):
        keep = stores.surfacings.keep_text
        assert keep("crew", "ann", "m-1", "one") != keep("crew", "ann", "m-2", "two")
        assert keep("crew", "ann", "m-1", "one") != keep("crew", "bob", "m-1", "one")

    def test_two_ids_never_share_a_file(self, stores):
        """Another's message, even one with an id made up for it, must not lie where somebody was told to read."""
        ids = ["a1", "a/1", "a.1", "../a1", "a 1", "a" * 100, "a" * 99 + "b", "…", "message"]
        assert len({stores.surfacings.keep_text("crew", "ann", id, f"text {id}") for id in ids}) == len(ids)


class TestEndpoints:
    def test_nobody_is_known_at_first(self, stores):
        assert stores.endpoints.of("crew", "ann") is None
        assert stores.endpoints.known("crew") == []

    def test_what_was_put_is_there(self, stores):
        stores.endpoints.put("crew", "ann", endpoint(pane="%1", server="/s", pane_pid=7, unconfirmed=["m-1"]))
        found = stores.endpoints.of("crew", "ann")
        assert found is not None
        assert (found.vendor, found.session, found.pane, found.server, found.pane_pid) == (
            "claude",
            "s-1",
            "%1",
            "/s",
            7,
        )
        assert found.unconfirmed == ["m-1"]
        assert stores.endpoints.known("crew") == ["ann"]

    def test_a_newer_one_takes_its_place(self, stores):
        stores.endpoints.put("crew", "ann", endpoint("s-1", pane="%1"))
        stores.endpoints.put("crew", "ann", endpoint("s-2"))
        found = stores.endpoints.of("crew", "ann")
        assert found is not None
        assert (found.session, found.pane) == ("s-2", "")

    def test_forgotten_is_forgotten_and_once_more_is_no_error(self, stores):
        stores.endpoints.put("crew", "ann", endpoint())
        stores.endpoints.forget("crew", "ann")
        stores.endpoints.forget("crew", "ann")
        assert stores.endpoints.of("crew", "ann") is None
        assert stores.endpoints.known("crew") == []

    def test_everybody_is_listed_in_order(self, stores):
        for name in ("bob", "ann"):
            stores.endpoints.put("crew", name, endpoint())
        assert stores.endpoints.known("crew") == ["ann", "bob"]
        assert stores.endpoints.known("other") == []

    def test_what_one_was_given_is_a_copy(self, stores):
        stores.endpoints.put("crew", "ann", endpoint())
        found = stores.endpoints.of("crew", "ann")
        assert found is not None
        found.session = "changed"
        found.unconfirmed.append("m-9")
        again = stores.endpoints.of("crew", "ann")
        assert again is not None
        assert (again.session, again.unconfirmed) == ("s-1", [])


# What only files can do.


def test_a_text_on_disk_is_the_text_and_nobody_elses_business(room):
    path = Path(room.surfacings.keep_text("crew", "ann", "m-1", "long\ntext ünï"))
    assert path.read_text() == "long\ntext ünï"
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_only_so_many_texts_are_kept_and_the_newest_always(room):
    paths = [Path(room.surfacings.keep_text("crew", "ann", f"m-{n}", f"text {n}")) for n in range(60)]
    assert paths[-1].read_text() == "text 59"
    assert len(list(paths[0].parent.iterdir())) == 50


def test_a_text_whose_id_is_a_path_stays_in_its_folder(room, home):
    path = Path(room.surfacings.keep_text("crew", "ann", "../../../../../etc/passwd\0", "text"))
    assert path.resolve().is_relative_to(home)
    assert path.parent.name == "ann"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xff", b'{"at": 1}'])
def test_a_note_that_is_garbage_is_nobodys_and_the_next_turn_works(room, layout, content):
    path = Path(layout.surfacing("crew", "ann"))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    turn = room.surfacings.turn("crew", "ann")
    with turn as held:
        assert held
        assert turn.abandoned() is None
        turn.begin(note("m-2"))
        turn.end()
    assert not room.surfacings.is_cut_off("crew", "ann")


def test_a_note_that_cannot_be_read_is_left_alone_and_told_of(home, room):
    """It may hold mail that is marked read and was never shown; written over, that mail would be lost (G1)."""
    turn = room.surfacings.turn("crew", "ann")
    with turn:
        turn.begin(note("m-1"))
    disk = FaultyDisk(QuickDisk(), stop_at=None)
    made = on_files(home, disk)
    broken = made.surfacings.turn("crew", "ann")
    with broken:
        disk._stop_at, disk._error = len(disk.steps), OSError(5, "Input/output error")
        assert broken.abandoned() is None
        broken.begin(note("m-2"))
        broken.end()
    (told,) = made.troubles.news()
    assert "Input/output error" in told
    again = room.surfacings.turn("crew", "ann")
    with again:
        found = again.abandoned()
    assert found is not None
    assert found.keys == ["m-1"]


def test_mail_is_shown_without_a_note_where_none_can_be_written(home, room):
    Path(find_layout({"ATM_HOME": str(home)}).surfacing("crew", "ann")).parent.parent.write_text("no folder")
    turn = room.surfacings.turn("crew", "ann")
    with turn as held:
        assert held
        assert turn.abandoned() is None
        turn.begin(note("m-1"))
        turn.end()
    (told,) = room.troubles.news()
    assert "surfacing" in told


def test_without_its_lock_a_turn_goes_on_and_leaves_the_note_of_whoever_may_be_alive(home, room):
    turn = room.surfacings.turn("crew", "ann")
    with turn:
        turn.begin(note("m-1"))
    for lock in Path(find_layout({"ATM_HOME": str(home)}).locks).glob("*ann.json"):
        lock.unlink()
        lock.mkdir()
    unlocked = room.surfacings.turn("crew", "ann")
    with unlocked as held:
        assert held
        assert unlocked.abandoned() is None
        unlocked.begin(note("m-2"))
        unlocked.end()
    assert room.surfacings.is_cut_off("crew", "ann")
    assert len(room.troubles.news()) == 1


@pytest.mark.parametrize("errno_name", ["EACCES", "ENOSPC", "EROFS", "EIO"])
def test_a_turn_that_the_disk_refuses_is_one_of_our_errors(home, room, errno_name):
    """At every step that entering and beginning a turn takes."""
    import errno

    disk = FaultyDisk(QuickDisk())
    _take_turn(on_files(home, disk))
    refused = 0
    for step in range(len(disk.steps)):
        error = OSError(getattr(errno, errno_name), errno_name)
        broken = on_files(home, FaultyDisk(QuickDisk(), stop_at=step, error=error))
        try:
            _take_turn(broken)
        except AtmError:
            refused += 1
        except OSError as error:
            raise AssertionError(f"a bare {errno_name} at step {step} ({disk.steps[step]})") from error
    assert refused > 0


def _take_turn(room: Teamroom) -> None:
    room.surfacings.is_cut_off("crew", "ann")
    turn = room.surfacings.turn("crew", "ann")
    with turn:
        turn.begin(note())
        turn.end()


def test_an_endpoint_file_that_is_garbage_is_none(room, layout):
    room.endpoints.put("crew", "ann", endpoint())
    for content in (b"", b"{", b"[]", b'{"at": 1}', b"\x00" * 10):
        Path(layout.endpoint("crew", "ann")).write_bytes(content)
        assert room.endpoints.of("crew", "ann") is None


def test_what_else_lies_among_endpoints_is_nobody(room, layout):
    room.endpoints.put("crew", "ann", endpoint())
    folder = Path(layout.endpoint("crew", "ann")).parent
    for name in (".ann.json.new", "notes.txt", "..json", ".hidden.json"):
        (folder / name).write_text("{}")
    assert room.endpoints.known("crew") == ["ann"]


def test_an_endpoint_brings_no_team_back_that_is_gone(room, layout):
    room.endpoints.put("ghosts", "ann", endpoint())
    assert not Path(layout.team("ghosts")).exists()
    assert room.endpoints.of("ghosts", "ann") is None


def test_an_endpoint_that_cannot_be_written_is_nobodys_failure(home, room):
    disk = FaultyDisk(QuickDisk())
    on_files(home, disk).endpoints.put("crew", "ann", endpoint())
    for step in range(len(disk.steps)):
        broken = FaultyDisk(QuickDisk(), stop_at=step, error=OSError(28, "No space left on device"))
        on_files(home, broken).endpoints.put("crew", "ann", endpoint("s-2"))
        assert on_files(home).endpoints.of("crew", "ann") is not None


def test_in_a_team_of_claude_code_everything_lies_in_our_own_folder(room, layout, home):
    room.endpoints.put("session-12345678", "ann", endpoint())
    assert room.endpoints.of("session-12345678", "ann") is not None
    assert not (home / ".claude/teams/session-12345678").exists()


HOLDER = """
import sys, time
from atm.mail.rules.surfacing import ShowingNote
from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room

room = build_room(find_layout({"ATM_HOME": sys.argv[1]}))
turn = room.surfacings.turn("crew", "ann")
assert turn.__enter__()
turn.begin(ShowingNote(keys=["m-1"], channel="hook", at=1.0))
print("held", flush=True)
time.sleep(600)
"""


def test_a_turn_dies_with_its_process_and_its_note_stays(room, home):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(home)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with room.surfacings.turn("crew", "ann") as held:
            assert not held
        assert room.surfacings.is_cut_off("crew", "ann")
    finally:
        process.kill()
        process.communicate()
    turn = room.surfacings.turn("crew", "ann", patience=5.0)
    with turn as held:
        assert held
        found = turn.abandoned()
        assert found is not None
        assert found.keys == ["m-1"]
