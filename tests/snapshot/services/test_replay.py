"""A team at any moment of its past, and what happened over time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.sessions.services.stage import SessionStage

from atm.mail.services.bookkeeping import all_told
from atm.mail.services.reading import Filter, take
from atm.runs.rules.memory import RunEvent
from atm.snapshot.services.replay import STEPS, TeamMark, TeamPast, activity


@pytest.fixture
def stage() -> SessionStage:
    return SessionStage()


def past(stage: SessionStage, events: list[RunEvent] | None = None, **facts: Any) -> TeamPast:
    board = stage.boardroom.tasks
    waits = {card.id: [*card.blocked_by] for card in board.board("crew").sorted()}
    audit = facts.get("audit", [])
    return TeamPast(all_told(stage.room, "crew"), board.past("crew")[0], audit, events or [], waits, {"a1": "git push"})


def at(stage: SessionStage, moment: float, **facts: Any) -> dict[str, Any]:
    found = past(stage, **facts)
    return {**found.at(moment, found.marks())}


def test_a_task_is_there_from_the_moment_it_was_added_and_done_from_the_moment_it_was(stage):
    before = stage.room.clock.now() - 1
    id = stage.task("parse", owner="bob")
    added = stage.room.clock.now()
    stage.later(10)
    stage.done(id, "bob")
    done = stage.room.clock.now()
    assert at(stage, before)["tasks"] == []
    assert [(one["subject"], one["state"], one["owner"]) for one in at(stage, added)["tasks"]] == [
        ("parse", "in_progress", "bob")
    ]
    assert at(stage, done - 1)["tasks"][0]["state"] == "in_progress"
    assert at(stage, done)["tasks"][0]["state"] == "completed"


def test_mail_is_unread_until_it_is_read(stage):
    stage.say("bob", "cat", "hello")
    sent = stage.room.clock.now()
    stage.later(10)
    take(stage.room, "crew", "cat", Filter())
    read = stage.room.clock.now()

    def unread(moment: float) -> Any:
        return next(one["unread"] for one in at(stage, moment)["members"] if one["name"] == "cat")

    assert unread(sent) == 1
    assert unread(read) == 0


def test_a_conflict_is_told_with_its_rival_and_its_files_and_is_over_when_it_is(stage):
    now = stage.room.clock.now()
    events = [
        RunEvent("merge.merged", "8", now + 1, by="ann"),
        RunEvent("merge.conflict_detected", "9", now + 2, by="bob", files=["cli.py"]),
        RunEvent("merge.merged", "9", now + 9, by="bob"),
    ]
    events[1].detail["with"] = ["8"]
    mark = next(one for one in past(stage, events).marks() if "conflict" in one.what)
    assert (mark.who, mark.what, mark.about) == ("bob", "#9 conflict detected with #8; in cli.py", "9")
    assert at(stage, now + 5, events=events)["merges"] == [
        {"task": "8", "status": "merged"},
        {"task": "9", "status": "conflict_detected"},
    ]
    assert at(stage, now + 9, events=events)["merges"][1]["status"] == "merged"


def test_a_request_waits_from_the_question_to_the_answer(stage):
    audit = [
        {"at": "2026-01-01T00:00:00.000Z", "id": "a1", "event": "asked", "by": "bob"},
        {"at": "2026-01-01T00:01:00.000Z", "id": "a1", "event": "denied", "by": "ann", "reason": "no"},
    ]
    first = 1_767_225_600.0
    assert at(stage, first + 30, audit=audit)["approvals"] == [
        {"id": "a1", "requester": "bob", "command": "git push", "state": "waiting"}
    ]
    assert at(stage, first + 60, audit=audit)["approvals"][0]["state"] == "denied"
    assert at(stage, first - 1, audit=audit)["approvals"] == []


def test_an_agent_is_what_its_run_said_last(stage):
    now = stage.room.clock.now()
    events = [RunEvent("agent.working", "kite", now + 1), RunEvent("agent.stopped", "kite", now + 5)]
    assert at(stage, now + 2, events=events)["members"] == [{"name": "kite", "unread": None, "state": "working"}]
    assert at(stage, now + 5, events=events)["members"][0]["state"] == "stopped"


def test_over_time_everything_is_counted_once_and_what_nobody_tells_is_unknown(stage):
    now = stage.room.clock.now()
    marks = [TeamMark(now - 600 + number, "mail" if number % 2 else "task", "ann", "x", "1") for number in range(100)]
    found: dict[str, Any] = {**activity(marks, [RunEvent("agent.stopped", "kite", now - 5, turns=3)], now)}
    assert (sum(found["mail"]), sum(found["tasks"]), sum(found["turns"])) == (50, 50, 3)
    assert found["tokens"] is None
    assert found["cost"] is None
    assert {share for share in found["coordination"] if share is not None} <= {0.0, 0.4, 0.5, 0.6, 1.0, 0.455, 0.545}
    told = activity(marks, [RunEvent("agent.stopped", "kite", now - 5, tokens=70, cost=0.5)], now)
    assert [value for value in told["tokens"] if value] == [70]  # type: ignore[union-attr]


@given(some.lists(some.floats(0, 1e10, allow_nan=False), max_size=30), some.floats(0, 1e10, allow_nan=False))
def test_whatever_the_clock_did_every_mark_has_its_column(times, now):
    found: dict[str, Any] = {**activity([TeamMark(time, "mail", "ann", "x", "1") for time in times], [], now)}
    assert sum(found["mail"]) == len(times)
    assert len(found["mail"]) == STEPS
