"""What a merge queue does not do again: write what is there, and note what the board says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atm.core.work_errors import NotTrusted
from atm.merges.formats.queue_file import decode_queue, encode_queue, item_fields
from atm.merges.rules.items import CONFLICT, MERGED, QUEUED, MergeCheck, MergeItem, MergeQueue, MergeRival
from atm.merges.rules.ordering import next_batch
from atm.wiring.runs import build_merges

TEAM = "crew"


def queue_of(*items: MergeItem) -> MergeQueue:
    return MergeQueue(team=TEAM, branch="atm/result/crew", items=[*items])


@pytest.fixture
def merges(layout):
    return build_merges(layout)


@pytest.fixture
def file(layout) -> Path:
    return Path(layout.merges(TEAM))


def test_a_queue_that_is_there_already_is_not_written_again(merges, file):
    queue = queue_of(MergeItem(task="1"))
    merges.write(queue)
    before = os.stat(file).st_ino
    merges.write(queue)
    assert os.stat(file).st_ino == before
    queue.items[0].status = QUEUED
    merges.write(queue)
    assert merges.read(TEAM).items[0].status == QUEUED


def test_a_queue_that_somebody_else_changed_is_written_whatever_was_written_before(merges, file):
    queue = queue_of(MergeItem(task="1"))
    merges.write(queue)
    file.write_bytes(encode_queue(queue_of(MergeItem(task="2"))))
    with pytest.raises(NotTrusted):
        merges.read(TEAM)
    merges.write(queue)
    assert [one.task for one in merges.read(TEAM).items] == ["1"]


def test_the_same_bytes_without_their_seal_are_written_again(merges, layout):
    queue = queue_of(MergeItem(task="1"))
    merges.write(queue)
    Path(layout.merges_seal(TEAM)).unlink()
    merges.write(queue)
    assert merges.read(TEAM) == queue


def test_a_queue_comes_back_as_it_was():
    rivals, checks = [MergeRival(task="1", agent="ann")], [MergeCheck(command="make", ok=False, code=2, output="x")]
    queue = queue_of(
        MergeItem(task="1", status=MERGED, commit="c" * 40, files=["a.txt"], checks=checks),
        MergeItem(task="2", status=CONFLICT, conflicts=["a.txt"], rivals=rivals, lost=["a line"], needs_human=True),
    )
    assert decode_queue(encode_queue(queue)) == queue


def test_the_fields_of_an_item_are_copies():
    item = MergeItem(task="1", files=["a.txt"])
    said = item_fields(item)
    item.files.append("b.txt")
    assert said["files"] == ["a.txt"]


def test_who_meets_the_fewest_others_is_merged_first():
    def item(task: str, *files: str) -> MergeItem:
        return MergeItem(task=task, status=QUEUED, done_at=float(task), files=[*files])

    queue = queue_of(item("1", "a", "b"), item("2", "a", "b"), item("3", "b", "c"), item("4", "d"), item("5", "c"))
    assert [one.task for one in next_batch(queue, 5)] == ["4", "5", "1", "2", "3"]
