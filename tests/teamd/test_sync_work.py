"""The daemon's part in work-sync, on twins: events in, looks out, and a loop that sleeps while nothing is due."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, OPEN, Place

from atm.board.services import working as board
from atm.core.errors import UnreadableFile, WriteRefused
from atm.events import rules as events
from atm.events.rules import TeamEvent
from atm.files.ports.records import OUTBOX, STATUS
from atm.team.rules.lifecycle import COMPLETE
from atm.team.rules.liveness import IDLE, WORKING
from atm.team.services.lifecycle import walk
from atm.teamd.parts import worksync as sync_work
from atm.teamd.parts.worksync import MOST_NOTED, SCAN_EVERY, STALL_GRACE, SyncWork
from atm.testing.files import MemoryRecords
from atm.worksync.rules.readiness import Thresholds
from atm.worksync.services import rounds
from atm.worksync.services.reports import note_intent
from atm.worksync.services.syncroom import SyncPolicy

if TYPE_CHECKING:
    from atm.core.plain import Record

QUIET = 90.0


class Stage(Place):
    """A place with the daemon's work beside it; `live` lets the loop run as the daemon does."""

    def __init__(self, policy: SyncPolicy = OPEN) -> None:
        super().__init__(policy)
        self.lines: list[tuple[str, str]] = []
        self.asked: list[float] = []
        self.stall_minutes = 30.0
        self.restart()

    def restart(self) -> None:
        """As a daemon does that was started just now."""
        self.work = SyncWork(
            lambda: self.syncroom, self.log, lambda _, seconds: self.asked.append(seconds), lambda: self.stall_minutes
        )

    def log(self, level: str, _source: str, text: str, **_: object) -> None:
        self.lines.append((level, text))

    def hear(self, kind: str, subject: str = "", **detail: Any) -> bool:
        return self.work.hear(TeamEvent(kind, "crew", subject, self.now, detail))

    def live(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> int:
        """So much time as the daemon spends it: asleep until the loop asked to be woken, a minute at most. Rounds."""
        end, count = self.now + seconds, 0
        while self.now < end:
            self.asked.clear()
            self.work.work()
            count += 1
            meanwhile()
            self.passes(max(0.001, min(60.0, end - self.now, *self.asked)))
            assert count < 2000, "it does not sleep"
        return count

    def looked_at(self, name: str = "ann") -> int:
        record = self.syncroom.records.read("crew", STATUS).get(name)
        return 0 if record is None else self.status(name).counters.reconciles


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.add("the parser")
    return made


# Looking.


@proves(
    "R002-1-18",
    "R002-8.0-64",
    "R002-11.2.1-08",
    "R002-11.2.1-28",
    "R002-11.2.1-29",
    "R002-11.2.1-30",
    "R002-16.6-03",
    "R002-17.4-05",
    "R002-22-06",
    "R002-27.1-41",
    "R002-27.1-42",
)
def test_a_start_looks_at_everybody_once_after_a_quiet_window(stage):
    stage.live(QUIET - 1)
    assert stage.looked_at() == 0
    stage.live(60)
    assert [stage.looked_at(name) for name in stage.team.names] == [1] * len(stage.team.names)


@proves(
    "R002-6-01",
    "R002-8.0-36",
    "R002-8.0-40",
    "R002-8.0-96",
    "R002-11.2.1-06",
    "R002-16.4-06",
    "R002-16.6-12",
    "R002-16.7-01",
    "R002-20.3-19",
    "R002-20.5-08",
)
def test_a_burst_of_a_hundred_events_is_one_look_at_each_member_concerned(stage):
    stage.live(200)
    before = stage.looked_at("ann"), stage.looked_at("cleo")
    for number in range(100):
        assert stage.hear(events.TASK_CHANGED, "1", before={"subject": f"x{number}"})
    stage.live(200)
    assert (stage.looked_at("ann"), stage.looked_at("cleo")) == (before[0] + 1, before[1])


def test_a_busy_team_is_looked_at_although_it_is_never_quiet(stage):
    stage.live(200)
    before = stage.looked_at()
    stage.live(3000, lambda: stage.hear(events.TASK_CHANGED, "1") and None)
    assert 5 <= stage.looked_at() - before <= 8


@proves(
    "R002-8.0-39",
    "R002-11.2.1-01",
    "R002-16.4-06",
    "R002-16.4-14",
    "R002-16.6-11",
    "R002-16.6-12",
    "R002-20.3-23",
    "R002-21-67",
)
def test_hearing_reads_nothing_and_writes_nothing(stage, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("nothing may be read where events are heard")

    for part, name in (
        (stage.room.rosters, "load"),
        (stage.boardroom.tasks, "board"),
        (stage.syncroom.records, "read"),
    ):
        monkeypatch.setattr(part, name, refuse)
    for kind in events.KINDS:
        stage.hear(kind, "1", owner="ann")
    stage.work.hear_beat("crew", "ann")
    stage.work.lost_some()


@proves("R002-16.4-14", "R002-20.3-22")
def test_events_of_no_interest_are_not_noted(stage):
    assert not stage.hear(events.PLUGIN_STATE)
    assert not stage.work.hear(TeamEvent(events.TASK_CHANGED, "", "1", 0.0))


@proves("R002-6-02", "R002-29-03")
def test_everybody_is_looked_at_now_and_then_although_nothing_was_heard(stage):
    stage.live(10 * SCAN_EVERY)
    assert 8 <= stage.looked_at("bob") <= 12


def test_when_some_events_were_lost_everybody_is_looked_at(stage):
    stage.live(200)
    before = stage.looked_at("cleo")
    for _ in range(MOST_NOTED + 5):
        stage.work.hear_beat("crew", "ann")
    stage.live(200)
    assert stage.looked_at("cleo") == before + 1


@proves("R002-16.7-02")
def test_a_beat_of_nobody_in_particular_concerns_the_team(stage):
    stage.live(200)
    stage.work.hear_beat("crew", "")
    before = stage.looked_at("cleo")
    stage.live(200)
    assert stage.looked_at("cleo") == before + 1


def test_the_end_of_a_lease_is_noticed_without_an_event(stage):
    stage.live(QUIET + 1)
    stage.report()
    stage.live(100, lambda: None)
    stage.hear(events.MESSAGE_WRITTEN, "ann")
    stage.live(120)
    assert stage.status().state == "valid_lease"
    stage.live(500)
    assert stage.status().state == "needs_sync"


@proves("R002-10.4-10")
def test_a_new_task_is_not_nudged_about_within_its_quiet_window(stage):
    stage.report()
    stage.live(595)
    stage.add("the printer")
    stage.hear(events.TASK_CREATED, "2", owner="ann")
    stage.live(QUIET - 10)
    assert stage.nudges() == []


@proves("R002-1-82", "R002-8.0-108", "R002-16.3-01", "R002-16.3-03", "R002-20.3-21", "R002-21-60", "R002-21-61")
def test_tool_activity_only_ever_makes_somebody_look(stage):
    stage.live(200)
    sent = len(stage.nudges())
    before = stage.everything()["tasks"]
    for _ in range(50):
        stage.work.hear_beat("crew", "ann")
    stage.live(200)
    assert stage.everything()["tasks"] == before
    assert len(stage.nudges()) == sent
    assert stage.status().state == "needs_sync"


# Nudging.


def test_a_day_of_a_stuck_member_has_four_nudges_and_one_word_to_the_lead(stage):
    stage.live(86400)
    assert len(stage.nudges()) == 4
    assert len(stage.nudges(LEAD)) == 1
    assert ("info", "ann was nudged") in stage.lines


@proves("R002-8.0-64", "R002-8.0-73", "R002-11.2.1-29")
def test_restarts_nudge_nobody_again(stage):
    for _ in range(30):
        stage.restart()
        stage.live(QUIET + 5)
    plain = [text for text in stage.nudges() if "Reminder" not in text]
    assert len(plain) == 1
    assert len(stage.nudges()) <= 3


@proves("R002-18.1-06")
def test_a_day_of_a_member_that_is_busy_has_no_nudge(stage):
    stage.live(6 * 3600, lambda: stage.beats("ann", WORKING))
    assert stage.nudges() == []


@proves("R002-1-62", "R002-1-63", "R002-16.1-02")
def test_a_member_is_nudged_when_it_has_been_idle_for_a_while(stage):
    stage.live(1800, lambda: stage.beats("ann", WORKING))
    assert stage.nudges() == []
    stage.beats("ann", IDLE, since=stage.now)
    stage.live(80)
    assert stage.nudges() == []
    stage.live(700)
    assert len(stage.nudges()) == 1


@proves("R002-1-08", "R002-1-24", "R002-5-01", "R002-11.2.1-12", "R002-18.1-01", "R002-27.4-03", "R002-29-01")
def test_a_team_that_was_not_observed_for_an_hour_is_not_nudged():
    stage = Stage(SyncPolicy())
    stage.add("the parser")
    stage.live(3500)
    assert stage.nudges() == []
    stage.live(4 * 3600)
    assert len(stage.nudges()) >= 1


def test_noise_in_one_team_does_not_silence_another():
    stage = Stage(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0)))
    stage.create("calm")
    stage.add("work", team="calm")
    for number in range(8):
        stage.add(f"work {number}")
        stage.live(200)
    stage.live(2000)
    assert len(stage.nudges("ann", "calm")) >= 1


