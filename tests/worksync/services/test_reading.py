"""Looking without touching: status, the block in a briefing, figures, diagnostics; the same everywhere."""

from __future__ import annotations

from typing import Any

from tests.proving import proves
from tests.worksync.services.conftest import LEAD, Place

from atm.board.services import working as board
from atm.core.errors import WriteRefused
from atm.files.formats.json_record import encode
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.formats.team_config import new_member, with_member
from atm.team.rules.lifecycle import COMPLETE
from atm.team.rules.liveness import WORKING
from atm.team.rules.team import Member
from atm.team.services.lifecycle import walk
from atm.worksync.rules.triggers import QUIET_SECONDS
from atm.worksync.services.reading import block_in_words, briefing_block, diagnose, metrics, view, views
from atm.worksync.services.reconcile import judge
from atm.worksync.services.reports import submit
from atm.worksync.services.syncroom import SyncPolicy, verify


def labels(place: Place) -> dict[str, str]:
    return {one.member: one.label for one in views(place.syncroom, place.team, place.team.names)}


# What is shown.


@proves(
    "R002-19-02",
    "R002-25-01",
    "R002-27.3-01",
    "R002-27.3-07",
    "R002-27.3-08",
    "R002-27.3-17",
    "R002-27.3-18",
    "R002-27.3-19",
    "R002-28-17",
    "R002-28-31",
)
def test_the_labels_of_the_four_states_and_unknown(place):
    place.add("one", owner="ann")
    place.add("two", owner="bob")
    place.add("three", owner="cleo", depends_on=["1"])
    place.report("bob")
    assert place.report("cleo", "blocked").ok
    assert labels(place) == {
        "ann": "Needs sync",
        "bob": "Working",
        "cleo": "Blocked",
        LEAD: "Synced",
        "hugo": "Synced",
        "bot": "Synced",
    }
    place.beats("ann", WORKING)
    assert labels(place)["ann"] == "Working"
    place.stop()
    assert set(labels(place).values()) == {"Unknown"}


@proves("R002-16.7-17")
def test_a_team_that_does_not_run_is_unknown_and_says_why(busy_place):
    busy_place.look()
    walk(busy_place.room, "crew", COMPLETE, LEAD)
    found = view(busy_place.syncroom, busy_place.team, "ann")
    assert (found.state, found.seen) == ("unknown", None)
    assert "complete" in found.why
    assert "agendaFingerprint" not in found.fields()


@proves("R002-6-12", "R002-8.2-03", "R002-11.1-14")
def test_every_status_says_its_source_and_its_age(busy_place):
    busy_place.look()
    said: Any = view(busy_place.syncroom, busy_place.team, "ann").fields()
    assert said["source"].startswith("the board, read now")
    assert {"at", "observedAt", "observedBecause"} <= set(said)


@proves("R002-3.1-09", "R002-13.1-14", "R002-16.6-17", "R002-26-32")
def test_what_is_shown_is_what_the_reconciler_would_decide(busy_place):
    shown: Any = view(busy_place.syncroom, busy_place.team, "ann")
    (look,) = busy_place.look()
    assert (shown.state, shown.seen.fingerprint) == (look.decision.kind, look.seen.fingerprint)
    assert judge(None, shown.seen, "x").decision == shown.decision


@proves("R002-10.4-01", "R002-10.4-10")
def test_a_nudge_is_shown_as_due_only_after_a_quiet_window(busy_place):
    def due():
        return view(busy_place.syncroom, busy_place.team, "ann").would_nudge

    assert not due()
    busy_place.look()
    assert not due()
    busy_place.passes(90)
    assert due()
    busy_place.add("the printer")
    assert not due()


@proves("R002-16.7-44", "R002-27.3-03")
def test_notes_of_reports_are_not_shown_to_everybody(busy_place):
    busy_place.report(note="my secret trouble")
    busy_place.report("ann", "caught_up", note="my secret trouble")
    assert "secret" not in str(view(busy_place.syncroom, busy_place.team, "ann").fields())
    assert "secret" in str(diagnose(busy_place.syncroom, busy_place.team, "ann"))


