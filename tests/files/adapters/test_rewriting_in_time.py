"""
A writer without locks that never stops, by a clock of ours: what an edit costs in time and copies, and whose rows stay.

Time passes only with our own exchanges: each takes a tenth of a second here.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atm.core.errors import FileBusy, UnreadableFile
from atm.files.adapters.archive import MOST_UNREADABLE
from atm.files.adapters.locking import PATIENCE
from atm.files.adapters.remains import displaced
from atm.files.adapters.remains.carried_rows import PUT_BACK_WITHIN, WATCH_FOR
from atm.files.adapters.remains.displaced import MOST_TORN, TORN_FOR
from atm.files.adapters.rewriting import LONGEST_HOLD, SHORTEST_HOLD, TORN_NAP, TORN_TRIES
from atm.files.adapters.whole_files import read_whole
from atm.mail.formats.inbox import only
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.retention import compact
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.teamroom import Teamroom
from atm.testing import FakeClock, QuickDisk, make_message
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room

ROUND = 0.1
OLD = "2020-01-01T00:00:00.000Z"


class Rival(QuickDisk):
    """Somebody acts before our new version is put in place, and that takes a while. Knows how many files there are."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self.act: Callable[[], object] | None = None
        self.act_after: Callable[[], object] | None = None
        self.rounds = 0
        self.most_files = 0

    def exchange(self, one: str, other: str) -> bool:
        self._clock.pass_time(ROUND)
        self.rounds += 1
        if self.act:
            self.act()
        done = super().exchange(one, other)
        if self.act_after:
            self.act_after()
        self.most_files = max(self.most_files, len(os.listdir(other.rpartition("/")[0])))
        return done


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time.time())


@pytest.fixture
def disk(clock) -> Rival:
    return Rival(clock)


@pytest.fixture
def mail(layout, room, disk, clock) -> Teamroom:
    return build_room(layout, disk=disk, clock=clock)


@pytest.fixture
def inbox(home) -> Path:
    path: Path = home / ".claude/teams/crew/inboxes/ann.json"
    return path


def ids(inbox: Path) -> list[str]:
    return [row["msg_id"] for row in json.loads(inbox.read_bytes())]


def stale(inbox: Path) -> Callable[[], None]:
    """Rewrites the file as it was when it began, with one row more: the former row of its own is not in that copy."""
    rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
    count = iter(range(1000))

    def act() -> None:
        beside = inbox.with_suffix(".theirs")
        beside.write_bytes(only([*rows, make_message(f"theirs-{next(count)}", read=True, at=OLD).raw]))
        os.replace(beside, inbox)

    return act


def append(mail: Teamroom, id: str, patience: float = PATIENCE) -> None:
    mail.inboxes.append("crew", "ann", [make_message(id)], fresh=True, patience=patience)


def beside(inbox: Path) -> list[str]:
    return sorted(name for name in os.listdir(inbox.parent) if name not in ("ann.json", "bob.json"))


@pytest.mark.parametrize(("patience", "most"), [(PATIENCE, LONGEST_HOLD), (1.0, 1.0), (0.0, SHORTEST_HOLD)])
def test_the_lock_is_held_for_a_bounded_time(mail, disk, clock, inbox, patience, most):
    disk.act = stale(inbox)
    with pytest.raises(FileBusy):
        append(mail, "ours", patience)
    assert most <= clock.monotonic() <= most + ROUND + 0.001
    assert not Path(f"{inbox}.lock").exists()


def test_the_versions_that_were_displaced_are_not_piled_up(mail, disk, inbox):
    disk.act = stale(inbox)
    with pytest.raises(FileBusy):
        append(mail, "ours")
    assert disk.rounds > 10
    assert disk.most_files <= 5  # two inboxes, the lock, a new version and the one that it displaces
    assert beside(inbox) == []


def test_what_the_rival_added_comes_back_with_the_next_edit_each_row_once(mail, disk, inbox):
    disk.act = stale(inbox)
    with pytest.raises(FileBusy):
        append(mail, "ours")
    count, disk.act = disk.rounds, None
    append(mail, "later")
    assert sorted(ids(inbox)) == sorted(["ours", "later", *(f"theirs-{n}" for n in range(count))])


