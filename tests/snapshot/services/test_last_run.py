"""The last run of a team in the snapshot: how it stands, since when, and what a person types next."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sessions.services.stage import SessionStage

from atm.board.services import working
from atm.files.formats.times import to_iso
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.orders import RunOrder
from atm.runs.services.starting import SOURCE
from atm.snapshot.services.composing import Snapshots
from atm.team.services.presence import beat
from atm.testing.approvals import MemoryApprovals
from atm.testing.rooms import memory_syncroom
from atm.testing.runs import MemoryMerges, MemoryRuns

RESUME = "atm run --resume r1 --team crew"


class RunStage(SessionStage):
    """A run of two tasks, of which the first is done."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = MemoryRuns()
        self.task("lex", owner="bob")
        self.task("parse")
        self.done("1", "bob")
        self.begin("r1")
        rosters: Any = self.room.rosters
        self.snapshots = Snapshots(
            self.desk, memory_syncroom(self.boardroom), MemoryApprovals(rosters), MemoryMerges(), self.runs
        )

    def begin(self, run: str) -> None:
        self.runs.write(RunOrder(run=run, team="crew", folder="/r", goal="a parser"))
        self.note(kinds.STARTED, run, run)
        for id in ("1", "2"):
            self.note(kinds.ADDED, id, run, state="pending")

    def note(self, kind: str, subject: str, run: str = "r1", **detail: Any) -> None:
        self.later(1.0)
        self.runs.append("crew", run, [RunEvent(kind, subject, self.room.clock.now(), **detail)])

    def rows(self) -> list[Any]:
        found: Any = self.snapshots.of("crew")["runs"]
        return list(found)

    def state(self) -> str:
        return ", ".join(row["state"] for row in self.rows())


@pytest.fixture
def stage() -> RunStage:
    return RunStage()


def test_a_team_without_a_run_has_none():
    plain = SessionStage()
    rosters: Any = plain.room.rosters
    made = Snapshots(
        plain.desk, memory_syncroom(plain.boardroom), MemoryApprovals(rosters), MemoryMerges(), MemoryRuns()
    )
    assert made.of("crew")["runs"] == []


def test_a_run_whose_lock_is_gone_died_though_no_file_changed(stage):
    with stage.runs.hold("crew"):
        assert stage.state() == "running"
        version = stage.snapshots.of("crew")["version"]
    (row,) = stage.rows()
    assert (row["state"], row["resume"], row["resumable"]) == ("died", RESUME, True)
    assert (row["done"], row["tasks"], row["goal"]) == (1, 2, "a parser")
    assert stage.snapshots.of("crew")["version"] > version  # so followers are told


def test_a_run_whose_loop_is_suspended_names_what_continues_it_though_no_file_changed(stage):
    with stage.runs.hold("crew"):
        assert stage.state() == "running"
        version = stage.snapshots.of("crew")["version"]
        stage.runs.suspended["crew"] = 77
        (row,) = stage.rows()
        assert (row["state"], row["resume"], row["resumable"]) == ("suspended", "kill -CONT 77", False)
        assert stage.snapshots.of("crew")["version"] > version
        stage.note(kinds.WAITS, kinds.WAITS, text="#2 cannot go on without a person")
        assert stage.state() == "suspended"  # nothing that is answered now is heard
        del stage.runs.suspended["crew"]
        assert stage.state() == "held"


def test_it_was_last_seen_at_its_last_event_or_heartbeat(stage):
    at = stage.room.clock.now()
    assert stage.rows()[0]["since"] == to_iso(at)
    stage.later(60.0)
    stage.alive("ann")  # another command of the lead is no sign of the loop
    assert stage.rows()[0]["since"] == to_iso(at)
    team = stage.room.rosters.load("crew")
    beat(stage.room.presence, team, "ann", stage.room.clock.now(), SOURCE)
    assert stage.rows()[0]["since"] == to_iso(at + 60.0)


def test_an_interruption_and_its_resume_are_told_as_they_happen(stage):
    stage.note(kinds.PAUSED, "r1", why="a person interrupted it")
    assert (stage.state(), stage.rows()[0]["why"]) == ("paused", "a person interrupted it")
    with stage.runs.hold("crew"):
        stage.note(kinds.RESUMED, "r1")
        assert stage.state() == "running"
        stage.note(kinds.WAITS, kinds.WAITS, text="#2 cannot go on without a person")
        (row,) = stage.rows()
        assert (row["state"], row["since"]) == ("held", to_iso(stage.room.clock.now()))
        assert (row["resume"], row["resumable"]) == ("atm top --team crew", False)
    assert stage.state() == "died"


@pytest.mark.parametrize(("outcome", "state"), [("partial", "held"), ("failed", "held"), ("stopped", "stopped")])
def test_a_run_that_ended_with_open_tasks_is_told_until_none_is_open(stage, outcome, state):
    stage.note(kinds.ENDED, "r1", outcome=outcome, why="nobody answered within 30 minutes")
    (row,) = stage.rows()
    assert (row["state"], row["resume"], row["resumable"]) == (state, RESUME, True)
    working.claim(stage.boardroom, "crew", "bob", "2")
    stage.done("2", "bob")
    assert stage.rows() == []


def test_a_success_is_no_news(stage):
    stage.note(kinds.ENDED, "r1", outcome="success")
    assert stage.rows() == []


def test_only_the_run_that_began_last_is_told_of(stage):
    stage.begin("r2")
    assert [(row["run"], row["state"]) for row in stage.rows()] == [("r2", "died")]
    stage.runs.remove("crew", "r2")
    assert [row["run"] for row in stage.rows()] == ["r1"]


def test_an_order_that_cannot_be_read_leaves_no_command(stage):
    del stage.runs._orders["crew", "r1"]
    (row,) = stage.rows()
    assert (row["state"], row["resume"], row["resumable"]) == ("died", None, False)


def test_events_that_were_read_are_not_read_again(stage, monkeypatch):
    stage.rows()
    offsets: list[int] = []
    read = stage.runs.events_since

    def counted(team: str, run: str, offset: int) -> Any:
        offsets.append(offset)
        return read(team, run, offset)

    monkeypatch.setattr(stage.runs, "events_since", counted)
    stage.rows()
    assert offsets[0] > 0


def test_what_cannot_be_read_is_said_and_the_rest_is_there(stage, monkeypatch):
    def fails(*_: object) -> Any:
        raise PermissionError(13, "no")

    monkeypatch.setattr(stage.runs, "events_since", fails)
    found: Any = stage.snapshots.of("crew")
    assert found["runs"] == []
    assert any("runs:" in one for one in found["troubles"])
    assert len(found["members"]) == 3
