"""A team at one moment, composed once: what changed costs, what did not is not read again, and all say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.sessions.services.stage import SessionStage

from atm.board.rules.dependencies import Board
from atm.core.errors import UnreadableFile
from atm.mail.services.conversations import acknowledge
from atm.sessions.services.resuming import resume
from atm.snapshot.services.composing import Snapshots
from atm.snapshot.services.members import member_facts
from atm.testing.approvals import MemoryApprovals
from atm.testing.rooms import memory_syncroom
from atm.testing.runs import MemoryMerges, MemoryRuns


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage()
    made.task("parse", owner="bob")
    made.task("lex")
    made.say("bob", "cat", "hello")
    return made


@pytest.fixture
def snapshots(stage: SessionStage) -> Snapshots:
    return Snapshots(
        stage.desk,
        memory_syncroom(stage.boardroom),
        MemoryApprovals(stage.boardroom.room.rosters),
        MemoryMerges(),
        MemoryRuns(),
    )


def member(found: Any, name: str) -> Any:
    return next(one for one in found["members"] if one["name"] == name)


def test_it_has_members_tasks_mail_lead_and_work_sync(stage, snapshots):
    found: Any = snapshots.of("crew")
    bob, cat = member(found, "bob"), member(found, "cat")
    assert (bob["tasks"], bob["liveness"], bob["state"]) == (["1"], "online", "working")
    assert (cat["mail"]["unread"], cat["mail"]["total"]) == (1, 1)
    assert [(one["id"], one["state"], one["owner"]) for one in found["tasks"]] == [
        ("1", "in_progress", "bob"),
        ("2", "pending", None),
    ]
    assert found["task_counts"] == {"pending": 1, "in_progress": 1, "completed": 0}
    assert (found["lead"]["member"], found["lead"]["session"]) == ("ann", None)
    assert bob["sync"]["label"]
    json.dumps(found)


def test_receipts_that_somebody_waits_for_are_in_it_until_they_come(stage, snapshots):
    sent = stage.say("bob", "cat", "is main broken?", ack_minutes=5)
    (one,) = snapshots.of("crew")["unacknowledged"]
    assert (one["id"], one["from"], one["to"], one["minutes"]) == (sent.message_id, "bob", "cat", 5)
    acknowledge(stage.room, "crew", "cat", sent.message_id, None)
    assert snapshots.of("crew")["unacknowledged"] == []


def test_what_was_known_of_a_board_that_could_not_be_read_since_does_not_come_back(stage, snapshots, monkeypatch):
    snapshots.of("crew")
    tasks: Any = stage.boardroom.tasks

    def broken(_: str) -> Any:
        raise UnreadableFile("no board", "mend it")

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "board", broken)
        assert snapshots.of("crew")["tasks"] == []
    monkeypatch.setattr(tasks, "board", lambda _: Board({}))
    found = snapshots.of("crew")
    assert (found["tasks"], found["task_counts"]) == ([], {"pending": 0, "in_progress": 0, "completed": 0})


def test_its_version_rises_with_every_change_and_not_with_time(stage, snapshots):
    one = snapshots.of("crew")["version"]
    stage.later(5)
    assert snapshots.of("crew")["version"] == one
    stage.say("cat", "bob")
    two = snapshots.of("crew")["version"]
    resume(stage.as_session("s"), "crew")
    three = snapshots.of("crew")["version"]
    stage.later(11 * 60)
    four = snapshots.of("crew")["version"]
    assert [one, two, three, four] == [1, 2, 3, 4]


def test_an_inbox_that_did_not_change_is_not_counted_again(stage, snapshots, monkeypatch):
    snapshots.of("crew")
    counted: list[str] = []
    inboxes, real = stage.room.inboxes, stage.room.inboxes.counts

    def count(team: str, agent: str) -> Any:
        counted.append(agent)
        return real(team, agent)

    monkeypatch.setattr(inboxes, "counts", count)
    stage.say("cat", "bob")
    snapshots.of("crew")
    assert counted == ["bob"]


def test_everybody_says_the_same_of_a_member(stage, snapshots):
    team = stage.room.rosters.load("crew")
    said = member_facts(stage.room, team, team.members[1]).fields()
    shown = member(snapshots.of("crew"), "bob")
    assert {key: shown[key] for key in said} == said


def test_a_part_that_cannot_be_read_is_said_and_the_rest_is_there(stage, snapshots, monkeypatch):
    def broken(_: str) -> Any:
        raise UnreadableFile("no board", "mend it")

    monkeypatch.setattr(stage.boardroom.tasks, "board", broken)
    found: Any = snapshots.of("crew")
    assert any("no board" in trouble for trouble in found["troubles"])
    assert len(found["members"]) == 3


def test_a_question_and_a_plan_that_wait_stand_in_it_with_their_words_until_they_are_answered(stage, snapshots):
    from atm.board.services import reviews

    id = stage.task("which?", owner="cat")
    reviews.ask(stage.boardroom, "crew", "cat", id, "user", "which colour?")
    (asked,) = snapshots.of("crew")["asked"]
    assert (asked["task"], asked["kind"], asked["whom"], asked["by"], asked["text"]) == (
        *(id, "question", "user", "cat", "which colour?"),
    )
    reviews.answer(stage.boardroom, "crew", "human", id, "blue")
    assert snapshots.of("crew")["asked"] == []


def test_a_stall_that_somebody_was_told_of_stands_in_it_until_there_is_progress(stage, snapshots):
    from atm.board.services import working
    from atm.board.services.stall_watch import watch_stalls

    stage.later(3600)
    stage.alive("bob")
    team = stage.room.rosters.load("crew")
    assert [one.task for one in watch_stalls(stage.boardroom, snapshots._syncroom.records, team, 30)] == ["1"]
    (stalled,) = snapshots.of("crew")["stalled"]
    assert (stalled["task"], stalled["member"], stalled["told"]) == ("1", "bob", "owner")
    working.comment(stage.boardroom, "crew", "bob", "1", "the lexer is done, 17 tests pass")
    assert snapshots.of("crew")["stalled"] == []