@proves("R002-13.1-16", "R002-13.1-19", "R002-13.1-27", "R002-23-32", "R002-27.3-05")
def test_the_preview_is_short_and_has_no_descriptions(place):
    place.add(*[f"{'long ' * 60}{number}" for number in range(15)], description="the whole secret story")
    said: Any = view(place.syncroom, place.team, "ann").fields()
    assert said["actionableCount"] == 15
    assert len(said["items"]) == 10
    assert max(len(text) for item in said["items"] for text in item.values()) == 160
    assert "secret story" not in str(said)


# Reading is passive.


@proves(
    "R002-1-32",
    "R002-1-40",
    "R002-1-41",
    "R002-5-03",
    "R002-10.1-72",
    "R002-10.4-02",
    "R002-10.4-03",
    "R002-11.1-05",
    "R002-11.1-06",
    "R002-16.6-16",
    "R002-21-44",
    "R002-21-69",
    "R002-22-05",
    "R002-22-18",
)
def test_every_way_of_looking_writes_nothing_but_the_secret(busy_place):
    busy_place.look("ann", "bob")
    busy_place.report()
    busy_place.plan("bob")
    before = busy_place.everything()
    team = busy_place.team
    for _ in range(3):
        views(busy_place.syncroom, team, team.names)
        metrics(busy_place.syncroom, team)
        for name in team.names:
            diagnose(busy_place.syncroom, team, name)
            briefing_block(busy_place.syncroom, team, name, can_report=False)
        busy_place.passes(2000)
    busy_place.passes(0)
    assert busy_place.changed(before) == []
    briefing_block(busy_place.syncroom, team, "ann", can_report=True)
    assert busy_place.changed(before) == ["secrets"]


@proves("R002-17.4-05", "R002-20.3-13")
def test_looking_at_a_team_that_has_never_been_looked_at_makes_nothing(busy_place):
    before = busy_place.everything()
    views(busy_place.syncroom, busy_place.team, ["ann"])
    metrics(busy_place.syncroom, busy_place.team)
    assert busy_place.changed(before) == []


@proves("R002-1-32", "R002-1-40", "R002-1-41", "R002-10.4-02", "R002-10.4-03", "R002-21-43", "R002-21-44", "R002-22-10")
def test_looking_at_a_need_a_thousand_times_sends_nothing(busy_place):
    for _ in range(100):
        view(busy_place.syncroom, busy_place.team, "ann")
        busy_place.passes(3600)
    assert busy_place.nudges() == []
    assert busy_place.items() == []


# The block in a briefing.


@proves("R002-1-15", "R002-13.1-01", "R002-13.2-06", "R002-26-04", "R002-27.2-08", "R002-28-24")
def test_a_block_has_what_a_report_needs_and_the_report_is_accepted(busy_place):
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    assert block["state"] == "needs_sync"
    assert block["actionableCount"] == 1
    assert "member_work_sync_report" in block["instruction"]
    words = {
        "from": "ann",
        "agendaFingerprint": block["agendaFingerprint"],
        "reportToken": block["reportToken"],
        "state": "still_working",
    }
    from atm.worksync.rules.identity import Trusted

    assert submit(busy_place.syncroom, "crew", words, Trusted("mcp", busy_place.now)).ok


@proves("R002-13.1-17", "R002-26-04")
def test_a_token_in_a_block_is_good_for_its_reader_only(busy_place):
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    for name, wanted in (("ann", "ok"), ("bob", "invalid"), (LEAD, "invalid")):
        found = verify(
            busy_place.syncroom, busy_place.team, name, block["agendaFingerprint"], block["reportToken"], busy_place.now
        )
        assert found == wanted


def test_a_block_is_quiet_where_nothing_is_to_be_said(place):
    assert set(briefing_block(place.syncroom, place.team, "ann", can_report=False)) == {
        "feature",
        "state",
        "agendaFingerprint",
        "actionableCount",
    }


@proves("R002-13-08", "R002-13-11", "R002-13-19", "R002-13.1-05", "R002-20.3-25", "R002-27.2-09")
def test_without_the_tool_there_is_no_token_and_no_instruction(busy_place):
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=False)
    assert not {"reportToken", "reportTool", "instruction"} & set(block)


@proves("R002-13.1-24")
def test_under_a_lease_nobody_is_told_how_to_report_again(busy_place):
    busy_place.report()
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    assert "instruction" not in block
    assert "leaseExpiresAt" in block


