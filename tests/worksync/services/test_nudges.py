"""Nudges on twins: planned when they may be, looked at once more, inserted once, few (G9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, OPEN, Place

from atm.board.services import reviews
from atm.board.services import working as board
from atm.board.services.stall_watch import watch_stalls
from atm.core.errors import FileBusy, UnreadableFile, WriteRefused
from atm.files.formats.json_record import decode_object
from atm.files.formats.times import to_iso
from atm.files.ports.records import OUTBOX
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose
from atm.mail.services.reading import Filter, take
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, update_member
from atm.team.rules.lifecycle import COMPLETE
from atm.team.rules.liveness import WORKING
from atm.team.rules.team import Member
from atm.team.services.lifecycle import walk
from atm.worksync.rules.nudges import (
    CLAIM_SECONDS,
    DELIVERED,
    ESCALATION,
    HOUR,
    MOST_WITHOUT_REPORT,
    PENDING,
    RECOVERY_AFTER,
    RETRYABLE,
    SENDER,
    SUPERSEDED,
    TERMINAL,
)
from atm.worksync.rules.readiness import Thresholds
from atm.worksync.rules.triggers import QUIET_SECONDS
from atm.worksync.services import nudges
from atm.worksync.services.ladders import outbox
from atm.worksync.services.nudges import begin_anew, dispatch, next_due, plan, readiness
from atm.worksync.services.reading import view
from atm.worksync.services.reconcile import reconcile
from atm.worksync.services.reports import submit
from atm.worksync.services.syncroom import SyncPolicy

# Planning.


@proves(
    "R002-1-39",
    "R002-10.4-14",
    "R002-15-01",
    "R002-16.7-47",
    "R002-18.1-01",
    "R002-21-18",
    "R002-21-19",
    "R002-21-20",
    "R002-21-45",
    "R002-22-02",
    "R002-22-10",
    "R002-25-09",
    "R002-26-20",
    "R002-26-28",
    "R002-27.4-01",
    "R002-28-12",
)
def test_nothing_is_planned_before_the_team_was_observed():
    place = Place(SyncPolicy())
    place.add("the parser")
    assert place.plan() == ["phase2_not_ready"]
    assert place.items() == []
    for _ in range(30):
        place.look()
    assert place.plan() == ["phase2_not_ready"], "twenty looks, but not an hour"
    place.passes(HOUR)
    assert place.plan() == ["new"]


@proves("R002-1-39", "R002-18.1-08", "R002-18.1-09", "R002-21-29", "R002-21-45", "R002-22-19", "R002-26-21")
def test_noise_blocks_and_says_why():
    place = Place(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0)))
    for number in range(6):
        place.add(f"work {number}")
        place.look()
    assert not readiness(place.syncroom, "crew").is_ready
    assert place.plan() == ["phase2_not_ready"]
    assert place.syncroom.journal.last("crew", 1)[0]["reasons"] == ["would_nudge_rate_high"]


def test_one_member_that_is_stuck_does_not_veto_its_own_rescue():
    place = Place(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0)))
    place.add("the parser")
    for _ in range(100):
        place.look()
        place.passes(60)
    assert place.plan() == ["new"]


@proves("R002-23-08")
def test_a_model_that_makes_fingerprints_up_does_not_silence_its_team():
    place = Place(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0)))
    place.add("the parser", owner="bob")
    place.look("ann", "bob")
    for number in range(5):
        words = {**place.words("ann"), "agendaFingerprint": f"agenda:v1:made-up-{number}"}
        submit(place.syncroom, "crew", words, place.knows("ann"))
    assert place.plan("bob") == ["new"]


@proves("R002-6-13", "R002-10.4-08", "R002-10.4-09")
def test_whoever_needs_nothing_gets_no_item(busy_place):
    assert busy_place.plan("bob", "hugo", "bot") == []
    busy_place.report()
    assert busy_place.plan() == []
    assert busy_place.items() == []


@proves("R002-1-80", "R002-9-35", "R002-15.2-02", "R002-16.7-55", "R002-21-35")
def test_planning_twice_is_one_item(busy_place):
    assert [busy_place.plan() for _ in range(3)] == [["new"], ["kept"], ["kept"]]
    assert [item.status for item in busy_place.items()] == [PENDING]


@proves("R002-1-33", "R002-1-79", "R002-1-81", "R002-10.4-06", "R002-12.1-09", "R002-17.2-03", "R002-17.3-04")
def test_planning_writes_the_outbox_and_no_message(busy_place):
    looks = busy_place.look()
    before = busy_place.everything()
    plan(busy_place.syncroom, busy_place.team, looks)
    assert busy_place.changed(before) == ["records", "journal"]


@proves(
    "R002-1-34", "R002-1-80", "R002-15.2-01", "R002-15.3-13", "R002-21-35", "R002-27.4-02", "R002-27.4-06", "R002-29-08"
)
def test_an_item_is_unique_for_team_member_and_fingerprint(busy_place):
    busy_place.plan()
    (item,) = busy_place.items()
    assert item.id == f"member-work-sync:crew:ann:{busy_place.fingerprint()}"


@proves("R002-1-35", "R002-1-38", "R002-9-39", "R002-15.2-03", "R002-16.7-48", "R002-21-38")
def test_another_payload_under_the_key_of_what_is_being_sent_is_a_conflict_and_is_not_sent(busy_place):
    busy_place.plan()
    reword(busy_place, status="claimed", claimedBy="elsewhere:7", claimedAt=to_iso(busy_place.now))
    assert busy_place.plan() == ["conflict"]
    assert (busy_place.dispatch(), busy_place.nudges()) == ([], [])
    busy_place.passes(CLAIM_SECONDS)
    assert busy_place.dispatch() == [(SUPERSEDED, "payload_conflict")]
    assert busy_place.nudges() == []


def reword(place: Place, **more: Any) -> None:
    """As an item lies there that a former version has planned, in other words."""
    place.put(OUTBOX, {id: {**one, "payloadHash": "another", **more} for id, one in _records(place).items()})


def _records(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = place.syncroom.records.read("crew", OUTBOX)
    return found


@pytest.mark.parametrize(
    "former",
    [
        {},
        {"status": "failed_retryable", "lastError": "member_nudge_rate_limited"},
        {"status": "superseded", "lastError": "stale_fingerprint"},
        {"status": "failed_terminal", "lastError": "payload_conflict"},
    ],
    ids=lambda former: former.get("status", "pending"),
)
def test_an_upgrade_that_words_a_nudge_otherwise_mutes_nobody(busy_place, former):
    busy_place.plan()
    reword(busy_place, **former)
    assert busy_place.plan() == ["reworded"]
    assert [line["outcome"] for line in busy_place.syncroom.journal.last("crew", 1)] == ["reworded"]
    assert busy_place.dispatch() == [(DELIVERED, "")]
    for _ in range(3):
        busy_place.round()
    assert len(busy_place.nudges()) == 1


def test_an_upgrade_after_a_nudge_was_sent_sends_it_no_second_time_and_says_nothing(busy_place):
    until_paused(busy_place)
    reword(busy_place)
    lines = len(busy_place.syncroom.journal.last("crew", 100))
    for _ in range(3):
        busy_place.passes(RECOVERY_AFTER)
        assert [one.outcome for one in busy_place.round().planned] == ["kept"]
    assert (len(busy_place.nudges()), len(busy_place.nudges(LEAD))) == (MOST_WITHOUT_REPORT, 1)
    assert len(busy_place.syncroom.journal.last("crew", 100)) == lines


def test_an_upgrade_between_the_insert_and_the_mark_knows_the_message_in_its_old_words(busy_place):
    busy_place.round()
    (item,) = busy_place.items()
    row = next(row for row in busy_place.room.inboxes.rows("crew", "ann") if row.sender == SENDER)
    old = replace_text(busy_place, row, "Work sync check, as it was worded before.")
    reword(busy_place, status="pending", inserting=True, deliveredAt=None)
    busy_place.round()
    (item,) = busy_place.items()
    assert (item.status, item.delivered) == (DELIVERED, pytest.approx(busy_place.now, abs=1))
    assert busy_place.nudges() == [old]


def replace_text(place: Place, row: Any, text: str) -> str:
    letter = Draft(sender=SENDER, text=text)
    other = compose(place.room, find_recipient(place.room, "crew", "ann"), letter, row.id)
    place.room.inboxes._rows["crew", "ann"] = [other]
    place.room.ledger.take_away("crew")
    return str(other.text)


# A pause, and its end.


def until_paused(place: Place) -> None:
    for _ in range(40):
        place.round()
        if place.nudges(LEAD):
            return
        place.passes(600)
    raise AssertionError("nobody told the lead")


def test_a_pause_is_shown_with_the_command_that_ends_it_and_no_nudge_is_due(busy_place):
    assert not view(busy_place.syncroom, busy_place.team, "ann").is_paused
    until_paused(busy_place)
    found = view(busy_place.syncroom, busy_place.team, "ann")
    assert (found.state, found.label, found.is_paused, found.would_nudge) == ("needs_sync", "Paused", True, False)
    assert found.fields()["paused"] is True
    assert found.fields()["liftedBy"] == "atm sync nudge ann --again"
    assert "`atm sync nudge ann --again`" in found.why
    assert "`atm sync nudge ann --again`" in busy_place.nudges(LEAD)[0]


def test_between_two_rungs_no_nudge_is_due(busy_place):
    busy_place.round()
    busy_place.passes(120)
    assert not view(busy_place.syncroom, busy_place.team, "ann").would_nudge
    busy_place.passes(RECOVERY_AFTER)
    assert view(busy_place.syncroom, busy_place.team, "ann").would_nudge


def test_whoever_ends_a_pause_has_the_member_nudged_again_at_once_up_to_four_times(busy_place):
    until_paused(busy_place)
    assert begin_anew(busy_place.syncroom, busy_place.team, "ann")
    busy_place.passes(HOUR)
    busy_place.round()
    assert len(busy_place.nudges()) == 5
    assert not view(busy_place.syncroom, busy_place.team, "ann").is_paused
    assert not begin_anew(busy_place.syncroom, busy_place.team, "ann"), "there is no pause to be ended"
    for _ in range(60):
        busy_place.passes(600)
        busy_place.round()
    assert (len(busy_place.nudges()), len(busy_place.nudges(LEAD))) == (8, 1)
    assert view(busy_place.syncroom, busy_place.team, "ann").is_paused


def test_a_report_and_another_agenda_end_a_pause(busy_place):
    until_paused(busy_place)
    busy_place.report()
    assert view(busy_place.syncroom, busy_place.team, "ann").label == "Working"
    busy_place.passes(601)
    assert view(busy_place.syncroom, busy_place.team, "ann").label == "Needs sync"
    until_paused(busy_place)
    busy_place.add("the printer")
    assert view(busy_place.syncroom, busy_place.team, "ann").label == "Needs sync"


def test_a_member_that_is_removed_and_added_again_begins_a_new_ladder_and_its_lead_hears_of_it(busy_place):
    until_paused(busy_place)
    busy_place.remove("ann")
    busy_place.passes(600)
    add_member(busy_place.room, "crew", Member("ann"))
    busy_place.quiet()
    assert view(busy_place.syncroom, busy_place.team, "ann").label == "Needs sync"
    busy_place.round()
    assert "Reminder" not in busy_place.nudges()[0]
    for _ in range(20):
        busy_place.passes(600)
        busy_place.round()
    assert (len(busy_place.nudges()), len(busy_place.nudges(LEAD))) == (4, 2)


# A member that has just reported.


def test_a_member_that_has_just_reported_is_left_in_peace_for_a_quiet_window(busy_place):
    """Whatever it said: it has just been told how things stand."""
    busy_place.plan()
    answer = busy_place.report(state="caught_up")
    assert answer.verdict.reason == "caught_up_rejected_actionable_items_exist"
    busy_place.passes(QUIET_SECONDS - 1)
    assert busy_place.dispatch() == [(RETRYABLE, "busy: just_reported")]
    assert not view(busy_place.syncroom, busy_place.team, "ann").would_nudge
    busy_place.passes(1)
    assert [one.outcome for one in busy_place.round().dispatched] == [DELIVERED]


@proves("R002-18.1-03")
def test_rejected_plans_and_answered_questions_of_one_member_silence_nobody():
    place = Place(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0, most_would_nudges=1000.0)))
    (mine,) = place.add("the parser")
    place.add("the lexer", owner="bob")
    board.claim(place.boardroom, "crew", "ann", mine)
    for _ in range(3):
        reviews.ask(place.boardroom, "crew", "ann", mine, "lead", "which one?")
        place.look("ann")
        reviews.answer(place.boardroom, "crew", LEAD, mine, "this one")
        place.look("ann")
        place.passes(60)
    for _ in range(3):
        reviews.submit_plan(place.boardroom, "crew", "ann", mine, "so and so")
        place.look("ann")
        reviews.reject_plan(place.boardroom, "crew", LEAD, mine, "not so")
        place.look("ann")
        place.passes(60)
    place.quiet()
    place.look("bob")
    found = readiness(place.syncroom, "crew")
    assert (found.state, found.unstable, found.churn) == ("shadow_ready", [], 0.0)
    assert place.plan("ann", "bob") == ["new", "new"]


# Dispatching: every guard once more.


@proves("R002-1-59", "R002-3.3-05", "R002-15.3-03", "R002-15.3-04", "R002-15.3-05", "R002-15.3-07")
def test_a_nudge_is_a_message_of_the_system_that_names_the_tasks_and_no_text_of_others(place):
    place.add("do $(rm -rf /) \x1b[2J now")
    place.round()
    (row,) = [row for row in place.room.inboxes.rows("crew", "ann") if row.sender == SENDER]
    assert "#1" in row.text
    assert "rm -rf" not in row.text
    fields = decode_object(row.raw)
    assert fields["messageKind"] == "member_work_sync_nudge"
    assert (fields["source"], fields["actionMode"], fields["taskRefs"]) == ("member-work-sync", "do", ["#1"])


@proves("R002-1-59", "R002-1-81", "R002-9-37", "R002-9-41", "R002-21-36")
def test_the_outbox_says_what_became_of_it(busy_place):
    busy_place.round()
    (item,) = busy_place.items()
    assert (item.status, item.delivered) == (DELIVERED, busy_place.now)
    rows = busy_place.room.inboxes.rows("crew", "ann")
    assert item.message_id in [row.id for row in rows]


@proves("R002-1-54", "R002-1-77", "R002-4.4-01", "R002-15.2-11", "R002-16.7-53", "R002-21-47", "R002-26-23")
def test_a_report_after_planning_keeps_the_nudge_away(busy_place):
    busy_place.plan()
    busy_place.report()
    assert busy_place.dispatch() == [(SUPERSEDED, "valid_lease")]
    assert busy_place.nudges() == []


@proves(
    "R002-1-44",
    "R002-1-55",
    "R002-1-68",
    "R002-6-15",
    "R002-9-38",
    "R002-15.2-04",
    "R002-15.2-10",
    "R002-15.3-13",
    "R002-16.7-47",
    "R002-16.7-51",
    "R002-16.7-52",
    "R002-17.2-04",
    "R002-17.3-05",
    "R002-21-48",
    "R002-22-13",
    "R002-26-23",
    "R002-27.4-04",
    "R002-27.4-11",
    "R002-29-03",
    "R002-29-08",
)
def test_another_agenda_after_planning_supersedes_the_nudge(busy_place):
    busy_place.plan()
    busy_place.add("the printer")
    assert busy_place.dispatch() == [(SUPERSEDED, "stale_fingerprint")]
    assert busy_place.nudges() == []


@proves("R002-1-54", "R002-15.2-09", "R002-16.7-50")
def test_a_member_removed_after_planning_gets_nothing(busy_place):
    busy_place.plan()
    busy_place.remove("ann")
    assert busy_place.dispatch() == [(SUPERSEDED, "member_inactive")]


def test_a_member_that_became_a_person_gets_nothing(busy_place):
    busy_place.plan()
    update_member(busy_place.room, "crew", "ann", {"backendType": "human"})
    if busy_place.team.member("ann").kind == "human":
        assert busy_place.dispatch() == [(SUPERSEDED, "not_an_agent")]
    assert busy_place.team.member("ann").kind == "human"
    assert busy_place.nudges() == []


@proves("R002-1-46", "R002-1-57", "R002-1-61", "R002-15.2-12", "R002-21-50")
def test_a_busy_member_is_left_in_peace_and_nudged_when_it_is_idle(busy_place):
    busy_place.plan()
    busy_place.beats("ann", WORKING)
    ((outcome, why),) = busy_place.dispatch()
    assert (outcome, why) == (RETRYABLE, "busy: tool_active")
    assert busy_place.dispatch() == []
    busy_place.quiet("ann")
    busy_place.passes(600)
    assert busy_place.dispatch() == [(DELIVERED, "")]


@proves("R002-1-61")
def test_a_member_that_is_busy_for_a_day_is_nudged_once_after_it(busy_place):
    busy_place.plan()
    for _ in range(24 * 4):
        busy_place.beats("ann", WORKING)
        busy_place.round()
        busy_place.passes(900)
    assert busy_place.nudges() == []
    busy_place.quiet()
    for _ in range(12):
        busy_place.round()
        busy_place.passes(120)
    assert len(busy_place.nudges()) == 1


@proves(
    "R002-1-47",
    "R002-1-58",
    "R002-2-05",
    "R002-8.0-60",
    "R002-8.0-100",
    "R002-15.2-13",
    "R002-16.1-08",
    "R002-16.7-54",
    "R002-21-42",
    "R002-21-52",
    "R002-22-13",
    "R002-26-27",
    "R002-27.4-05",
    "R002-27.4-12",
)
def test_a_stall_alert_after_planning_puts_the_nudge_off(place):
    place.add("the parser")
    board.claim(place.boardroom, "crew", "ann", "1")
    place.quiet()
    place.passes(1860)
    place.plan()
    watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)
    ((outcome, why),) = place.dispatch()
    assert outcome == RETRYABLE
    assert why.startswith("watchdog_cooldown")
    place.passes(601)
    assert place.dispatch() == [(DELIVERED, "")]


@proves(
    "R002-1-43", "R002-1-56", "R002-15-01", "R002-15.2-08", "R002-18.1-01", "R002-21-49", "R002-22-19", "R002-26-28"
)
def test_a_team_that_is_not_ready_any_more_gets_nothing_and_the_item_comes_back_later():
    place = Place(SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0)))
    place.add("the parser")
    place.plan()
    for number in range(9):
        place.add(f"work {number}", owner="bob")
        place.look("bob")
    assert place.dispatch() == [(SUPERSEDED, "phase2_not_ready")]
    place.passes(2 * 86400)
    place.round()
    assert len(place.nudges()) == 1


@proves(
    "R002-1-45",
    "R002-1-53",
    "R002-8.0-46",
    "R002-8.0-48",
    "R002-8.0-88",
    "R002-21-53",
    "R002-22-12",
    "R002-26-29",
    "R002-27.4-10",
)
def test_a_stopped_team_gets_nothing_and_its_items_stay_as_they_are(busy_place):
    busy_place.plan()
    busy_place.stop()
    before = busy_place.everything()
    for _ in range(5):
        busy_place.passes(HOUR)
        assert busy_place.round().dispatched == []
    assert busy_place.changed(before) == []
    busy_place.resume()
    assert busy_place.dispatch() == [(DELIVERED, "")]


@proves(
    "R002-1-53", "R002-8.0-46", "R002-8.0-88", "R002-16.7-49", "R002-21-46", "R002-22-13", "R002-26-29", "R002-27.4-10"
)
def test_a_team_stopped_between_the_claim_and_the_insert_gets_nothing(busy_place, monkeypatch):
    busy_place.plan()
    claim = nudges._claim_due

    def stop_after(syncroom, team):
        claimed = claim(syncroom, team)
        busy_place.stop()
        return claimed

    monkeypatch.setattr(nudges, "_claim_due", stop_after)
    assert busy_place.dispatch() == [(RETRYABLE, "team_inactive")]
    assert busy_place.nudges() == []


@proves("R002-1-45")
def test_a_complete_team_gets_nothing(busy_place):
    busy_place.plan()
    walk(busy_place.room, "crew", COMPLETE, LEAD)
    assert busy_place.dispatch() == []
    assert busy_place.nudges() == []


@proves("R002-8.2.1-15")
def test_an_agenda_that_only_waits_is_never_nudged(place):
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    for _ in range(20):
        place.round("ann")
        place.passes(HOUR)
    assert place.nudges("ann") == []
    assert [item.member for item in place.items()] == []


def test_people_and_plugins_are_never_nudged(place):
    for name in ("hugo", "bot"):
        place.add("some work", owner=name)
    for _ in range(20):
        place.round("hugo", "bot")
        place.passes(HOUR)
    assert place.items() == []
    assert place.nudges("hugo") == place.nudges("bot") == []


# How many.


@proves("R002-15.3-11", "R002-16.5-02")
def test_one_plain_nudge_for_a_fingerprint_over_many_rounds_and_restarts(busy_place):
    for _ in range(25):
        busy_place.round()
        busy_place.passes(60)
    assert len(busy_place.nudges()) == 1
    assert busy_place.room.inboxes.rows("crew", "ann")[-1].text.count("Reminder") == 0


@proves("R002-15.2-05")
def test_a_delivered_nudge_is_delivered_for_good_when_the_agenda_comes_back(busy_place):
    busy_place.round()
    busy_place.add("the printer")
    busy_place.passes(61)
    busy_place.round()
    busy_place.boardroom.tasks.delete("crew", 2)
    busy_place.passes(61)
    busy_place.round()
    assert len(busy_place.nudges()) == 2
    assert len(set(busy_place.nudges())) == 2


@proves("R002-1-72")
def test_one_that_was_superseded_before_it_was_sent_comes_to_life_again(busy_place):
    busy_place.plan()
    busy_place.add("the printer")
    busy_place.dispatch()
    assert busy_place.items()[0].status == SUPERSEDED
    busy_place.boardroom.tasks.delete("crew", 2)
    assert busy_place.plan() == ["revived"]
    assert busy_place.dispatch() == [(DELIVERED, "")]
    assert len(busy_place.nudges()) == 1


@proves("R002-2-04", "R002-15.3-11", "R002-29-07")
def test_a_stuck_member_gets_four_then_the_lead_hears_once_then_silence(busy_place):
    for minutes in [5] * 12 * 6 + [30] * 2 * 27:  # closely for as long as something should happen, then for a day
        busy_place.round()
        busy_place.passes(minutes * 60)
    assert len(busy_place.nudges("ann")) == MOST_WITHOUT_REPORT
    (told,) = busy_place.nudges(LEAD)
    assert told.startswith("ann was reminded 4 times")
    delivered = [item.delivered for item in busy_place.items() if item.to == "ann"]
    pauses = [later - earlier for earlier, later in pairwise(delivered)]
    assert all(pause >= RECOVERY_AFTER for pause in pauses)


@proves(
    "R002-1-48",
    "R002-1-69",
    "R002-2-04",
    "R002-15.3-11",
    "R002-21-41",
    "R002-21-51",
    "R002-22-23",
    "R002-23-24",
    "R002-27.4-07",
    "R002-29-07",
)
def test_never_more_than_two_an_hour_whatever_changes(busy_place):
    times: list[float] = []
    for number in range(120):
        if number % 4 == 0:
            busy_place.add(f"work {number}")
        before = len(busy_place.nudges())
        busy_place.round()
        times += [busy_place.now] * (len(busy_place.nudges()) - before)
        busy_place.passes(120)
    assert len(times) > 4
    for time in times:
        assert sum(1 for other in times if 0 <= other - time < HOUR) <= 2


def test_recovery_comes_half_an_hour_after_the_last_word(busy_place):
    busy_place.round()
    busy_place.passes(RECOVERY_AFTER - 1)
    busy_place.round()
    assert len(busy_place.nudges()) == 1
    busy_place.passes(1)
    busy_place.round()
    assert len(busy_place.nudges()) == 2
    assert "Reminder 1." in busy_place.nudges()[-1]


def test_a_report_begins_the_count_anew_but_the_lead_hears_only_once(busy_place):
    for _ in range(40):
        busy_place.round()
        busy_place.passes(600)
    assert (len(busy_place.nudges()), len(busy_place.nudges(LEAD))) == (4, 1)
    busy_place.report()
    for minutes in [10] * 6 * 10 + [30] * 2 * 23:  # closely for as long as something should happen
        busy_place.passes(minutes * 60)
        busy_place.round()
    assert len(busy_place.nudges()) == 2 * MOST_WITHOUT_REPORT
    assert len(busy_place.nudges(LEAD)) == 1


def test_a_rejected_report_is_no_answer(busy_place):
    for _ in range(60):
        busy_place.round()
        busy_place.report("ann", "caught_up")
        busy_place.passes(600)
    assert (len(busy_place.nudges()), len(busy_place.nudges(LEAD))) == (4, 1)


def test_a_lead_that_is_stuck_is_told_to_a_person(place):
    place.add("plan the work", owner=LEAD)
    for _ in range(60):
        place.round(LEAD)
        place.passes(600)
    assert len(place.nudges(LEAD)) == MOST_WITHOUT_REPORT
    assert [text.split(" was ")[0] for text in place.nudges("hugo")] == [LEAD]


def test_a_lead_that_is_stuck_where_there_are_no_people_is_told_to_nobody(place):
    place.remove("hugo")
    place.add("plan the work", owner=LEAD)
    outcomes = []
    for _ in range(60):
        outcomes += [one.outcome for one in place.round(LEAD).planned]
        place.passes(600)
    assert "nobody_to_tell" in outcomes
    assert all(place.nudges(name) == [] for name in ("ann", "bob", "cleo", "bot"))


def test_another_lead_after_the_first_was_told_hears_at_most_once_too(busy_place):
    for _ in range(40):
        busy_place.round()
        busy_place.passes(600)
    assert len(busy_place.nudges(LEAD)) == 1
    data = busy_place.room.rosters._content["crew"]
    busy_place.room.rosters._content["crew"] = data.replace(b"lena@crew", b"bob@crew")
    assert busy_place.team.lead == "bob"
    for _ in range(40):
        busy_place.round()
        busy_place.passes(600)
    assert len(busy_place.nudges("ann")) == MOST_WITHOUT_REPORT
    assert len(busy_place.nudges("bob")) <= 1
    assert len(busy_place.nudges(LEAD)) == 1


# The outbox.


@proves("R002-15.2-17")
def test_an_outbox_that_was_damaged_sends_nothing_a_second_time(busy_place):
    for _ in range(8):
        busy_place.round()
        busy_place.passes(900)
    sent = list(busy_place.nudges())
    assert len(sent) >= 3
    busy_place.put(OUTBOX, {})
    for _ in range(3):
        busy_place.round()
    assert busy_place.nudges() == sent
    for _ in range(60):
        busy_place.passes(900)
        busy_place.round()
    assert len(busy_place.nudges()) == len(set(busy_place.nudges())) == MOST_WITHOUT_REPORT
    assert len(busy_place.nudges(LEAD)) == 1


FORGED: list[Any] = [
    {},
    {"status": "pending"},
    {"status": "pending", "memberName": "ann", "agendaFingerprint": 7, "recipient": ["x"]},
    {"status": "pending", "memberName": "mallory", "agendaFingerprint": "x", "recipient": "hugo"},
    {"status": "dancing", "memberName": "ann"},
    {"status": "claimed", "memberName": "ann", "claimedAt": "never", "attemptGeneration": -1},
    {"status": "claimed", "memberName": "ann", "claimedAt": "2999-01-01T00:00:00.000Z", "attemptGeneration": True},
    {"status": "failed_retryable", "memberName": "ann", "nextAttemptAt": 12, "rung": "\x1b[2J"},
    {"status": "delivered", "memberName": "ann", "deliveredAt": "2999-01-01T00:00:00.000Z"},
    {"status": "pending", "memberName": "../../ann", "recipient": "../../etc", "inserting": "yes"},
]


@pytest.mark.parametrize("record", FORGED)
def test_a_damaged_item_is_never_sent_and_stops_nobody(busy_place, record):
    busy_place.put(OUTBOX, {"forged": record})
    for _ in range(4):
        busy_place.round()
        busy_place.passes(400)
    assert len(busy_place.nudges()) == 1
    assert all(busy_place.nudges(name) == [] for name in ("hugo", "bob", "bot", LEAD))


@proves("R002-15.3-02")
def test_a_forged_item_cannot_send_the_agenda_of_one_member_to_another(busy_place):
    busy_place.plan()
    (item,) = busy_place.items()
    record = busy_place.syncroom.records.read("crew", OUTBOX)[item.id]
    busy_place.put(OUTBOX, {item.id: {**record, "recipient": "bob"}})
    busy_place.dispatch()
    assert busy_place.nudges("bob") == []


@proves("R002-16.7-37")
def test_the_outbox_is_bounded(busy_place):
    for number in range(40):
        busy_place.add(f"work {number}")
        busy_place.round()
        busy_place.passes(86400)
    assert len(busy_place.items()) < 40
    assert min(busy_place.now - item.updated for item in busy_place.items()) < 86401


@proves("R002-1-63")
def test_when_something_is_worth_another_look(busy_place):
    assert next_due(busy_place.syncroom, "crew") is None
    busy_place.plan()
    assert (next_due(busy_place.syncroom, "crew") or 0.0) <= busy_place.now
    busy_place.beats("ann", WORKING)
    busy_place.dispatch()
    assert next_due(busy_place.syncroom, "crew") == busy_place.now + 600
    busy_place.quiet()
    busy_place.passes(600)
    busy_place.dispatch()
    assert next_due(busy_place.syncroom, "crew") is None


# The insert, and whoever dies around it.


class Died(BaseException):
    """The process was killed here."""


POINTS = ("mark", "insert", "ledger", "done")


def die_at(place: Place, monkeypatch: pytest.MonkeyPatch, point: str, *, after: bool) -> None:
    """A dispatcher that is killed before or after one of its steps."""
    change, seen = place.syncroom.records.change, [0]

    def stopped(work: Callable[..., Any], is_it: Callable[[], bool] = lambda: True) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            hit = is_it()
            if hit and not after:
                raise Died
            found = work(*args, **options)
            if hit and after:
                raise Died
            return found

        return run

    def nth(number: int) -> Callable[[], bool]:
        def is_it() -> bool:
            seen[0] += 1
            return seen[0] == number

        return is_it

    with monkeypatch.context() as world:
        if point == "insert":
            world.setattr(place.room.inboxes, "append", stopped(place.room.inboxes.append))
        elif point == "ledger":
            world.setattr(place.room.ledger, "append", stopped(place.room.ledger.append))
        else:  # the first change claims, the second marks, the third says that it is done
            world.setattr(place.syncroom.records, "change", stopped(change, nth(2 if point == "mark" else 3)))
        with pytest.raises(Died):
            dispatch(place.syncroom, "crew")


@proves(
    "R002-1-49",
    "R002-1-59",
    "R002-6-16",
    "R002-8.0-75",
    "R002-8.0-99",
    "R002-9-39",
    "R002-9-40",
    "R002-15.2-18",
    "R002-16.7-56",
    "R002-17.2-04",
    "R002-17.3-06",
    "R002-21-37",
    "R002-26-22",
    "R002-27.4-09",
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_around_the_insert_there_is_one_message_in_the_end(busy_place, monkeypatch, point, after):
    busy_place.plan()
    die_at(busy_place, monkeypatch, point, after=after)
    assert busy_place.dispatch() == [], "the claim of the dead holds for a while"
    busy_place.passes(CLAIM_SECONDS)
    busy_place.dispatch()
    assert len(busy_place.nudges()) == 1
    assert [item.status for item in busy_place.items()] == [DELIVERED]
    assert busy_place.round().dispatched == []


@proves("R002-9-40")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_then_read_the_member_is_not_told_again(busy_place, monkeypatch, point, after):
    busy_place.plan()
    die_at(busy_place, monkeypatch, point, after=after)
    take(busy_place.room, "crew", "ann", Filter())
    busy_place.passes(CLAIM_SECONDS)
    busy_place.dispatch()
    assert len(busy_place.nudges()) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_then_another_agenda_and_back_there_is_one_message(busy_place, monkeypatch, point, after):
    busy_place.plan()
    die_at(busy_place, monkeypatch, point, after=after)
    busy_place.add("the printer")
    busy_place.passes(CLAIM_SECONDS)
    busy_place.dispatch()
    busy_place.boardroom.tasks.delete("crew", 2)
    busy_place.round()
    assert len(busy_place.nudges()) == 1


def claudes(place: Place) -> str:
    name = place.create_claudes()
    place.boardroom.tasks.write_as_others_do(
        name,
        1,
        b'{"id":"1","subject":"x","description":"","status":"pending","owner":"ann","blocks":[],"blockedBy":[]}',
    )
    place.room.inboxes.create(name, "ann")
    place.beats("team-lead", WORKING, team=name)
    plan(place.syncroom, place.room.rosters.load(name), reconcile(place.syncroom, name, {"ann": "x"}))
    return name


def test_in_a_team_of_claude_code_a_nudge_has_only_the_known_fields(place):
    name = claudes(place)
    assert place.dispatch(name) == [(DELIVERED, "")]
    (row,) = place.room.inboxes.rows(name, "ann")
    known = {"from", "text", "timestamp", "read", "summary", "color", "msgV", "msg_id", "type"}
    assert set(decode_object(row.raw)) <= known


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_where_claude_code_may_have_taken_it_out_an_unknown_insert_is_not_repeated(place, monkeypatch, after):
    name = claudes(place)

    def consume(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            if after:
                work(*args, **options)
            raise Died

        return run

    with monkeypatch.context() as world:
        world.setattr(place.room.inboxes, "append", consume(place.room.inboxes.append))
        with pytest.raises(Died):
            dispatch(place.syncroom, name)
    place.room.inboxes.foreign_rewrite(name, "ann", [])  # Claude Code has read it and takes it out
    place.passes(CLAIM_SECONDS)
    place.beats("team-lead", WORKING, team=name)
    ((outcome, why),) = place.dispatch(name)
    assert outcome == DELIVERED
    assert why.startswith("unknown")
    assert place.room.inboxes.rows(name, "ann") == []


@proves("R002-1-65", "R002-16.7-16")
def test_a_team_of_claude_code_that_falls_silent_gets_nothing(place):
    name = claudes(place)
    place.passes(3600)
    assert place.dispatch(name) == []
    assert place.room.inboxes.rows(name, "ann") == []


@proves("R002-9-42", "R002-15.2-19")
def test_somebody_elses_text_under_our_id_is_a_conflict_and_is_not_overwritten(busy_place):
    busy_place.plan()
    (item,) = busy_place.items()
    to = find_recipient(busy_place.room, "crew", "ann")
    from atm.worksync.rules.nudges import message_id

    row = compose(busy_place.room, to, Draft(sender="mallory", text="something else"), message_id(item.id))
    busy_place.room.inboxes.append("crew", "ann", [row], fresh=False)
    busy_place.passes(QUIET_SECONDS)
    assert busy_place.dispatch() == [(TERMINAL, "message_conflict")]
    assert busy_place.nudges() == []
    assert busy_place.room.inboxes.rows("crew", "ann")[-1].text == "something else"


# Two dispatchers.


class Rival:
    """Runs a second dispatcher at one chosen step of the first, so many seconds later."""

    def __init__(self, place: Place, step: int, pause: float) -> None:
        self.place, self.step, self.pause, self.count, self.inside = place, step, pause, 0, False

    def interrupt(self) -> None:
        if self.inside:
            return
        if self.count == self.step:
            self.inside = True
            self.place.passes(self.pause)
            dispatch(replace(self.place.syncroom, me="here:2"), "crew")
            self.inside = False
        self.count += 1

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            self.interrupt()
            found = work(*args, **options)
            self.interrupt()
            return found

        return run


@proves("R002-1-49", "R002-8.0-75", "R002-15.2-15", "R002-16.7-55", "R002-27.4-06", "R002-27.4-09", "R002-29-05")
@pytest.mark.parametrize("seems_dead", [False, True], ids=["alive", "seems dead"])
@pytest.mark.parametrize("pause", [0.0, CLAIM_SECONDS + 1])
def test_two_dispatchers_interleaved_at_every_step_send_one_message(pause, seems_dead, monkeypatch):
    for step in count():
        place = Place(OPEN)
        place.syncroom = replace(place.syncroom, me="here:1")
        place.room.presence.running = set() if seems_dead else {1, 2}
        place.add("the parser")
        place.plan()
        rival = Rival(place, step, pause)
        with monkeypatch.context() as world:
            for part, name in (
                (place.syncroom.records, "change"),
                (place.syncroom.records, "read"),
                (place.room.inboxes, "append"),
                (place.room.ledger, "append"),
                (place.room.ledger, "about"),
            ):
                world.setattr(part, name, rival.around(getattr(part, name)))
            dispatch(place.syncroom, "crew")
        assert len(place.nudges()) == 1, step
        place.passes(CLAIM_SECONDS + 1)
        place.dispatch()
        assert [item.status for item in place.items()] == [DELIVERED], step
        assert len(place.nudges()) == 1, step
        if rival.count <= step:  # it came to its end before
            break
    assert step > 10


def test_the_claim_of_a_process_that_is_gone_is_taken_over_at_once(busy_place, monkeypatch):
    busy_place.plan()
    busy_place.syncroom = replace(busy_place.syncroom, me="here:77")
    die_at(busy_place, monkeypatch, "insert", after=True)
    busy_place.syncroom = replace(busy_place.syncroom, me="here:78")
    busy_place.room.presence.running = {77}
    assert busy_place.dispatch() == [], "it may still be at it"
    busy_place.room.presence.running = set()
    assert (next_due(busy_place.syncroom, "crew") or 0.0) <= busy_place.now
    assert [outcome for outcome, _ in busy_place.dispatch()] == [DELIVERED]
    assert len(busy_place.nudges()) == 1


@pytest.mark.parametrize("holder", ["there:77", "77", ":77", "here:", "here:x", "here:-1", "here:" + "9" * 30, ""])
def test_the_claim_of_whoever_cannot_be_asked_wears_off_by_itself(busy_place, monkeypatch, holder):
    busy_place.plan()
    busy_place.syncroom = replace(busy_place.syncroom, me=holder)
    die_at(busy_place, monkeypatch, "mark", after=False)
    busy_place.syncroom = replace(busy_place.syncroom, me="here:78")
    first = busy_place.dispatch()
    busy_place.passes(CLAIM_SECONDS)
    assert len(first) + len(busy_place.dispatch()) == 1
    assert len(busy_place.nudges()) == 1


@proves("R002-1-36", "R002-15.2-16", "R002-16.7-48", "R002-17.3-05", "R002-21-39")
def test_a_dispatcher_that_was_thought_dead_cannot_say_what_became_of_it(busy_place, monkeypatch):
    busy_place.plan()
    die_at(busy_place, monkeypatch, "mark", after=False)
    (old,) = busy_place.items()
    busy_place.passes(CLAIM_SECONDS)
    busy_place.dispatch()
    assert not nudges._settle(busy_place.syncroom, old, lambda current, _: current)
    assert busy_place.items()[0].status == DELIVERED


# Trouble.


@proves("R002-1-37", "R002-1-70", "R002-15.2-06", "R002-21-40")
def test_an_inbox_that_cannot_be_looked_into_puts_the_nudge_off_with_growing_pauses(busy_place, monkeypatch):
    busy_place.plan()

    def refuse(*_args):
        raise UnreadableFile("the inbox is damaged")

    pauses = []
    with monkeypatch.context() as broken:
        broken.setattr(busy_place.room.inboxes, "rows", refuse)
        for _ in range(6):
            ((outcome, _),) = busy_place.dispatch()
            assert outcome == RETRYABLE
            (item,) = busy_place.items()
            pauses.append((item.next_attempt or 0.0) - busy_place.now)
            busy_place.passes(pauses[-1] + 1)
    assert pauses[0] >= 600
    assert pauses[-1] <= 3600 + 240
    assert pauses[:3] == sorted(pauses[:3])
    assert busy_place.dispatch() == [(DELIVERED, "")]


def test_a_team_that_vanishes_under_a_dispatch_is_no_error_and_no_message(busy_place, monkeypatch):
    busy_place.plan()
    claim = nudges._claim_due

    def vanish(syncroom, team):
        claimed = claim(syncroom, team)
        busy_place.delete()
        return claimed

    monkeypatch.setattr(nudges, "_claim_due", vanish)
    ((outcome, _),) = busy_place.dispatch()
    assert outcome == RETRYABLE
    assert busy_place.room.inboxes.rows("crew", "ann") == []


def test_a_team_made_anew_under_a_dispatch_gets_nothing_of_the_former(busy_place, monkeypatch):
    busy_place.plan()
    claim = nudges._claim_due

    def renew(syncroom, team):
        claimed = claim(syncroom, team)
        busy_place.delete()
        busy_place.create("crew")
        busy_place.add("the parser")
        busy_place.look()
        return claimed

    monkeypatch.setattr(nudges, "_claim_due", renew)
    busy_place.dispatch()
    assert busy_place.nudges() == []
    assert busy_place.items() == []


def test_an_outbox_that_cannot_be_written_sends_nothing(busy_place, monkeypatch):
    busy_place.plan()

    def refuse(*_args, **_options):
        raise WriteRefused("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(busy_place.syncroom.records, "change", refuse)
        with pytest.raises(WriteRefused):
            busy_place.dispatch()
    assert busy_place.nudges() == []


@proves("R002-1-44", "R002-27.4-11")
@pytest.mark.parametrize("error", [WriteRefused("full"), FileBusy("locked")])
def test_a_nudge_that_could_not_be_inserted_is_not_sent_later_for_another_agenda(busy_place, error):
    busy_place.plan()
    busy_place.room.inboxes.refuse = error
    busy_place.dispatch()
    busy_place.room.inboxes.refuse = None
    board.claim(busy_place.boardroom, "crew", "ann", "1")
    board.complete(busy_place.boardroom, "crew", "ann", "1")
    drain(busy_place.room, everything=True)
    assert busy_place.nudges() == []


@proves("R002-1-45", "R002-8.0-88", "R002-26-29", "R002-27.4-10")
def test_a_nudge_that_could_not_be_inserted_is_not_sent_after_the_team_was_stopped(busy_place):
    busy_place.plan()
    busy_place.room.inboxes.refuse = WriteRefused("full")
    busy_place.dispatch()
    busy_place.room.inboxes.refuse = None
    busy_place.stop()
    drain(busy_place.room, everything=True)
    assert busy_place.nudges() == []


def test_a_nudge_that_could_not_be_inserted_is_not_doubled(busy_place):
    busy_place.plan()
    busy_place.room.inboxes.refuse = WriteRefused("full")
    for _ in range(5):
        busy_place.round()
        busy_place.passes(400)
    busy_place.room.inboxes.refuse = None
    for _ in range(5):
        drain(busy_place.room, everything=True)
        busy_place.round()
        busy_place.passes(100)
    assert len(busy_place.nudges()) <= 2
    assert len(set(busy_place.nudges())) == len(busy_place.nudges())


@pytest.mark.parametrize("jump", [-86400.0, -3600.0, -301.0, 301.0, 3600.0, 86400.0])
def test_a_clock_that_jumps_never_doubles_a_nudge(busy_place, jump):
    for number in range(30):
        busy_place.round()
        if number % 7 == 3:
            busy_place.room.clock.jump(jump)
        busy_place.passes(60)
    assert len(busy_place.nudges()) == len(set(busy_place.nudges()))
    assert sum("Reminder" not in text for text in busy_place.nudges()) == 1


def test_a_clock_that_was_set_back_for_a_day_silences_nobody_for_a_day(busy_place):
    busy_place.plan()
    busy_place.beats("ann", WORKING)
    busy_place.dispatch()
    busy_place.quiet()
    busy_place.room.clock.jump(-86400.0)
    for _ in range(30):
        busy_place.passes(300)
        busy_place.round()
    assert len(busy_place.nudges()) >= 1


@proves("R002-1-66", "R002-9-36")
def test_several_members_are_nudged_in_one_pass_and_ten_at_most(place):
    for number in range(14):
        add_member(place.room, "crew", Member(f"m{number}"))
        place.add("some work", owner=f"m{number}")
    names = [f"m{number}" for number in range(14)]
    assert len(place.round(*names).dispatched) == 10
    assert len(place.dispatch()) == 4
    assert sum(len(place.nudges(name)) for name in names) == 14


def test_outbox_of_a_missing_team_is_empty_and_dispatch_does_nothing(place):
    assert outbox(place.syncroom, "nobody") == []
    assert dispatch(place.syncroom, "nobody") == []
    assert readiness(place.syncroom, "nobody").is_ready is False


def test_an_escalation_is_not_counted_as_a_nudge_of_the_lead(busy_place):
    for _ in range(40):
        busy_place.round()
        busy_place.passes(600)
    assert [item.rung for item in busy_place.items() if item.to == LEAD] == [ESCALATION]
    busy_place.add("plan the work", owner=LEAD)
    busy_place.round(LEAD)
    assert len(busy_place.nudges(LEAD)) == 2


def test_reminders_of_a_member_who_left_are_not_held_against_a_namesake(busy_place):
    for _ in range(10):
        busy_place.round()
        busy_place.passes(600)
    assert len(busy_place.nudges()) > 1
    busy_place.remove("ann")
    busy_place.passes(600)
    add_member(busy_place.room, "crew", Member("ann"))
    busy_place.quiet()
    assert busy_place.nudges() == []
    busy_place.round()
    assert len(busy_place.nudges()) == 1
    assert "Reminder" not in busy_place.nudges()[0]
