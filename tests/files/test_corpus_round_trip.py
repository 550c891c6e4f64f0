"""Every file of the corpus: read, written back, edited in one place; every other byte is compared (G3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.proving import proves

from atm.board.formats.task import apply, decode_task
from atm.board.rules.tasks import Change, Task
from atm.files.formats.json_record import NotJson, RawArray, RawObject, last_seq, to_bytes, to_text
from atm.mail.formats.inbox import (
    Inbox,
    changed_rows,
    decode_row,
    encode_row,
    is_array,
    marked,
    spliced,
    tail_of,
    unread,
    unread_rows,
)
from atm.mail.formats.journal import Line, decode_lines
from atm.mail.formats.spool_entry import decode_entry
from atm.mail.rules.inbox_merge import with_rows
from atm.mail.rules.messages import Message
from atm.team.formats.team_config import decode_team, new_member, unknown_fields, with_member, without_member
from atm.team.rules.team import Member

CORPUS = Path(__file__).parent.parent / "corpus"


def encode_task(task: Task, **fields: str) -> bytes:
    """The task's file with some fields set."""
    return to_bytes(apply(task.raw, Change(fields=fields)))


def samples(folder: str):
    files = sorted((CORPUS / folder).iterdir())
    assert files, f"the corpus has no {folder}"
    return pytest.mark.parametrize("data", [pytest.param(path.read_bytes(), id=path.stem) for path in files])


def row_texts(data: bytes) -> list[str]:
    return RawArray(to_text(data)).items


def the_new_row() -> Message:
    message = Message(id="new-1", sender="bob", text="new", timestamp="2026-09-09T09:09:09.000Z", read=False)
    message.raw = encode_row(message, claudes_team=False)
    return message


def test_every_sample_has_a_line_in_the_readme():
    readme = (CORPUS / "README.md").read_text(encoding="utf-8")
    told = ("broken-spool", "recorded_hooks", "screens")  # one line tells of all of these
    samples = [path for path in CORPUS.glob("*/*") if path.parent.name not in told]
    assert len(samples) > 50
    assert [path for path in samples if path.stem not in readme] == []


class TestInboxes:
    @proves("R001-2.1-03", "R001-3.1-02", "R001-10-02")
    @samples("inboxes")
    def test_what_is_not_edited_stays_byte_for_byte(self, data):
        assert changed_rows(data, lambda rows: rows) == data
        assert to_bytes(to_text(data)) == data
        assert is_array(data)

    @proves("R001-3.1-02", "R001-3.1-30", "R001-8.1-05", "R001-8.3-09", "R001-10-02", "R001-10-10")
    @samples("inboxes")
    def test_every_row_keeps_its_text_when_the_file_is_laid_out_anew(self, data):
        inbox = Inbox(data)
        again = inbox.with_rows(inbox.rows)
        assert row_texts(again) == row_texts(data)
        assert [row.raw for row in inbox.rows] == row_texts(data)
        assert Inbox(again).with_rows(Inbox(again).rows) == again, "laying out twice changes nothing more"

    @samples("inboxes")
    def test_an_added_row_leaves_all_others_to_the_letter(self, data):
        new = the_new_row()
        assert row_texts(changed_rows(data, lambda rows: with_rows(rows, [new]))) == [*row_texts(data), new.raw]

    @samples("inboxes")
    def test_a_row_spliced_in_at_the_end_changes_nothing_before_it(self, data):
        cut = tail_of(data[:1], data[-4096:], len(data))
        if cut is None:  # a byte order mark, white space before it, an empty array, or a last row that is no object
            if data.startswith(b"["):
                assert [text for text in row_texts(data)[-1:] if text.endswith("}")] == []
            return
        new = the_new_row()
        spliced_in = data[:cut] + spliced([new.raw])
        assert spliced_in.startswith(data[:cut])
        assert row_texts(spliced_in) == [*row_texts(data), new.raw]

    @proves("R001-3.1-09")
    @samples("inboxes")
    def test_marking_one_row_read_changes_that_flag_and_nothing_else(self, data):
        before = Inbox(data).rows
        for chosen in [row for row in before if row.kind != "malformed" and not row.read]:
            after = Inbox(marked(data, {chosen.key}, True)).rows
            assert len(after) == len(before)
            for old, new in zip(before, after, strict=True):
                if old.key == chosen.key:
                    assert new.read
                    assert_only_read_differs(old.raw, new.raw)
                else:
                    assert new.raw == old.raw

    @samples("inboxes")
    def test_marking_a_row_unread_again_gives_the_first_bytes_of_it_back(self, data):
        flagged = [row for row in Inbox(data).messages if not row.read and RawObject(row.raw).raw("read") == "false"]
        for chosen in flagged:
            there = marked(data, {chosen.key}, True)
            assert row_texts(marked(there, {chosen.key}, False)) == row_texts(data)

    @samples("inboxes")
    def test_marking_nothing_changes_no_byte(self, data):
        assert marked(data, set(), True) == data
        assert marked(data, {"nobody has this id"}, True) == data
        assert marked(data, {"nobody has this id"}, False) == data

    @samples("inboxes")
    def test_the_quick_scan_sees_what_the_full_decode_sees(self, data):
        quick = unread_rows(data)
        if quick is not None:
            full = [row.raw for row in Inbox(data).messages if not row.read]
            assert [message.raw for _, _, message in quick] == full
            assert [to_text(data[start:end]) for start, end, _ in quick] == full

    @samples("inboxes")
    def test_unread_messages_are_found_whatever_the_layout(self, data):
        assert [row.key for row in unread(data)] == [row.key for row in Inbox(data).messages if not row.read]

    @samples("broken-inboxes")
    def test_a_broken_file_is_unknown_and_never_empty(self, data):
        with pytest.raises(NotJson):
            Inbox(data)
        assert not is_array(data)

    @samples("broken-inboxes")
    def test_a_broken_file_is_never_taken_for_no_mail_and_never_marked(self, data):
        with pytest.raises(NotJson):
            unread(data)
        with pytest.raises(NotJson):
            marked(data, {("bob", "2026-08-27T10:00:02.000Z", "three")}, True)


