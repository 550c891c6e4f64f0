"""Task files in Claude Code's shape."""

from __future__ import annotations

import pytest

from atm.formats.json_record import NotJson
from atm.formats.task import STATUSES, decode_task, encode_task, task_number


def test_a_task_is_read_with_all_its_fields():
    task = decode_task(
        b'{"id": "7", "subject": "s", "description": "d", "status": "in_progress", "owner": "fixer", '
        b'"blocks": ["9"], "blockedBy": ["3", 4]}'
    )
    assert (task.id, task.subject, task.description) == ("7", "s", "d")
    assert (task.status, task.owner) == ("in_progress", "fixer")
    assert (task.blocks, task.blocked_by) == (("9",), ("3", "4"))


def test_missing_fields_are_empty_and_a_missing_status_is_pending():
    task = decode_task(b"{}")
    assert (task.id, task.subject, task.description, task.owner) == ("", "", "", "")
    assert task.status == "pending"
    assert (task.blocks, task.blocked_by) == ((), ())


def test_fields_of_another_kind_count_as_missing():
    task = decode_task(b'{"id": 7, "subject": null, "status": [], "owner": false, "blocks": "9", "blockedBy": {}}')
    assert (task.id, task.subject, task.status, task.owner) == ("", "", "pending", "")
    assert (task.blocks, task.blocked_by) == ((), ())


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


@pytest.mark.parametrize(
    ("file_name", "number"),
    [
        ("7.json", 7),
        ("10.json", 10),
        ("007.json", 7),
        ("0.json", 0),
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
    ],
)
def test_only_task_files_have_a_number(file_name, number):
    assert task_number(file_name) == number
