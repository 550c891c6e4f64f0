"""Inboxes of every size over real files: what is validated, counted, decoded and copied, and from which byte on."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from atm.core.errors import InboxFull, UnreadableFile
from atm.mail.adapters import inbox_store
from atm.mail.adapters.inbox_edits import LARGE, SMALL
from atm.mail.formats import inbox as inbox_format
from atm.mail.formats import large_inbox
from atm.mail.formats.inbox import only
from atm.mail.rules import quotas
from atm.mail.rules.quotas import RESERVE_ROWS, Allowance, Quota
from atm.roster.services.teamroom import Teamroom
from atm.testing import FakeClock, QuickDisk, make_message
from atm.wiring.mail import build_room


class Watching(QuickDisk):
    """Counts the bytes that are read and written, and lets somebody act right before a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.written = self.most_read = 0
        self.before_commit = lambda: None

    def write(self, fd: int, data: bytes) -> None:
        self.written += len(data)
        super().write(fd, data)

    def read_at(self, fd: int, start: int, size: int) -> bytes:
        self.most_read = max(self.most_read, size)
        return super().read_at(fd, start, size)

    def exchange(self, one: str, other: str) -> bool:
        act, self.before_commit = self.before_commit, lambda: None
        act()
        return super().exchange(one, other)


@pytest.fixture
def disk() -> Watching:
    return Watching()


@pytest.fixture
def mail(layout, room, disk) -> Teamroom:
    """The same team as `room`, with nobody to wait for: time passes while we sleep."""
    return build_room(layout, disk=disk, clock=FakeClock(time.time()))


@pytest.fixture
def inbox(layout, room) -> Path:
    return Path(layout.inbox("crew", "ann"))


@pytest.fixture
def decoded(monkeypatch) -> list[str]:
    """The ids of the rows that are decoded one by one from now on."""
    ids: list[str] = []
    original = inbox_format.decode_row

    def decode(raw: str):
        message = original(raw)
        ids.append((message.id or "") if message else "")
        return message

    monkeypatch.setattr(inbox_format, "decode_row", decode)
    monkeypatch.setattr(large_inbox, "decode_row", decode)
    return ids


def fill(inbox: Path, count: int, sender: str = "bob", text: str = "x" * 1000, read: bool = False) -> list[str]:
    """So many rows; what they are called."""
    ids = [f"id-{number:05}" for number in range(count)]
    inbox.write_bytes(only([make_message(id, text, sender=sender, read=read).raw for id in ids]))
    os.utime(inbox, (1, 1))
    return ids


def pad(inbox: Path, size: int) -> None:
    """To exactly that size, by blank lines before its first row, where everybody permits them."""
    data = inbox.read_bytes()
    inbox.write_bytes(data[:1] + b"\n" * (size - len(data)) + data[1:])
    os.utime(inbox, (1, 1))
    assert inbox.stat().st_size == size


def allowed(room: Teamroom, quota: Quota, sender: str = "bob", text: str = "one more") -> Allowance:
    return Allowance(quota, room.rosters.load("crew"), "ann", make_message("id-new", text, sender=sender))


def flags(inbox: Path) -> dict[str, bool]:
    return {row["msg_id"]: row["read"] for row in json.loads(inbox.read_bytes())}


# What fits.


@pytest.mark.parametrize("count", [5, 100], ids=["small", "large"])
@pytest.mark.parametrize("fresh", [True, False])
def test_one_more_is_taken_as_long_as_the_sender_has_room(mail, inbox, count, fresh):
    fill(inbox, count)
    new = make_message("id-new", "one more", sender="bob")
    with pytest.raises(InboxFull):
        mail.inboxes.append("crew", "ann", [new], fresh=fresh, allowance=allowed(mail, Quota(count, 0)))
    assert len(flags(inbox)) == count
    assert not mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(count, 0)))
    for quota in (Quota(count + 1, 0), Quota(0, 0)):
        assert mail.inboxes.has_room("crew", "ann", allowed(mail, quota)) is True
    mail.inboxes.append("crew", "ann", [new], fresh=fresh, allowance=allowed(mail, Quota(count + 1, 0)))
    assert len(flags(inbox)) == count + 1


@pytest.mark.parametrize("count", [5, 100], ids=["small", "large"])
def test_mail_of_others_and_mail_that_was_read_takes_no_room(mail, inbox, count):
    fill(inbox, count, sender="cat")
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(1, 0))) is True
    fill(inbox, count, read=True)
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(1, 0))) is True