# Ends.


@proves("R002-1-64", "R002-11.2.1-10", "R002-16.6-03", "R002-21-53", "R002-22-11", "R002-26-11", "R002-27.1-54")
def test_a_stopped_team_is_neither_looked_at_nor_nudged(stage):
    stage.stop()
    before = stage.everything()
    stage.hear(events.TASK_CHANGED, "1")
    stage.live(2 * SCAN_EVERY)
    assert stage.changed(before) == []


@proves("R002-8.0-44", "R002-8.0-48", "R002-8.0-87", "R002-11.2.1-41", "R002-12.1-13", "R002-27.1-31", "R002-27.1-38")
def test_a_team_stopped_while_it_waits_is_dropped_before_anything_is_read(stage, monkeypatch):
    stage.live(QUIET - 5)
    stage.stop()

    def refuse(_team):
        raise AssertionError("its board is nobody's business any more")

    monkeypatch.setattr(stage.boardroom.tasks, "board", refuse)
    stage.live(300)
    assert stage.looked_at() == 0


@proves("R002-1-64")
def test_a_stopped_team_with_items_that_wait_lets_the_loop_sleep(stage):
    stage.beats("ann", IDLE, since=stage.now - 1000)
    stage.live(QUIET + 1, stage.quiet)
    stage.add("the printer")
    stage.plan()
    stage.work.lost_some()
    stage.beats("ann", WORKING)
    stage.live(120)
    assert [item.status for item in stage.items() if item.delivered is None] == ["failed_retryable"]
    stage.stop()
    assert stage.live(3600) < 200