@proves("R002-13.1-24")
def test_after_a_stale_report_the_instruction_is_there(busy_place):
    old = busy_place.words("ann")
    busy_place.add("the printer")
    submit(busy_place.syncroom, "crew", old, busy_place.knows("ann"))
    busy_place.beats("ann", WORKING)
    assert "instruction" in briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)


@proves("R002-27.1-32")
def test_a_stopped_team_has_a_block_without_an_agenda(busy_place):
    busy_place.stop()
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    assert set(block) == {"feature", "state", "why"}
    assert block_in_words(block) == "Work sync: state=unknown."


def test_a_block_in_words_is_one_line_and_an_instruction(busy_place):
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    lines = block_in_words(block).split("\n")
    assert len(lines) == 2
    assert block["agendaFingerprint"] in lines[0]
    assert str(block["reportToken"]) not in block_in_words(block)


@proves("R002-13.1-16", "R002-13.1-23", "R002-27.2-08")
def test_the_whole_block_of_a_long_agenda_stays_small(place):
    place.add(*[f"{'x' * 400}{number}" for number in range(100)])
    assert len(encode(briefing_block(place.syncroom, place.team, "ann", can_report=True))) < 6000


def test_where_no_token_can_be_made_the_briefing_goes_without_one(busy_place, monkeypatch):
    def refuse(_team):
        raise WriteRefused("the disk is full")

    monkeypatch.setattr(busy_place.syncroom.secrets, "secret", refuse)
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    assert block["actionableCount"] == 1
    assert "reportToken" not in block


# Figures and diagnostics.


@proves("R002-1-21", "R002-1-28", "R002-1-31", "R002-18-04", "R002-21-23", "R002-21-26")
def test_metrics_say_what_happened_and_whether_nudges_may_be_sent(busy_place):
    busy_place.look("ann", "bob")
    busy_place.report()
    busy_place.report("ann", "caught_up")
    busy_place.round("ann", "bob")
    found: Any = metrics(busy_place.syncroom, busy_place.team)
    assert found["phase2Readiness"]["state"] == "shadow_ready"
    figures = {one["member"]: one["metrics"] for one in found["members"]}
    assert set(figures) == {"ann", "bob"}
    assert (figures["ann"]["acceptedReportCount"], figures["ann"]["invalidReportCount"]) == (1, 1)
    assert figures["ann"]["reconcileCount"] == 2


@proves("R002-1-29")
def test_metrics_of_a_new_team_collect():
    place = Place(SyncPolicy())
    found: Any = metrics(place.syncroom, place.team)
    assert found["phase2Readiness"]["state"] == "collecting_shadow_data"
    assert found["members"] == []


@proves("R002-1-11", "R002-1-20", "R002-7-31", "R002-18-01", "R002-28-11")
def test_a_diagnosis_tells_why_and_holds_nothing_of_others(place):
    place.add("the parser", owner="ann")
    place.add("a secret of bob", owner="bob")
    place.round("ann", "bob")
    place.intend("ann", note="waiting")
    place.intend("bob", note="waiting of bob")
    found: Any = diagnose(place.syncroom, place.team, "ann")
    assert found["readiness"] == "shadow_ready"
    assert [one["memberName"] for one in found["nudges"]] == ["ann"]
    assert [one["memberName"] for one in found["pendingReports"]] == ["ann"]
    assert {line["member"] for line in found["journal"]} <= {"", "ann"}
    assert "secret of bob" not in str(found)
    assert "of bob" not in str(found)


def test_a_diagnosis_names_what_was_put_aside(busy_place):
    busy_place.syncroom.records.problems["crew", "outbox"] = "outbox.json was damaged"
    assert diagnose(busy_place.syncroom, busy_place.team, "ann")["problems"] == ["outbox.json was damaged"]


def test_a_diagnosis_shows_no_token(busy_place):
    block: Any = briefing_block(busy_place.syncroom, busy_place.team, "ann", can_report=True)
    busy_place.intend(reportToken=block["reportToken"])
    assert str(block["reportToken"]) not in str(diagnose(busy_place.syncroom, busy_place.team, "ann"))