def test_also_if_that_edit_comes_much_later(mail, disk, clock, inbox):
    disk.act = stale(inbox)
    with pytest.raises(FileBusy):
        append(mail, "ours")
    count, disk.act = disk.rounds, None
    clock.pass_time(100 * PUT_BACK_WITHIN)
    mail.inboxes.change("crew", "ann", list)
    assert {f"theirs-{n}" for n in range(count)} <= set(ids(inbox))


def test_a_message_is_queued_and_arrives_once(mail, disk, clock, inbox):
    disk.act = stale(inbox)
    sent = send(mail, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.outcome == "queued"
    disk.act = None
    clock.pass_time(10)
    drain(mail)
    assert [row.text for row in mail.inboxes.rows("crew", "ann")].count("ours") == 1
    assert mail.spool.is_empty()


def test_whoever_marks_has_marked_when_the_time_is_up(mail, disk, clock, inbox, layout):
    """To say otherwise would hide what was marked: nobody would show it."""
    append(mail, "id-1")
    before, disk.act = clock.monotonic(), stale(inbox)
    assert [row.id for row in mail.inboxes.claim("crew", "ann", list)] == ["id-1"]
    assert clock.monotonic() - before <= LONGEST_HOLD + 2 * ROUND
    assert '"rewrite"' not in Path(build_locks(layout).file_for(str(inbox))).read_text()
    disk.act = None
    mail.inboxes.change("crew", "ann", list)
    assert {row.id: row.read for row in mail.inboxes.rows("crew", "ann")}["id-1"]
    assert len(ids(inbox)) == len(set(ids(inbox))) > 10


def test_in_a_team_of_claude_code_nothing_is_placed_and_queued_as_well(home, mail, disk, inbox):
    """There, a row that was consumed meanwhile would be delivered a second time."""
    theirs = home / ".claude/teams/session-1/inboxes/ann.json"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"[]")
    disk.act = stale(theirs)
    mail.inboxes.append("session-1", "ann", [make_message("ours")], fresh=True)
    assert "ours" in ids(theirs)
    disk.act = None
    theirs.write_bytes(b"[]")  # all of it was consumed, but the last row that was displaced never lay there
    mail.inboxes.change("session-1", "ann", list)
    assert ids(theirs) != []
    theirs.write_bytes(b"[]")
    mail.inboxes.change("session-1", "ann", list)
    assert ids(theirs) == []


# Rows that were brought along are watched.


def carried_once(mail: Teamroom, disk: Rival, inbox: Path) -> bytes:
    """A row of the rival is brought along; the file as the rival may have read it in between, without that row."""
    append(mail, "id-0")
    disk.act = once(disk, stale(inbox))
    append(mail, "ours")
    assert set(ids(inbox)) == {"id-0", "ours", "theirs-0"}
    return only([json.dumps(row) for row in json.loads(inbox.read_bytes()) if row["msg_id"] != "theirs-0"])


def once(disk: Rival, act: Callable[[], object]) -> Callable[[], None]:
    def acting() -> None:
        disk.act = None
        act()

    return acting


def test_a_row_that_its_own_writer_drops_right_after_is_put_back_by_the_next_look(mail, disk, inbox):
    inbox.write_bytes(carried_once(mail, disk, inbox))
    unable: list[str] = []
    assert put_back_dropped(mail, mail.rosters.load("crew"), unable=unable) == 1
    assert "theirs-0" in ids(inbox)
    assert unable == ["ann"]  # and is looked at again in a moment


def test_and_by_the_next_send(mail, disk, inbox):
    inbox.write_bytes(carried_once(mail, disk, inbox))
    send(mail, "crew", "ann", Draft(sender="bob", text="more"))
    assert ids(inbox).count("theirs-0") == 1


def test_the_watch_ends_with_a_last_look_and_leaves_nothing(mail, disk, clock, inbox, layout):
    without = carried_once(mail, disk, inbox)
    clock.pass_time(WATCH_FOR + 1)
    inbox.write_bytes(without)
    team = mail.rosters.load("crew")
    assert put_back_dropped(mail, team) == 1
    clock.pass_time(WATCH_FOR + 1)
    assert put_back_dropped(mail, team) == 0
    unable: list[str] = []
    assert put_back_dropped(mail, team, unable=unable) == 0
    assert unable == []
    assert [name for name in os.listdir(layout.locks) if "carried" in name] == []
    assert not mail.inboxes.touched("crew", "ann")


