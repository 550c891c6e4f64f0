"""Task files in Claude Code's shape, and ours under `metadata.atm` alone (D23)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.formats.task import (
    STATUSES,
    apply,
    change_from_record,
    change_to_record,
    decode_task,
    detached,
    new_task,
    task_mark,
    task_number,
)
from atm.board.rules.tasks import MOST_EVENTS, Change, Task
from atm.files.formats.json_record import NotJson, RawObject, encode, to_bytes, to_text


def encode_task(task: Task, **fields: str) -> bytes:
    """The task's file with some fields set."""
    return to_bytes(apply(task.raw, Change(fields=fields)))


def test_a_task_is_read_with_all_its_fields():
    task = decode_task(
        b'{"id": "7", "subject": "s", "description": "d", "status": "in_progress", "owner": "fixer", '
        b'"blocks": ["9"], "blockedBy": ["3", 4]}'
    )
    assert (task.id, task.number, task.subject, task.description) == ("7", 7, "s", "d")
    assert (task.status, task.owner) == ("in_progress", "fixer")
    assert (task.blocks, task.blocked_by) == (["9"], ["3", "4"])
    assert (task.priority, task.failures, task.max_retries, task.outcome) == ("normal", 0, 2, "")


@proves("R001-8.3-10")
def test_missing_fields_are_empty_and_a_missing_status_is_pending():
    task = decode_task(b"{}")
    assert (task.number, task.subject, task.description, task.owner) == (0, "", "", "")
    assert task.status == "pending"
    assert (task.blocks, task.blocked_by) == ([], [])


def test_fields_of_another_kind_count_as_missing():
    task = decode_task(b'{"id": 7, "subject": null, "status": [], "owner": false, "blocks": "9", "blockedBy": {}}')
    assert (task.number, task.subject, task.status, task.owner) == (0, "", "pending", "")
    assert (task.blocks, task.blocked_by) == ([], [])


@pytest.mark.parametrize(
    ("id", "number"),
    [("7", 7), ("007", 7), ("x", 0), ("", 0), ("-1", 0), ("٣", 0), ("9" * 40, 0), ("9" * 15, 10**15 - 1)],
)
def test_the_number_is_the_id_where_that_is_one(id, number):
    assert decode_task(to_bytes(encode({"id": id}))).number == number


def test_the_name_of_the_file_counts_and_not_what_stands_in_it():
    assert decode_task(b'{"id": "8"}', 7).id == "7"


def test_a_status_that_nobody_knows_is_shown_as_it_is():
    assert decode_task(b'{"status": "deleted"}').status == "deleted"


@pytest.mark.parametrize("data", [b"", b"[]", b'"x"', b'{"id": "7"', b"null"])
def test_a_file_that_is_no_object_is_refused(data):
    with pytest.raises(NotJson):
        decode_task(data)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_set_and_read_back(status):
    task = decode_task(b'{"id": "1", "status": "pending"}')
    assert decode_task(encode_task(task, status=status)).status == status


def test_an_empty_owner_is_written_and_means_unassigned():
    task = decode_task(b'{"id": "1", "owner": "ann", "status": "pending"}')
    assert encode_task(task, owner="") == b'{"id": "1", "owner": "", "status": "pending"}'


def test_fields_that_are_new_stand_at_the_end():
    assert encode_task(decode_task(b'{"id":"1"}'), status="completed", owner="é") == (
        '{"id":"1", "status": "completed", "owner": "é"}'.encode()
    )


def task_with(status: str = "in_progress", owner: str = "ann", **own: Any):
    return decode_task(to_bytes(encode({"id": "1", "status": status, "owner": owner, "metadata": {"atm": own}})))


