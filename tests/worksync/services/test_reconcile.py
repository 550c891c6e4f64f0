"""Reconcile on twins: what is decided, what is remembered, and that nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, OPEN, Place

from atm.board.services import planning, reviews
from atm.board.services import working as board
from atm.board.services.stall_journal import COOLDOWN_SECONDS
from atm.board.services.stall_watch import watch_stalls
from atm.core.errors import UnreadableFile, WriteRefused
from atm.files.ports.records import STATUS
from atm.team.rules.lifecycle import COMPLETE
from atm.team.rules.liveness import WORKING
from atm.team.services.lifecycle import walk
from atm.worksync.rules.decisions import CAUGHT_UP, NEEDS_SYNC, SUPPRESSED_BUSY, VALID_LEASE
from atm.worksync.rules.statuses import MOST_HISTORY
from atm.worksync.services.reconcile import reconcile


def conditions(place: Place, name: str = "ann") -> dict[str, str]:
    return {one.type: one.status for one in place.status(name).conditions}


# The four decisions.


@proves("R002-6-08", "R002-20.2-01")
def test_an_empty_agenda_is_caught_up(place):
    assert place.state() == CAUGHT_UP
    assert conditions(place)["CaughtUp"] == "true"
    assert place.status().count == 0


@proves("R002-1-17", "R002-6-08", "R002-10.2-18", "R002-12.1-03", "R002-16.5-02", "R002-20.2-02", "R002-21-33")
def test_a_task_that_nobody_has_reported_about_needs_sync(busy_place):
    assert busy_place.state() == NEEDS_SYNC
    assert conditions(busy_place)["NeedsSync"] == "true"
    assert busy_place.status().counters.needs_sync == 1


@proves("R002-4.4-02", "R002-6-06", "R002-10.2-12", "R002-11.2.1-42")
def test_an_accepted_report_is_seen_by_the_next_look(busy_place):
    assert busy_place.report().ok
    assert busy_place.state() == VALID_LEASE
    assert conditions(busy_place)["ValidLease"] == "true"


@proves("R002-6-07", "R002-10.2-08", "R002-10.2-14", "R002-18-06", "R002-20.2-03", "R002-21-62")
def test_a_tool_call_that_is_going_on_suppresses_the_need(busy_place):
    busy_place.beats("ann", WORKING)
    (look,) = busy_place.look()
    assert (look.decision.kind, look.would_nudge) == (SUPPRESSED_BUSY, False)
    assert busy_place.status().counters.suppressed_busy == 1


@proves(
    "R002-1-77",
    "R002-3.2-12",
    "R002-8.4.1-08",
    "R002-9-02",
    "R002-10.2-05",
    "R002-10.3-06",
    "R002-12.1-19",
    "R002-16.5-04",
    "R002-20.1-27",
    "R002-20.2-12",
)
def test_a_lease_that_ran_out_is_no_lease(busy_place):
    busy_place.report()
    busy_place.passes(599)
    assert busy_place.state() == VALID_LEASE
    busy_place.passes(1)
    assert busy_place.state() == NEEDS_SYNC


@proves("R002-4.4-03", "R002-10.3-02")
def test_a_blocked_lease_holds_three_times_as_long(place):
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    assert place.report("ann", "blocked").ok
    place.passes(1799)
    assert place.state() == VALID_LEASE
    place.passes(1)
    assert place.state() == NEEDS_SYNC


@proves("R002-10.2-02", "R002-23-06")
def test_a_lease_says_nothing_about_another_agenda(busy_place):
    busy_place.report()
    busy_place.add("the printer")
    assert busy_place.state() == NEEDS_SYNC


# Who is looked at.


@proves(
    "R002-8.0-44",
    "R002-10.4-12",
    "R002-12.1-10",
    "R002-12.1-14",
    "R002-20.2-04",
    "R002-26-11",
    "R002-27.1-32",
    "R002-27.1-54",
)
def test_a_stopped_team_is_dropped_and_nothing_is_written(busy_place):
    busy_place.stop()
    before = busy_place.everything()
    assert busy_place.look("ann", "bob", LEAD) == []
    assert busy_place.changed(before) == []


@proves("R002-8.0-87", "R002-12.1-10", "R002-12.1-14", "R002-20.2-04", "R002-26-11")
def test_a_complete_team_is_dropped_and_nothing_is_written(busy_place):
    walk(busy_place.room, "crew", COMPLETE, LEAD)
    before = busy_place.everything()
    assert busy_place.look() == []
    assert busy_place.changed(before) == []


@proves("R002-9-06", "R002-11.1-12", "R002-12.1-11", "R002-20.2-07")
def test_a_missing_team_and_missing_members_are_no_errors(busy_place):
    before = busy_place.everything()
    assert reconcile(busy_place.syncroom, "nobody", {"ann": "x"}) == []
    assert busy_place.look("mallory") == []
    assert busy_place.changed(before) == []


@proves(
    "R002-8.0-42",
    "R002-8.0-85",
    "R002-8.2.1-55",
    "R002-10.4-12",
    "R002-11.1-12",
    "R002-11.2.1-35",
    "R002-12.1-11",
    "R002-16.7-05",
    "R002-27.0-08",
    "R002-27.1-38",
)
def test_a_member_that_was_removed_is_dropped_and_its_status_kept(busy_place):
    busy_place.look()
    before = busy_place.status()
    busy_place.remove("ann")
    assert busy_place.look("ann") == []
    assert busy_place.status() == before


@proves("R002-11.1-02", "R002-11.1-13", "R002-12.1-15")
def test_names_are_matched_without_case_and_spelled_as_the_roster_does(busy_place):
    assert [look.member for look in busy_place.look("ANN")] == ["ann"]
    assert list(busy_place.syncroom.records.read("crew", STATUS)) == ["ann"]


@proves("R002-3.2-13", "R002-6-04", "R002-8.0-81", "R002-12.1-12", "R002-24-04", "R002-24-09", "R002-27.1-30")
def test_a_board_that_cannot_be_read_decides_nothing_and_writes_one_line_of_the_journal(busy_place, monkeypatch):
    busy_place.look()

    def refuse(_team):
        raise UnreadableFile("the disk says no")

    monkeypatch.setattr(busy_place.boardroom.tasks, "board", refuse)
    before = busy_place.everything()
    assert busy_place.look() == []
    assert busy_place.changed(before) == ["journal"]
    assert busy_place.syncroom.journal.last("crew", 1)[0]["event"] == "agenda_unavailable"


@proves("R002-27.1-39")
def test_a_status_that_cannot_be_written_is_not_reported_as_a_look(busy_place, monkeypatch):
    def refuse(*_args, **_options):
        raise WriteRefused("the disk is full")

    monkeypatch.setattr(busy_place.syncroom.records, "change", refuse)
    with pytest.raises(WriteRefused):
        busy_place.look()


# What is remembered.


@proves(
    "R002-1-18",
    "R002-1-23",
    "R002-1-25",
    "R002-1-26",
    "R002-1-79",
    "R002-5-02",
    "R002-5-03",
    "R002-5-05",
    "R002-10.2-18",
    "R002-10.4-06",
    "R002-10.4-14",
    "R002-12.1-03",
    "R002-12.1-04",
    "R002-12.1-05",
    "R002-12.1-06",
    "R002-12.1-07",
    "R002-12.1-09",
    "R002-16.2-01",
    "R002-16.6-14",
    "R002-16.6-15",
    "R002-17.2-02",
    "R002-21-13",
    "R002-22-03",
    "R002-22-04",
    "R002-27.1-01",
    "R002-27.1-33",
    "R002-27.1-35",
    "R002-27.1-36",
    "R002-27.1-40",
    "R002-27.1-53",
    "R002-28-07",
    "R002-28-14",
)
def test_looking_writes_the_status_and_the_journal_and_nothing_else(busy_place):
    before = busy_place.everything()
    busy_place.look("ann", "bob", "hugo", "bot", LEAD)
    assert busy_place.changed(before) == ["records", "journal"]
    assert {shelf for _, shelf in busy_place.syncroom.records.texts} == {STATUS}


def test_several_members_are_one_write(busy_place):
    busy_place.look("ann", "bob", "cleo")
    assert busy_place.syncroom.records.writes == 1


@proves("R002-6-06", "R002-10.1-72", "R002-20.2-05")
def test_the_reports_of_before_are_kept(busy_place):
    busy_place.report(note="on it")
    busy_place.report("ann", "caught_up")
    before = busy_place.status()
    busy_place.look()
    after = busy_place.status()
    assert (after.reports, after.accepted, after.rejected) == (before.reports, before.accepted, before.rejected)


@proves(
    "R002-6-05",
    "R002-8.0-10",
    "R002-8.0-13",
    "R002-8.0-68",
    "R002-8.2.1-45",
    "R002-8.2.1-46",
    "R002-8.2.1-47",
    "R002-8.3.1-08",
    "R002-12.1-02",
    "R002-16.6-11",
    "R002-16.7-05",
    "R002-20.2-06",
    "R002-26-31",
    "R002-27.1-23",
)
def test_a_new_owner_moves_both_fingerprints_and_the_reason_is_remembered(busy_place):
    busy_place.look("ann", "bob")
    former = busy_place.fingerprint("ann"), busy_place.fingerprint("bob")
    board.assign(busy_place.boardroom, "crew", LEAD, "1", "bob")
    busy_place.look("ann", "bob")
    assert busy_place.fingerprint("ann") != former[0]
    assert busy_place.fingerprint("bob") != former[1]
    assert busy_place.status("ann").transitions[-1].reasons == ["task_removed"]
    assert busy_place.status("bob").transitions[-1].reasons == ["task_added"]
    assert busy_place.status("ann").counters.fingerprint_changes == 1


@proves(
    "R002-4.1-10",
    "R002-8.0-11",
    "R002-8.0-12",
    "R002-8.2.1-54",
    "R002-8.3-08",
    "R002-11.1-09",
    "R002-16.5-06",
    "R002-20.1-04",
    "R002-21-32",
    "R002-27.1-24",
    "R002-27.1-52",
)
def test_comments_titles_heartbeats_and_time_move_nothing(busy_place):
    busy_place.look()
    before = busy_place.fingerprint()
    board.comment(busy_place.boardroom, "crew", "ann", "1", "starting…")
    busy_place.beats("ann", WORKING)
    busy_place.passes(1e6)
    assert busy_place.fingerprint() == before
    busy_place.look()
    assert len(busy_place.status().transitions) == 1


@proves("R002-8.0-53", "R002-8.3.1-07", "R002-8.3.1-08", "R002-16.7-37", "R002-23-31", "R002-27.1-35")
def test_history_is_bounded(busy_place):
    for number in range(MOST_HISTORY + 15):
        board.assign(busy_place.boardroom, "crew", LEAD, "1", "bob" if number % 2 else "ann")
        busy_place.quiet()
        busy_place.look()
        busy_place.report("ann", "still_working", note=f"x{number}", taskIds=["1"])
    status = busy_place.status()
    assert len(status.transitions) == MOST_HISTORY
    assert len(status.reports) <= MOST_HISTORY
    assert len(status.would_nudges) <= MOST_HISTORY
    assert status.counters.fingerprint_changes == MOST_HISTORY + 14


@proves("R002-26-13")
def test_a_condition_keeps_its_time_while_it_does_not_change(busy_place):
    busy_place.look()
    since = next(one.since for one in busy_place.status().conditions if one.type == "NeedsSync")
    busy_place.passes(500)
    busy_place.look()
    assert next(one.since for one in busy_place.status().conditions if one.type == "NeedsSync") == since
    busy_place.report()
    busy_place.look()
    assert next(one.since for one in busy_place.status().conditions if one.type == "NeedsSync") == busy_place.now


def test_a_need_is_dated_from_its_beginning_for_one_fingerprint(busy_place):
    busy_place.look()
    begun = busy_place.now
    busy_place.passes(100)
    busy_place.look()
    assert busy_place.status().needs_since == pytest.approx(begun, abs=0.01)
    busy_place.add("more")
    busy_place.look()
    assert busy_place.status().needs_since == pytest.approx(begun + 100, abs=0.01)
    busy_place.report()
    busy_place.look()
    assert busy_place.status().needs_since is None


GARBAGE: list[Any] = [
    {},
    {"reports": 7, "conditions": "x", "transitions": [1, None, {}], "metrics": [], "wouldNudges": {"a": 1}},
    {"latestAcceptedReport": {"accepted": True, "lastSeenAt": "yesterday", "state": "still_working"}},
    {"latestAcceptedReport": {"accepted": "yes", "lastSeenAt": "2026-01-01T00:00:00.000Z"}},
    {"agendaFingerprint": ["x"], "state": 3, "actionableCount": -1, "firstSeenAt": False},
    {"metrics": {"reconcileCount": -5, "needsSyncCount": 2**80, "wouldNudgeCount": True}},
    {"agendaFacts": {"work:1": 3}, "agendaSummary": [[]], "updatedAt": "x", "rest": {"deep": [[[[]]]]}},
]


@pytest.mark.parametrize("record", GARBAGE)
def test_a_damaged_status_is_no_lease_and_stops_nobody(busy_place, record):
    busy_place.put(STATUS, {"ann": record})
    assert busy_place.state() == NEEDS_SYNC
    assert busy_place.report().ok
    assert busy_place.state() == VALID_LEASE


def test_what_a_later_version_wrote_survives(busy_place):
    busy_place.put(STATUS, {"ann": {"mood": {"is": "fine"}}})
    busy_place.look()
    busy_place.report()
    assert busy_place.syncroom.records.read("crew", STATUS)["ann"]["mood"] == {"is": "fine"}


# Would a nudge be due?


@proves("R002-1-06", "R002-10.4-14", "R002-18-05")
def test_a_nudge_would_be_due_for_an_agent_that_has_work_and_says_nothing(busy_place):
    (look,) = busy_place.look()
    assert look.would_nudge
    assert list(busy_place.status().would_nudges) == [look.seen.fingerprint]


def test_people_and_plugins_have_agendas_but_nobody_reminds_them(place):
    for name in ("hugo", "bot"):
        place.add("some work", owner=name)
        (look,) = place.look(name)
        assert (look.decision.kind, look.would_nudge) == (NEEDS_SYNC, False)


@proves("R002-4.1-06")
def test_an_agenda_on_which_everything_waits_for_others_is_never_a_reason(place):
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    place.add("asked about")
    board.claim(place.boardroom, "crew", "ann", "3")
    reviews.ask(place.boardroom, "crew", "ann", "3", "user", "which colour?")
    place.quiet()
    (look,) = place.look()
    assert (look.decision.kind, look.would_nudge) == (NEEDS_SYNC, False)
    board.claim(place.boardroom, "crew", "bob", "1")
    board.complete(place.boardroom, "crew", "bob", "1")
    assert place.look()[0].would_nudge


@proves("R002-11.1-02")
def test_a_broken_dependency_is_the_leads_business_and_a_reason(place):
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    place.boardroom.tasks.delete("crew", 1)
    looks = {look.member: look for look in place.look("ann", LEAD)}
    assert looks[LEAD].would_nudge
    assert not looks["ann"].would_nudge


# The stall watch owns its own remedy; and believes nothing of this.


def stalled(place: Place) -> Place:
    place.add("the parser")
    board.claim(place.boardroom, "crew", "ann", "1")
    place.quiet()
    place.passes(1860)
    return place


@proves(
    "R002-8.0-59",
    "R002-8.0-60",
    "R002-8.0-100",
    "R002-10.4-11",
    "R002-16.1-08",
    "R002-16.5-08",
    "R002-16.6-14",
    "R002-21-42",
    "R002-26-27",
)
def test_after_an_alert_of_the_stall_watch_work_sync_is_quiet_for_ten_minutes(place):
    stalled(place)
    assert place.look()[0].would_nudge
    (alert,) = watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)
    assert alert.to == "ann"
    (look,) = place.look()
    assert look.seen.cooldown
    assert (look.decision.kind, look.would_nudge) == (NEEDS_SYNC, False)
    assert conditions(place)["SuppressedCooldown"] == "true"
    place.passes(COOLDOWN_SECONDS - 1)
    assert not place.look()[0].would_nudge
    place.passes(1)
    assert place.look()[0].would_nudge


def test_an_alert_about_somebody_else_is_no_reason_to_be_quiet(place):
    stalled(place)
    watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)
    place.add("other work", owner="bob")
    assert place.look("bob")[0].would_nudge


@proves(
    "R002-1-07",
    "R002-1-27",
    "R002-2-05",
    "R002-2-09",
    "R002-5-04",
    "R002-8.0-59",
    "R002-8.0-61",
    "R002-8.0-80",
    "R002-10.3-04",
    "R002-16.1-07",
    "R002-16.5-05",
    "R002-16.5-15",
    "R002-20.5-09",
)
def test_the_stall_watch_alerts_under_a_valid_lease(place):
    stalled(place)
    assert place.report().ok
    for minutes in range(4):
        assert place.report(note=f"still at it {minutes}").ok
    assert place.state() == VALID_LEASE
    assert [alert.to for alert in watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)] == ["ann"]


@proves(
    "R002-2-09",
    "R002-4.4-05",
    "R002-8.0-58",
    "R002-8.0-61",
    "R002-8.0-112",
    "R002-16.1-06",
    "R002-16.5-15",
    "R002-16.6-14",
    "R002-26-36",
    "R002-28-16",
    "R002-28-23",
)
def test_a_report_is_never_progress_however_many_there_are(place):
    place.add("the parser")
    board.claim(place.boardroom, "crew", "ann", "1")
    place.quiet()
    for _ in range(4):
        place.passes(500)
        assert place.report().ok
    assert [alert.to for alert in watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)] == ["ann"]


# Clocks.


@proves("R002-8.4.1-06")
def test_a_clock_that_is_set_forward_ends_a_lease_and_one_set_back_does_not_bring_it_to_life_for_ever(busy_place):
    busy_place.report()
    busy_place.room.clock.jump(86400.0)
    assert busy_place.state() == NEEDS_SYNC
    busy_place.room.clock.jump(-86400.0)
    assert busy_place.state() == VALID_LEASE
    busy_place.room.clock.jump(-3600.0)
    assert busy_place.state() == NEEDS_SYNC
    busy_place.room.clock.jump(3600.0)
    busy_place.passes(600)
    assert busy_place.state() == NEEDS_SYNC


def test_a_team_of_claude_code_keeps_its_own_status(place):
    name = place.create_claudes()
    place.boardroom.tasks.write_as_others_do(
        name,
        1,
        b'{"id":"1","subject":"x","description":"","status":"pending","owner":"ann","blocks":[],"blockedBy":[]}',
    )
    assert reconcile(place.syncroom, name, {"ann": "x"}) == []
    place.beats("team-lead", WORKING, team=name)
    (look,) = reconcile(place.syncroom, name, {"ann": "x"})
    assert look.decision.kind == NEEDS_SYNC
    assert list(place.syncroom.records.read(name, STATUS)) == ["ann"]
    assert place.syncroom.records.read("crew", STATUS) == {}


@proves(
    "R002-3.2-08",
    "R002-12.1-01",
    "R002-12.1-04",
    "R002-12.1-05",
    "R002-12.1-06",
    "R002-20.5-01",
    "R002-20.5-02",
    "R002-20.5-03",
    "R002-20.5-04",
    "R002-20.5-05",
    "R002-20.5-06",
    "R002-20.6-06",
    "R002-21-01",
    "R002-21-13",
    "R002-21-17",
    "R002-26-13",
    "R002-26-16",
    "R002-27.1-01",
    "R002-27.1-49",
    "R002-28-07",
)
def test_a_realistic_board_end_to_end_without_a_single_message():
    place = Place(OPEN)
    place.add("the parser", "the printer")
    place.add("the manual", owner="bob")
    planning.depend(place.boardroom, "crew", LEAD, "2", ["1"], [])
    board.claim(place.boardroom, "crew", "bob", "3")
    reviews.request_review(place.boardroom, "crew", "bob", "3", "cleo")
    place.quiet()
    before = place.everything()
    kinds = {look.member: [i.kind for i in look.seen.agenda.items] for look in place.look(*place.team.names)}
    assert kinds == {
        LEAD: [],
        "bob": [],
        "hugo": [],
        "bot": [],
        "ann": ["work", "blocked_dependency"],
        "cleo": ["review"],
    }
    assert place.report("ann").ok
    assert place.report("cleo").ok
    board.claim(place.boardroom, "crew", "ann", "1")
    board.complete(place.boardroom, "crew", "ann", "1")
    place.quiet()
    assert place.state("ann") == NEEDS_SYNC
    assert place.state("cleo") == VALID_LEASE
    stale = place.everything()["inboxes"]
    assert {key: rows for key, rows in stale.items() if key[1] == "cleo"} == {
        key: rows for key, rows in before["inboxes"].items() if key[1] == "cleo"
    }
    assert all(place.nudges(name) == [] for name in place.team.names)