def test_who_looks_while_one_of_us_writes_has_to_look_again(mail):
    """The daemon hears of that write before it is over, and of nothing afterwards."""
    unable: list[str] = []

    def change(rows):
        assert put_back_dropped(mail, mail.rosters.load("crew"), unable=unable) == 0
        return rows

    mail.inboxes.change("crew", "ann", change)
    assert unable == ["ann"]


def test_what_was_taken_out_long_after_stays_away(mail, disk, clock, inbox):
    without = carried_once(mail, disk, inbox)
    clock.pass_time(PUT_BACK_WITHIN + 1)
    inbox.write_bytes(without)
    put_back_dropped(mail, mail.rosters.load("crew"))
    assert "theirs-0" not in ids(inbox)


def test_what_clean_up_takes_out_while_it_is_watched_stays_away(mail, disk, inbox):
    carried_once(mail, disk, inbox)
    mail.policy.keep_read, mail.policy.keep_days = 0, 0
    assert compact(mail, "crew", "ann").removed == 1
    put_back_dropped(mail, mail.rosters.load("crew"))
    mail.inboxes.change("crew", "ann", list)
    assert "theirs-0" not in ids(inbox)


def test_rows_that_clean_up_took_out_are_no_additions_of_a_rival_with_an_old_copy(mail, disk, inbox, layout):
    inbox.write_bytes(only([make_message(f"old-{n}", read=True, at=OLD).raw for n in range(3)]))
    mail.policy.keep_read, mail.policy.keep_days = 0, 0
    disk.act = once(disk, stale(inbox))
    compact(mail, "crew", "ann")
    mail.inboxes.change("crew", "ann", list)
    assert [id for id in ids(inbox) if id.startswith("old-")] == []


def test_a_row_that_is_dropped_while_we_still_hold_the_lock_is_not_taken_for_one_that_we_took_out(mail, disk, inbox):
    without = carried_once(mail, disk, inbox)

    def drop() -> None:
        disk.act_after = None
        inbox.write_bytes(without)

    disk.act_after = drop
    append(mail, "more")
    assert "theirs-0" not in ids(inbox)
    put_back_dropped(mail, mail.rosters.load("crew"))
    assert "theirs-0" in ids(inbox)


def test_what_the_rival_adds_to_our_version_right_after_it_was_placed_is_its_own_too(mail, disk, inbox):
    """Our version is not what we find there, but what we wrote."""
    append(mail, "id-0")

    def add() -> None:
        disk.act_after = None
        rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
        inbox.write_bytes(only([*rows, make_message("late").raw]))

    disk.act = once(disk, stale(inbox))
    disk.act_after = add
    append(mail, "ours")
    assert sorted(ids(inbox)) == ["id-0", "late", "ours", "theirs-0"]


# The order of our own.


def test_a_message_that_turns_up_in_an_old_copy_does_not_come_after_a_later_one(mail, disk, inbox):
    first = send(mail, "crew", "ann", Draft(sender="bob", text="first")).message.raw
    inbox.write_bytes(b"[]")  # a rival has dropped it, and in a moment it writes from a copy that has it

    def act() -> None:
        if disk.rounds == before + 1:
            inbox.write_bytes(only([first, make_message("theirs-0").raw]))
        elif disk.rounds == before + 2:  # and then from one that has only ours of now
            rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
            inbox.write_bytes(only([*rows, make_message("theirs-1").raw]))

    before, disk.act = disk.rounds, act
    second = make_message("second")
    mail.inboxes.append("crew", "ann", [second], fresh=True)
    texts = [row["text"] for row in json.loads(inbox.read_bytes())]
    assert sorted(ids(inbox)[-4:]) == sorted([*ids(inbox)])
    assert texts.index("first") < ids(inbox).index("second")
    assert disk.rounds >= before + 3