def test_an_item_that_another_process_has_claimed_lets_the_loop_sleep(stage):
    stage.plan()
    (item,) = stage.items()
    record = stage.syncroom.records.read("crew", OUTBOX)[item.id]
    from atm.files.formats.times import to_iso

    claimed = {**record, "status": "claimed", "claimedAt": to_iso(stage.now), "attemptGeneration": 1}
    waiting = {**record, "id": "other", "agendaFingerprint": "agenda:v1:other"}
    stage.put(OUTBOX, {item.id: claimed, "other": waiting})
    assert stage.live(290) < 100


@proves("R002-11.2.1-11", "R002-16.7-38")
def test_a_team_that_is_gone_is_forgotten(stage):
    stage.live(QUIET + 1)
    stage.plan()
    stage.delete()
    stage.hear(events.TEAM_GONE)
    stage.live(2000)
    assert stage.work.counts()["queued"] == 0
    assert [line for line in stage.lines if line[0] == "error"] == []


@proves("R002-8.0-41", "R002-8.0-87", "R002-11.2.1-15")
def test_a_complete_team_is_forgotten(stage):
    stage.live(10)
    walk(stage.room, "crew", COMPLETE, LEAD)
    stage.hear(events.TEAM_COMPLETED)
    before = stage.everything()
    stage.live(2000)
    assert stage.changed(before) == []
    assert stage.work.counts()["dropped"] == len(stage.team.names)