def test_an_inbox_of_the_largest_size_is_still_gone_through_and_one_byte_more_is_not(mail, inbox, monkeypatch):
    fill(inbox, 3, sender="cat")
    size = inbox.stat().st_size
    monkeypatch.setattr(quotas, "LARGEST_INBOX", size)
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(2, 0))) is True
    monkeypatch.setattr(quotas, "LARGEST_INBOX", size - 1)
    assert not mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(2, 0)))


def test_one_that_is_too_large_takes_what_has_a_reserve_until_that_is_used_up(mail, inbox, monkeypatch):
    urgent = allowed(mail, Quota(1, 0), text="[URGENT] stop")
    for count, has_room in ((RESERVE_ROWS, True), (RESERVE_ROWS + 2, False)):
        fill(inbox, count)
        monkeypatch.setattr(quotas, "LARGEST_INBOX", inbox.stat().st_size - 1)
        assert mail.inboxes.has_room("crew", "ann", urgent) is has_room
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(1, 0), sender="human")) is True


def test_what_does_not_exist_or_cannot_be_read_has_room_and_whoever_writes_finds_out(mail, inbox):
    inbox.write_bytes(b"[" + b"{" * 1000)
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(1, 0))) is True
    inbox.unlink()
    assert mail.inboxes.has_room("crew", "ann", allowed(mail, Quota(1, 0))) is True


# How much is looked at before a row is added.


def test_an_inbox_is_validated_in_full_up_to_a_size_and_above_it_only_its_ends_are(mail, inbox):
    new = make_message("id-new")
    fill(inbox, 10)
    inbox.write_bytes(inbox.read_bytes().replace(b"id-00004", b'id-"0004', 1))
    pad(inbox, SMALL)
    with pytest.raises(UnreadableFile):
        mail.inboxes.append("crew", "ann", [new], fresh=True)
    pad(inbox, SMALL + 1)
    mail.inboxes.append("crew", "ann", [new], fresh=True)
    assert b"id-new" in inbox.read_bytes()


def test_a_row_that_may_be_there_already_is_searched_for_in_a_large_inbox_too(mail, inbox):
    ids = fill(inbox, 100)
    assert inbox.stat().st_size > SMALL
    assert mail.inboxes.append("crew", "ann", [make_message(ids[3])], fresh=False).added == 0
    assert list(flags(inbox)) == ids


@pytest.mark.parametrize("last", ["42", "[]", '"text"'])
@pytest.mark.parametrize("count", [2, 100], ids=["small", "large"])
def test_a_row_is_added_behind_one_that_is_no_message(mail, inbox, last, count):
    rows = [make_message(f"id-{number}", "x" * 1000).raw for number in range(count)]
    inbox.write_bytes(only([*rows, last]))
    os.utime(inbox, (1, 1))
    mail.inboxes.append("crew", "ann", [make_message("id-new")], fresh=True)
    found = json.loads(inbox.read_bytes())
    assert [found[-2], found[-1]["msg_id"]] == [json.loads(last), "id-new"]
    assert len(found) == count + 2


# How much is decoded and written to mark a few rows.


@pytest.fixture
def heavy(inbox) -> list[str]:
    """The ids of an inbox in which rows are searched for by their ids."""
    ids = fill(inbox, 24, text="x" * 50_000)
    assert inbox.stat().st_size > LARGE
    return ids


def test_of_a_large_inbox_only_the_named_rows_are_decoded_and_only_what_follows_them_is_written(
    mail, inbox, heavy, decoded, disk
):
    claimed = mail.inboxes.claim_named("crew", "ann", {heavy[20], heavy[22]})
    assert [message.id for message in claimed] == [heavy[20], heavy[22]]
    assert set(decoded) == {heavy[20], heavy[22]}
    assert disk.written < inbox.stat().st_size / 4
    assert [id for id, read in flags(inbox).items() if read] == [heavy[20], heavy[22]]


def test_what_was_read_before_is_not_claimed_again_in_a_large_inbox(mail, heavy):
    mail.inboxes.mark("crew", "ann", {heavy[1]}, True)
    assert [message.id for message in mail.inboxes.claim_named("crew", "ann", {heavy[1], heavy[2]})] == [heavy[2]]
    assert mail.inboxes.claim_named("crew", "ann", {heavy[1], heavy[2]}) == []


@pytest.mark.parametrize("read", [True, False])
def test_marking_in_a_large_inbox_decodes_only_the_named_rows(mail, inbox, decoded, read):
    ids = fill(inbox, 24, text="x" * 50_000, read=not read)
    mail.inboxes.mark("crew", "ann", {ids[7], ids[9]}, read)
    assert set(decoded) == {ids[7], ids[9]}
    assert [id for id, flag in flags(inbox).items() if flag is read] == [ids[7], ids[9]]