class TestOurs:
    def test_everything_of_ours_is_read_from_under_metadata(self):
        task = task_with(
            priority="high",
            files=["a/*", 5],
            claim={"by": "ANN", "id": "c", "at": "t"},
            failures=1,
            maxRetries=5,
            review={"state": "review", "reviewer": "bob"},
            clarification={"needs": "lead"},
            plan={"state": "approved"},
            events=[{"id": "e1"}, {"id": "e2"}],
            comments=[{"id": "c1"}],
            acceptance=[{"kind": "file", "path": "x"}],
            future={"x": 1},
        )
        assert (task.priority, task.files, task.claim_id, task.claimed_at) == ("high", ["a/*"], "c", "t")
        assert (task.failures, task.max_retries, task.review, task.reviewer) == (1, 5, "review", "bob")
        assert (task.needs, task.plan, task.last_event) == ("lead", "approved", "e2")
        assert task.details["future"] == {"x": 1}

    @pytest.mark.parametrize(
        ("status", "owner", "claim_id"),
        [
            ("in_progress", "ann", "c"),
            ("in_progress", "Ann", "c"),
            ("in_progress", "bob", ""),
            ("in_progress", "", ""),
            ("pending", "ann", ""),
            ("completed", "ann", ""),
        ],
    )
    def test_a_claim_is_in_force_only_while_its_owner_is_at_work(self, status, owner, claim_id):
        """Claude Code may give the task to somebody else without knowing of our claim."""
        assert task_with(status, owner, claim={"by": "ann", "id": "c"}).claim_id == claim_id

    @pytest.mark.parametrize(
        ("status", "owner", "outcome"),
        [("in_progress", "", "failed"), ("in_progress", "ann", ""), ("pending", "", ""), ("completed", "", "")],
    )
    def test_an_outcome_counts_only_while_nobody_took_the_task_up_again(self, status, owner, outcome):
        assert task_with(status, owner, outcome="failed").outcome == outcome

    @pytest.mark.parametrize(("status", "review"), [("in_progress", "review"), ("pending", ""), ("completed", "")])
    def test_a_review_counts_only_while_the_task_is_in_progress(self, status, review):
        assert task_with(status, review={"state": "review"}).review == review

    @pytest.mark.parametrize("value", [None, -1, True, "2", 1.5, []])
    def test_a_count_that_is_no_count_is_the_default(self, value):
        task = task_with(failures=value, maxRetries=value)
        assert (task.failures, task.max_retries) == (0, 2)

    @pytest.mark.parametrize(
        "own", [None, 5, [], "x", {"claim": 5, "review": [], "plan": "x", "events": {}, "files": "a"}]
    )
    def test_ours_of_another_kind_counts_as_missing(self, own):
        task = decode_task(to_bytes(encode({"status": "in_progress", "owner": "ann", "metadata": {"atm": own}})))
        assert (task.claim_id, task.review, task.plan, task.events, task.files, task.last_event) == (
            "",
            "",
            "",
            [],
            [],
            "",
        )

    @pytest.mark.parametrize("metadata", [None, 5, [], "x"])
    def test_metadata_of_another_kind_counts_as_missing(self, metadata):
        task = decode_task(to_bytes(encode({"id": "1", "metadata": metadata})))
        assert (task.priority, task.is_hidden, task.details) == ("normal", False, {})

    @pytest.mark.parametrize(("internal", "is_hidden"), [(True, True), (False, False), ("true", False), (1, False)])
    def test_claude_codes_own_bookkeeping_is_hidden(self, internal, is_hidden):
        data = to_bytes(encode({"id": "1", "metadata": {"_internal": internal}}))
        assert decode_task(data).is_hidden is is_hidden


class TestNewTasks:
    def test_a_new_task_is_laid_out_as_claude_code_lays_it_out(self):
        data = new_task(
            7, subject="é", description="d", owner="ann", blocked_by=["3"], blocks=["9"], own={"priority": "high"}
        )
        assert json.loads(data) == {
            "id": "7",
            "subject": "é",
            "description": "d",
            "status": "pending",
            "owner": "ann",
            "blocks": ["9"],
            "blockedBy": ["3"],
            "metadata": {"atm": {"priority": "high"}},
        }
        assert data.startswith(b'{\n  "id": "7",\n  "subject"')
        assert data.endswith(b"}\n")

    def test_nobodys_task_has_no_owner_at_all(self):
        data = new_task(1, subject="s", description="", owner="", blocked_by=[], blocks=[], own={})
        assert "owner" not in json.loads(data)

    @given(st.text(max_size=40), st.text(max_size=40))
    def test_whatever_the_words_they_are_read_back(self, subject, description):
        data = new_task(1, subject=subject, description=description, owner="", blocked_by=[], blocks=[], own={})
        task = decode_task(data)
        assert (task.subject, task.description) == (subject, description)