@proves("R002-8.0-42", "R002-8.0-85", "R002-8.2.1-56", "R002-27.1-46")
def test_a_member_that_left_while_it_waited_is_dropped(stage):
    stage.live(10)
    stage.remove("ann")
    stage.hear(events.MEMBER_LEFT, "ann")
    stage.live(300)
    assert stage.looked_at() == 0


def test_a_team_made_anew_begins_afresh(stage):
    stage.live(200)
    assert len(stage.nudges()) == 1
    stage.delete()
    stage.hear(events.TEAM_GONE)
    stage.create("crew")
    stage.add("the parser")
    stage.hear(events.TEAM_CREATED)
    assert stage.looked_at() == 0
    stage.live(200)
    assert len(stage.nudges()) == 1
    assert stage.looked_at() == 1


# Reports that waited.


@proves("R002-1-19", "R002-17.1-23", "R002-21-12")
def test_reports_that_waited_are_judged_at_the_start_and_then_every_minute(stage):
    stage.intend()
    stage.live(1)
    assert stage.intents[0]["status"] == "accepted"
    note_intent(stage.syncroom, "crew", stage.words("ann", note="again"), stage.knows("ann"))
    stage.live(70)
    assert [intent["status"] for intent in stage.intents] == ["accepted", "accepted"]


def test_a_report_that_waited_keeps_the_nudge_away(stage):
    stage.intend()
    stage.live(500)
    assert stage.nudges() == []


# One team's trouble is its own.


class Troubled(MemoryRecords):
    """`trouble` is asked before every access."""

    def __init__(self, find: Any) -> None:
        super().__init__(find)
        self.trouble: Callable[[str, str, str], Exception | None] = lambda *_: None

    def read(self, team: str, shelf: str, keys: Collection[str] | None = None) -> dict[str, Record]:
        if (error := self.trouble("read", team, shelf)) is not None:
            raise error
        return super().read(team, shelf, keys)

    def change(self, team: str, shelf: str, *args: Any, **options: Any) -> None:
        if (error := self.trouble("change", team, shelf)) is not None:
            raise error
        super().change(team, shelf, *args, **options)


@pytest.fixture
def troubled(stage: Stage) -> Stage:
    """`crew` in whose files something is wrong, and `zeta`, which comes after it."""
    from dataclasses import replace

    stage.create("zeta")
    stage.add("some work", team="zeta")
    stage.syncroom = replace(stage.syncroom, records=Troubled(stage.room.rosters.find))
    return stage


TROUBLES: dict[str, Callable[[str, str, str], Exception | None]] = {
    "status cannot be written": lambda how, team, shelf: (
        WriteRefused("full") if (how, team, shelf) == ("change", "crew", STATUS) else None
    ),
    "status cannot be read": lambda how, team, shelf: (
        UnreadableFile("io") if (how, team, shelf) == ("read", "crew", STATUS) else None
    ),
    "outbox cannot be written": lambda how, team, shelf: (
        WriteRefused("full") if (how, team, shelf) == ("change", "crew", OUTBOX) else None
    ),
    "nothing can be written": lambda how, team, _: WriteRefused("full") if (how, team) == ("change", "crew") else None,
    "a bug": lambda how, team, _: ValueError("nobody thought of this") if (how, team) == ("change", "crew") else None,
}