def test_a_key_that_a_large_inbox_does_not_have_keeps_nobody_from_marking_the_others(mail, inbox, heavy):
    mail.inboxes.mark("crew", "ann", {heavy[7], "gone"}, True)
    assert [id for id, read in flags(inbox).items() if read] == [heavy[7]]
    assert [message.id for message in mail.inboxes.claim_named("crew", "ann", {heavy[8], "gone"})] == [heavy[8]]


@pytest.mark.parametrize("by_name", [True, False])
def test_what_lies_before_the_rows_that_are_claimed_is_not_written_again(mail, inbox, disk, by_name):
    ids = fill(inbox, 100)
    if by_name:
        mail.inboxes.claim_named("crew", "ann", {ids[-1]})
    else:
        mail.inboxes.claim("crew", "ann", lambda unread: unread[-1:])
    assert [id for id, read in flags(inbox).items() if read] == ids[-1:]
    assert disk.written < inbox.stat().st_size / 4


@pytest.mark.parametrize("count", [3, 24], ids=["small", "large"])
def test_what_is_claimed_by_name_while_somebody_adds_is_marked_in_their_version_too(mail, inbox, disk, count):
    ids = fill(inbox, count, text="x" * 50_000)

    def add() -> None:
        rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
        inbox.write_bytes(only([*rows, make_message("theirs").raw]))

    disk.before_commit = add
    assert [message.id for message in mail.inboxes.claim_named("crew", "ann", {ids[1]})] == [ids[1]]
    assert flags(inbox) == {**dict.fromkeys(ids, False), ids[1]: True, "theirs": False}


# How much is searched.


def test_a_row_near_the_end_is_found_without_reading_everything(mail, inbox, disk):
    ids = fill(inbox, 200)
    assert inbox.stat().st_size > inbox_store.RECENT_TAIL
    disk.most_read = 0
    assert mail.inboxes.missing("crew", "ann", ids[-3:]) == []
    assert disk.most_read == inbox_store.RECENT_TAIL
    assert mail.inboxes.missing("crew", "ann", [ids[0], "gone"]) == ["gone"]


# What a glance sees.


def test_a_glance_goes_through_an_inbox_of_the_largest_size_and_not_through_a_larger_one(mail, inbox, monkeypatch):
    ids = fill(inbox, 3)
    size = inbox.stat().st_size
    monkeypatch.setattr(inbox_store, "LARGEST_FOREIGN", 0)
    monkeypatch.setattr(inbox_store, "LARGEST_INBOX", size)
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 2)
    assert ([message.id for message in seen.messages], seen.left, seen.size, seen.is_whole) == (ids[:2], 1, size, True)
    monkeypatch.setattr(inbox_store, "LARGEST_INBOX", size - 1)
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 2)
    assert (seen.messages, seen.left, seen.size, seen.is_whole) == ([], 0, size, False)


def test_of_one_that_is_too_large_a_glance_sees_what_is_urgent_at_its_end(mail, inbox, monkeypatch):
    fill(inbox, 3)
    mail.inboxes.append("crew", "ann", [make_message("id-stop", "[URGENT] stop")], fresh=True)
    monkeypatch.setattr(inbox_store, "LARGEST_FOREIGN", 0)
    monkeypatch.setattr(inbox_store, "LARGEST_INBOX", 0)
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 50)
    assert ([message.id for message in seen.messages], seen.is_whole) == (["id-stop"], False)


def test_a_foreign_layout_is_decoded_in_full_up_to_a_size_of_its_own(mail, inbox, monkeypatch):
    rows = [json.loads(make_message(f"id-{number}").raw) for number in range(3)]
    inbox.write_text(json.dumps(rows))
    size = inbox.stat().st_size
    monkeypatch.setattr(inbox_store, "LARGEST_FOREIGN", size)
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 50)
    assert ([message.id for message in seen.messages], seen.size, seen.is_whole) == (
        ["id-0", "id-1", "id-2"],
        size,
        True,
    )
    monkeypatch.setattr(inbox_store, "LARGEST_FOREIGN", size - 1)
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 50)
    assert (seen.messages, seen.size, seen.is_whole) == ([], size, False)


def test_a_glance_at_an_inbox_that_does_not_exist_sees_nothing(mail, inbox):
    inbox.unlink()
    seen = mail.inboxes.glance("crew", "ann", lambda _: False, 50)
    assert (seen.messages, seen.left, seen.is_whole) == ([], 0, True)