KEYS = st.text(min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
KNOWN = ("id", "subject", "description", "status", "owner", "blocks", "blockedBy", "metadata")
FOREIGN = st.dictionaries(KEYS.filter(lambda key: key not in KNOWN), JSON, max_size=4)
IDS = st.lists(st.integers(1, 9).map(str), max_size=4)
CHANGES = st.builds(
    Change,
    st.none() | st.fixed_dictionaries({"id": KEYS, "type": st.just("x")}),
    fields=st.fixed_dictionaries(
        {}, optional={"status": st.sampled_from(STATUSES), "owner": st.sampled_from(["", "ann"])}
    ),
    own=st.dictionaries(KEYS.filter(lambda key: key != "events"), JSON, max_size=3),
    add=st.fixed_dictionaries({}, optional={"blocks": IDS, "blockedBy": IDS}),
    drop=st.fixed_dictionaries({}, optional={"blocks": IDS, "blockedBy": IDS}),
)


class TestChanges:
    @given(FOREIGN, FOREIGN, FOREIGN, CHANGES, st.booleans())
    def test_a_change_leaves_every_field_that_it_is_not_about_to_the_letter(self, top, metadata, own, change, is_wide):
        record = {
            **top,
            "id": "1",
            "status": "pending",
            "blocks": ["1", "2"],
            "blockedBy": ["3"],
            "metadata": {**metadata, "atm": own},
        }
        raw = json.dumps(record, ensure_ascii=False, indent=2 if is_wide else None)
        before, after = RawObject(raw), RawObject(apply(raw, change))
        touched = {*change.fields, *change.add, *change.drop, "metadata"}
        for key in record:
            if key not in touched:
                assert after.raw(key) == before.raw(key)
        inner, outer = RawObject(before.raw("metadata") or ""), RawObject(after.raw("metadata") or "")
        for key in metadata:
            if key != "atm":
                assert outer.raw(key) == inner.raw(key)
        ours = outer.get("atm")
        assert isinstance(ours, dict)
        for key, value in own.items():
            if key not in change.own and key != "events":
                assert ours[key] == value

    @given(CHANGES)
    def test_what_a_change_says_is_so_afterwards(self, change):
        raw = '{"id": "1", "owner": "bob", "blocks": ["1", "2"], "blockedBy": ["3"], "metadata": {"x": 1}}'
        task = decode_task(to_bytes(apply(raw, change)))
        for key, value in change.fields.items():
            assert getattr(task, key) == value
        for key, value in change.own.items():
            assert task.details.get(key) == value
        for key, ids in (("blocks", task.blocks), ("blockedBy", task.blocked_by)):
            assert {*change.add.get(key, ())} <= {*ids}
            assert not {*change.drop.get(key, ())} - {*change.add.get(key, ())} & {*ids}
            assert len({*ids}) == len(ids)
        if change.event is not None:
            assert task.events[-1] == change.event

    @given(CHANGES)
    def test_a_change_survives_being_noted_down(self, change):
        noted = json.loads(encode(change_to_record(change)))
        again = change_from_record(noted)
        raw = '{"id": "1", "blocks": ["1"], "metadata": {"atm": {"a": 1}}}'
        assert apply(raw, again) == apply(raw, change)

    def test_making_a_change_of_dependencies_twice_is_making_it_once(self):
        raw = '{"id": "1", "blocks": ["1"], "blockedBy": []}'
        change = Change(add={"blocks": ["2"]}, drop={"blocks": ["1"], "blockedBy": ["5"]})
        once = apply(raw, change)
        assert apply(once, change) == once
        assert decode_task(to_bytes(once)).blocks == ["2"]

    def test_an_owner_that_is_not_there_is_not_taken_away(self):
        assert apply('{"id": "1"}', Change(fields={"owner": ""})) == '{"id": "1"}'

    def test_only_so_many_events_stand_in_the_file_and_the_newest_are_kept(self):
        raw = '{"id": "1"}'
        for number in range(MOST_EVENTS + 5):
            raw = apply(raw, Change({"id": str(number)}))
        events = decode_task(to_bytes(raw)).events
        assert [event["id"] for event in events] == [str(number) for number in range(5, MOST_EVENTS + 5)]

    def test_metadata_that_is_null_or_missing_is_made(self):
        for raw in ('{"id": "1"}', '{"id": "1", "metadata": null}'):
            assert decode_task(to_bytes(apply(raw, Change(own={"a": "b"})))).details == {"a": "b"}

    @pytest.mark.parametrize("metadata", ["5", "[]", '"x"', "true"])
    def test_where_metadata_is_no_object_there_is_no_place_for_ours(self, metadata):
        raw = f'{{"id": "1", "metadata": {metadata}}}'
        with pytest.raises(NotJson):
            apply(raw, Change(own={"a": "b"}))
        assert apply(raw, Change(fields={"status": "completed"})).endswith('"status": "completed"}')

    @pytest.mark.parametrize("raw", ["", "[]", "nonsense"])
    def test_what_is_no_task_is_not_changed(self, raw):
        with pytest.raises(NotJson):
            apply(raw, Change(fields={"status": "completed"}))

    def test_bytes_that_are_no_utf8_survive_a_change(self):
        data = b'{"id": "1", "subject": "\xff\xfe", "status": "pending"}'
        after = to_bytes(apply(to_text(data), Change(fields={"status": "completed"})))
        assert after == data.replace(b"pending", b"completed")


class TestBackups:
    def test_nobody_works_on_a_task_that_comes_back(self):
        data = to_bytes(
            encode(
                {
                    "id": "1",
                    "status": "in_progress",
                    "owner": "ann",
                    "metadata": {"atm": {"claim": {"by": "ann", "id": "c"}}},
                }
            )
        )
        task = decode_task(detached(data))
        assert (task.status, task.owner, task.claim_id, task.details) == ("pending", "", "", {})

    @pytest.mark.parametrize(
        "record",
        [
            {"id": "1", "status": "completed", "owner": "ann"},
            {"id": "1", "status": "pending", "owner": "ann"},
            {"id": "1", "status": "in_progress", "metadata": {"atm": {"outcome": "failed"}}},
        ],
    )
    def test_everything_else_comes_back_to_the_letter(self, record):
        data = to_bytes(encode(record))
        assert detached(data) == data


@pytest.mark.parametrize(
    ("file_name", "number"),
    [
        ("7.json", 7),
        ("10.json", 10),
        ("0.json", 0),
        ("007.json", None),  # another file than 7.json: two files must not be one task
        (".lock", None),
        (".highwatermark", None),
        ("7.json.lock", None),
        ("7", None),
        ("x.json", None),
        ("-1.json", None),
        ("1.5.json", None),
        (".json", None),
        ("٣.json", None),
        ("²۫.json", None),
        ("7.JSON", None),
        ("9" * 15 + ".json", 10**15 - 1),
        ("9" * 16 + ".json", None),
        (".7.json.new-0", None),
    ],
)
def test_only_task_files_have_a_number(file_name, number):
    assert task_number(file_name) == number


@pytest.mark.parametrize(
    ("data", "mark"),
    [
        (b"7", 7),
        (b" 12\n", 12),
        (b"", 0),
        (b"x", 0),
        (b"-3", 0),
        (b"1.5", 0),
        (b"\xff\xfe", 0),
        (b"9" * 99, 0),
        (b"007", 7),
    ],
)
def test_the_mark_is_a_number_or_nothing(data, mark):
    assert task_mark(data) == mark


@pytest.mark.parametrize(("digits", "is_number"), [(15, True), (16, False)])
def test_a_number_has_fifteen_digits_at_most(digits, is_number):
    number = int("9" * digits)
    assert task_mark(b"9" * digits) == (number if is_number else 0)
    assert decode_task(b'{"id": "%d"}' % number).number == (number if is_number else 0)