def assert_only_read_differs(old: str, new: str) -> None:
    before, after = RawObject(old), RawObject(new)
    keys = list(before._spans)
    assert list(after._spans) == (keys if "read" in before else [*keys, "read"])
    assert [after.raw(key) for key in keys if key != "read"] == [before.raw(key) for key in keys if key != "read"]
    if "read" in before:
        span = before._spans["read"]
        assert new == old[: span[0]] + "true" + old[span[1] :]


class TestRosters:
    @proves("R001-3.1-02")
    @samples("configs")
    def test_adding_a_member_leaves_all_others_to_the_letter(self, data):
        entry = new_member(Member("new", agent_type="x", cwd="/p"), "t", 1.0)
        after = with_member(data, entry)
        assert members(after) == [*members(data), entry]
        assert fields_but_members(after) == fields_but_members(data)

    @samples("configs")
    def test_what_is_added_and_taken_out_again_leaves_every_entry(self, data):
        entry = new_member(Member("new", agent_type="x", cwd="/p"), "t", 1.0)
        again = without_member(with_member(data, entry), "new")
        assert members(again) == members(data)
        assert fields_but_members(again) == fields_but_members(data)

    @proves("R001-3.1-30")
    @samples("configs")
    def test_taking_one_member_out_leaves_all_others_to_the_letter(self, data):
        for member in decode_team(data, "t").members:
            after = without_member(data, member.name)
            assert members(after) == [raw for raw in members(data) if raw not in raws_of(data, member.name)]
            assert fields_but_members(after) == fields_but_members(data)

    @samples("configs")
    def test_every_member_carries_the_text_it_came_from(self, data):
        assert [member.raw for member in decode_team(data, "t").members] == [
            raw
            for raw in members(data)
            if raw.startswith("{") and isinstance(RawObject(raw).get("name"), str)
            if RawObject(raw).get("name")
        ]

    @pytest.mark.parametrize(
        ("sample", "unknown"),
        [
            ("claude-2.1.39", []),
            ("claude-2.1.109", []),
            ("claude-2.1.231", []),
            ("hidden-panes", []),
            ("ours", []),
            (
                "other-tools",
                [
                    "kanban",
                    "members[].lastActive",
                    "members[].opencodeSessionId",
                    "schemaVersion",
                ],
            ),
            ("tabs", ["future", "members[].future"]),
            ("odd-members", []),
            ("no-members-key", []),
        ],
    )
    def test_fields_that_nobody_documented_are_named(self, sample, unknown):
        assert unknown_fields((CORPUS / "configs" / f"{sample}.json").read_bytes()) == unknown


def members(data: bytes) -> list[str]:
    return RawArray(RawObject(to_text(data)).raw("members") or "[]").items


def raws_of(data: bytes, name: str) -> list[str]:
    return [member.raw for member in decode_team(data, "t").members if member.name == name]