def test_our_own_rows_are_left_to_the_ledger(mail, disk, inbox, layout):
    """It knows their place; a watched row goes to the end."""
    first = send(mail, "crew", "ann", Draft(sender="bob", text="first")).message.raw
    inbox.write_bytes(b"[]")
    disk.act = once(disk, lambda: inbox.write_bytes(only([first])))
    mail.inboxes.append("crew", "ann", [make_message("second")], fresh=True)
    assert [name for name in os.listdir(layout.locks) if "carried" in name] == []


# What is torn.


def test_what_takes_long_to_read_is_not_read_often(mail, clock, inbox, monkeypatch):
    def slow(data: bytes) -> str:
        clock.pass_time(0.2)
        return data.decode()

    inbox.write_bytes(b"[" * 100)
    monkeypatch.setattr("atm.mail.formats.inbox.to_text", slow)
    with pytest.raises(UnreadableFile):
        append(mail, "ours")
    assert clock.monotonic() <= 0.2 + TORN_TRIES * TORN_NAP + TORN_NAP + 0.2


def test_a_displaced_version_that_is_whole_only_later_is_kept_until_then(mail, disk, clock, inbox):
    append(mail, "id-0")
    whole = inbox.read_bytes()

    def tear() -> None:
        inbox.write_bytes(b"[\n  {")

    disk.act = once(disk, tear)
    append(mail, "id-1")
    (torn,) = beside(inbox)
    theirs = make_message("theirs").raw
    (inbox.parent / torn).write_bytes(whole[:-3] + b",\n  " + theirs.encode() + b"\n]\n")
    put_back_dropped(mail, mail.rosters.load("crew"))
    assert ids(inbox) == ["id-0", "id-1", "theirs"]
    assert beside(inbox) == []


def test_one_that_never_becomes_whole_is_set_aside_after_a_while(mail, disk, clock, inbox, layout):
    append(mail, "id-0")
    disk.act = once(disk, lambda: inbox.write_bytes(b"[ torn"))
    append(mail, "id-1")
    append(mail, "id-2")
    assert len(beside(inbox)) == 1
    clock.pass_time(TORN_FOR + 1)
    append(mail, "id-3")
    assert beside(inbox) == []
    copies = [path.read_bytes() for path in Path(layout.archive("crew", "ann")).glob("unreadable-*")]
    assert copies == [b"[ torn"]
    assert ids(inbox) == ["id-0", "id-1", "id-2", "id-3"]


def test_torn_versions_are_not_piled_up_either(mail, disk, inbox, layout):
    append(mail, "id")
    for number in range(3 * MOST_TORN):
        disk.act = once(disk, lambda number=number: inbox.write_bytes(b"[ torn %d" % number))  # type: ignore[misc]
        append(mail, f"id-{number}")
        assert len(beside(inbox)) <= MOST_TORN
    assert 1 < len(list(Path(layout.archive("crew", "ann")).glob("unreadable-*"))) <= MOST_UNREADABLE


def test_many_copies_of_a_killed_process_are_gone_through_in_several_turns(
    mail, disk, clock, inbox, layout, monkeypatch
):
    """As a former version of ours left them, 204 beside one inbox."""
    paths = [inbox.parent / f".ann.json.atm-1-{n}" for n in range(20)]
    for number, path in enumerate(paths):
        path.write_bytes(only([make_message(f"theirs-{number}").raw]))
    body = {"pid": 1, "rewrite": {"temporary": "", "placed": [], "expected": [], "foreign": [*map(str, paths)]}}
    locks = mail.inboxes._locks
    with locks.private(str(inbox)):
        pass
    Path(locks.file_for(str(inbox))).write_text(json.dumps(body))

    def slow(disk: QuickDisk, path: str) -> bytes:
        clock.pass_time(0.1)
        return read_whole(disk, path)

    monkeypatch.setattr(displaced, "read_whole", slow)
    turns = 0
    while beside(inbox):
        before, turns = clock.monotonic(), turns + 1
        mail.inboxes.recheck("crew", "ann")
        assert clock.monotonic() - before <= LONGEST_HOLD + 1.0
    assert 1 < turns < 5
    assert sorted(ids(inbox)) == sorted(f"theirs-{n}" for n in range(20))