@proves("R002-11.2.1-43")
@pytest.mark.parametrize("what", TROUBLES)
def test_trouble_with_one_team_does_not_touch_another(troubled, what):
    troubled.syncroom.records.trouble = TROUBLES[what]
    rounds = troubled.live(2000)
    assert len(troubled.nudges("ann", "zeta")) >= 1
    assert troubled.nudges("ann", "crew") == []
    assert rounds < 300, "not in a tight loop"


def test_an_outbox_that_cannot_be_read_does_not_stop_the_scan_of_other_teams(troubled):
    troubled.syncroom.records.trouble = lambda how, team, shelf: (
        UnreadableFile("io") if (how, team, shelf) == ("read", "crew", OUTBOX) else None
    )
    for _ in range(50):
        try:
            troubled.work.work()
        except UnreadableFile:
            pass  # the loop says so and goes on
        troubled.passes(60)
    assert len(troubled.nudges("ann", "zeta")) >= 1


def test_a_roster_that_cannot_be_read_does_not_stop_the_others(troubled, monkeypatch):
    load = troubled.room.rosters.load

    def refuse(team):
        if team == "crew":
            raise UnreadableFile("damaged")
        return load(team)

    monkeypatch.setattr(troubled.room.rosters, "load", refuse)
    troubled.live(500)
    assert len(troubled.nudges("ann", "zeta")) == 1


@proves("R002-11.2.1-43")
def test_trouble_that_passes_is_made_good_by_the_next_scan(troubled):
    troubled.syncroom.records.trouble = TROUBLES["nothing can be written"]
    troubled.live(300)
    troubled.syncroom.records.trouble = lambda *_: None
    troubled.live(SCAN_EVERY + 200)
    assert len(troubled.nudges("ann", "crew")) == 1


@proves("R002-11.2.1-48", "R002-26-26")
def test_never_two_looks_at_one_member_at_a_time(stage, monkeypatch):
    running: set[tuple[str, str]] = set()
    work = rounds.run_round

    def noted(syncroom, team, members):
        keys = {(team, name) for name in members}
        assert not keys & running
        running.update(keys)
        stage.hear(events.TASK_CHANGED, "1")
        found = work(syncroom, team, members)
        running.difference_update(keys)
        return found

    monkeypatch.setattr(sync_work, "run_round", noted)
    stage.live(3000)
    assert running == set()
    assert stage.looked_at() > 5


# Stalls, a system of its own.


@proves("R002-16.1-01", "R002-16.5-01")
def test_the_stall_watch_alerts_under_a_lease_and_work_sync_is_quiet_after_it(stage):
    board.claim(stage.boardroom, "crew", "ann", "1")
    stage.quiet()
    stage.work.watch_stalls()
    alerts = 0
    for _ in range(40):
        stage.live(60)
        stage.report()
        alerts += stage.work.watch_stalls()
    assert alerts >= 1
    assert stage.nudges() == []


def test_nobody_is_judged_right_after_a_start(stage):
    board.claim(stage.boardroom, "crew", "ann", "1")
    stage.quiet()
    stage.passes(3600)
    assert stage.work.watch_stalls() == 0
    stage.passes(STALL_GRACE)
    assert stage.work.watch_stalls() == 1


def test_without_stall_minutes_nothing_is_watched(stage):
    stage.stall_minutes = 0.0
    stage.passes(86400)
    assert stage.work.watch_stalls() == 0


@pytest.mark.parametrize("jump", [-86400.0, -600.0, 600.0, 86400.0])
def test_a_clock_that_jumps_is_survived(stage, jump):
    stage.live(300)
    stage.room.clock.jump(jump)
    stage.live(1000)
    assert len([text for text in stage.nudges() if "Reminder" not in text]) == 1
    assert [line for line in stage.lines if line[0] == "error"] == []


def test_counts_are_for_people(stage):
    stage.live(200)
    counts = stage.work.counts()
    assert counts["looked_at"] == len(stage.team.names)
    assert counts["running"] == 0