def fields_but_members(data: bytes) -> list[tuple[str, str | None]]:
    record = RawObject(to_text(data))
    return [(key, record.raw(key)) for key in record._spans if key != "members"]


class TestTasks:
    @proves("R001-2.1-03", "R001-3.1-02", "R001-10-02")
    @samples("tasks")
    def test_what_is_not_edited_stays_byte_for_byte(self, data):
        assert encode_task(decode_task(data)) == data

    @proves("R001-3.1-30")
    @samples("tasks")
    def test_a_new_status_leaves_all_other_fields_to_the_letter(self, data):
        after = encode_task(decode_task(data), status="completed")
        assert decode_task(after).status == "completed"
        before, now = RawObject(to_text(data)), RawObject(to_text(after))
        keys = [key for key in before._spans if key != "status"]
        assert [key for key in now._spans if key != "status"] == keys
        assert [now.raw(key) for key in keys] == [before.raw(key) for key in keys]

    @samples("tasks")
    def test_a_status_that_is_there_is_replaced_where_it_stands(self, data):
        task = decode_task(data)
        span = RawObject(task.raw)._spans.get("status")
        if span is not None:
            expected = task.raw[: span[0]] + '"completed"' + task.raw[span[1] :]
            assert to_text(encode_task(task, status="completed")) == expected

    @samples("tasks")
    def test_status_and_owner_can_change_at_once_and_back(self, data):
        task = decode_task(data)
        changed = decode_task(encode_task(task, status="in_progress", owner="ann"))
        assert (changed.status, changed.owner) == ("in_progress", "ann")
        record = RawObject(task.raw)
        plain = (f'"{task.owner}"', f'"{task.status}"')
        if (record.raw("owner"), record.raw("status")) == plain:  # what stood there as another kind does not come back
            assert encode_task(changed, status=task.status, owner=task.owner) == data


class TestLedgers:
    @samples("ledgers")
    def test_every_readable_line_is_written_again_as_it_was(self, data):
        entries, torn = decode_lines(data)
        lines = [line for line in data.split(b"\n") if line.strip()]
        assert len(entries) + torn == len(lines)
        again = [
            Line(
                kind=entry.kind,
                ids=entry.ids,
                agent=entry.agent,
                state=entry.state,
                at=entry.at,
                evidence=entry.evidence,
                raw=entry.raw,
            ).numbered(entry.seq)
            for entry in entries
        ]
        readable = [line + b"\n" for line in lines if line + b"\n" in again]
        assert len(readable) == len(entries)
        assert readable == again

    @samples("ledgers")
    def test_the_rows_in_a_ledger_can_be_put_back_to_the_letter(self, data):
        for entry in decode_lines(data)[0]:
            if entry.raw:
                assert entry.message is not None
                assert entry.message.raw == entry.raw
                assert to_bytes(entry.raw) in data
                assert decode_row(entry.raw) is not None

    @pytest.mark.parametrize(
        ("sample", "readable", "torn", "last"),
        [
            ("plain", [1, 2, 3, 4], 0, 4),
            ("torn-last-line", [1, 2, 3], 1, 3),
            ("garbage-in-the-middle", [1, 2, 3, 4], 4, 4),
            ("empty", [], 0, None),
            ("only-a-torn-line", [], 1, None),
        ],
    )
    def test_a_line_that_cannot_be_read_costs_only_itself(self, sample, readable, torn, last):
        data = (CORPUS / "ledgers" / f"{sample}.log").read_bytes()
        entries, count = decode_lines(data)
        assert ([entry.seq for entry in entries], count, last_seq(data)) == (readable, torn, last)


class TestSpool:
    @samples("spool")
    def test_an_entry_is_written_again_as_it_was(self, data):
        entry = decode_entry(data)
        assert entry is not None
        assert entry.encoded() == data

    @samples("spool")
    def test_another_try_leaves_the_message_to_the_letter(self, data):
        entry = decode_entry(data)
        assert entry is not None
        raw = entry.raw
        entry.tries += 1
        entry.last_attempt, entry.next_attempt, entry.reason = 5.0, 10.0, 'it said "no"\n'
        again = decode_entry(entry.encoded())
        assert again is not None
        assert again.raw == raw
        assert (again.tries, again.last_attempt, again.next_attempt, again.reason) == (
            entry.tries,
            5.0,
            10.0,
            'it said "no"\n',
        )

    @samples("broken-spool")
    def test_a_file_that_is_no_entry_is_none(self, data):
        assert decode_entry(data) is None