def test_a_diagnosis_of_a_waiting_agenda_names_what_it_waits_for(place):
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    assert diagnose(place.syncroom, place.team, "ann")["blockedByDependencies"] == ["#2"]


# Hostile rosters and boards.


def test_two_members_that_differ_by_case_alone_are_no_traceback(busy_place):
    data = busy_place.room.rosters._content["crew"]
    busy_place.room.rosters._content["crew"] = with_member(data, new_member(Member("Ann"), "crew", 0.0))
    team = busy_place.team
    assert {"ann", "Ann"} <= set(team.names)
    assert len(views(busy_place.syncroom, team, team.names)) == len(team.names)


def test_a_member_listed_twice_is_no_traceback(busy_place):
    data = busy_place.room.rosters._content["crew"]
    busy_place.room.rosters._content["crew"] = with_member(data, new_member(Member("ann"), "crew", 0.0))
    team = busy_place.team
    assert len(views(busy_place.syncroom, team, team.names)) == len(team.names)
    busy_place.round(*team.names)
    assert len(busy_place.nudges()) == 1


def test_subjects_full_of_escape_sequences_are_shown_without_them(place):
    place.add("\x1b]0;pwned\x07\x9b31m\u202etxt", owner="ann")
    said = encode(view(place.syncroom, place.team, "ann").fields())
    assert all(sign not in said for sign in ("\x1b", "\\u001b", "\x9b", "\u202e"))


@proves("R002-3.4-07")
def test_a_task_of_nobody_in_the_roster_is_on_the_agenda_of_the_lead_alone(place):
    place.add("orphan", owner="mallory")
    board.comment(place.boardroom, "crew", LEAD, "1", "whose is it?")
    shown: Any = views(place.syncroom, place.team, place.team.names)
    assert {one.member: len(one.seen.agenda.items) for one in shown if one.seen.agenda.items} == {LEAD: 1}
    assert view(place.syncroom, place.team, LEAD).fields()["diagnostics"] == [
        "#1 belongs to mallory, who is not in the team"
    ]


def test_a_script_that_is_at_work_needs_no_place_in_the_roster(place):
    """Decision 0020: whoever is heard of does its work."""
    place.add("its own", owner="script")
    place.beats("script", "working")
    assert view(place.syncroom, place.team, LEAD).fields()["actionableCount"] == 0


# Mail that has just come.


@proves("R002-11.2-09", "R002-11.2-13")
def test_mail_that_has_just_come_is_given_a_quiet_window_to_be_read(busy_place):
    assert busy_place.state() == "needs_sync"
    send(busy_place.room, "crew", "ann", Draft(sender="bob", text="hello"))
    found = view(busy_place.syncroom, busy_place.team, "ann")
    assert (found.state, found.fields()["busy"], found.would_nudge) == ("suppressed_busy", "recent_activity", False)
    busy_place.passes(QUIET_SECONDS - 1)
    assert busy_place.state() == "suppressed_busy"
    busy_place.passes(1)
    assert busy_place.state() == "needs_sync"


def test_a_flood_of_mail_to_somebody_who_reads_none_silences_nothing(busy_place):
    states = []
    for _ in range(6):
        send(busy_place.room, "crew", "ann", Draft(sender="bob", text="hello"))
        states.append(busy_place.state())
        busy_place.passes(60)
    assert states == [*["suppressed_busy"] * 2, *["needs_sync"] * 4]


def test_our_own_nudge_is_no_mail_that_keeps_anybody_busy(busy_place):
    busy_place.round()
    assert len(busy_place.nudges()) == 1
    assert busy_place.state() == "needs_sync"


@proves("R002-19-04")
def test_it_is_told_how_many_tasks_changed_since_the_last_report(busy_place):
    def said() -> tuple[object, str]:
        found = view(busy_place.syncroom, busy_place.team, "ann")
        return found.fields()["changedSinceReport"], found.why

    assert said() == (1, "ann has 1 task and has not reported yet.")
    busy_place.report()
    assert said()[0] == 0
    busy_place.add("the printer", "the lexer")
    assert said() == (2, "2 tasks of ann have changed since its last report.")
    busy_place.passes(60)
    busy_place.look()
    assert said()[0] == 2
    busy_place.report()
    busy_place.passes(601)
    assert said()[0] == 0
