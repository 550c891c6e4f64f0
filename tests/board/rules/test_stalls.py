"""What counts as progress, whose turn it is, and who is told of a stall (seed 002, sections 16.1 and 16.5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.rules.stalls import (
    LEAD,
    MOST_AHEAD,
    NOTHING,
    OWNER,
    HolderActivity,
    StallTold,
    is_progress,
    judge,
    last_progress,
    may_be_overdue,
    patience,
    says_something,
    whose_turn,
)
from atm.board.rules.tasks import Card, Task
from atm.files.formats.times import from_iso, to_iso
from atm.team.rules.liveness import ENDED, IDLE, OFFLINE, ONLINE, UNKNOWN, WAITING, WORKING

NOON = 1_788_000_000.0
MINUTE = 60.0


def at(minutes: float) -> str:
    return to_iso(NOON + minutes * MINUTE)


def event(kind: str, actor: str = "ann", minutes: float = 0.0, **facts: Any) -> dict[str, Any]:
    return {"id": "e", "type": kind, "actor": actor, "at": at(minutes), **facts}


def task(*events: Any, claimed: str = "", own: dict[str, Any] | None = None, **card: Any) -> Task:
    fields = {"status": "in_progress", "owner": "ann", "claimed_at": claimed, **card}
    return Task(Card(1, **fields), description="", own={"events": [*events], **(own or {})}, raw="")


# Remarks.


@pytest.mark.parametrize(
    "text",
    [
        *(
            "starting",
            "Starting!",
            "starting now",
            "Starting work on this task.",
            "I'm starting on #4",
            "start task 12",
        ),
        *("ok", "OK 👍", "👍", "okay, will do", "Will do!", "on it", "I’m on it", "got it, thanks", "roger that"),
        *("acknowledged", "ack", "yes", "noted.", "understood", "standing by", "done", "continuing", "in progress"),
        *("I will work on it", "taking this", "let me take a look", "WIP", "working on it now", "proceeding"),
        *(
            "начинаю",
            "Беру в работу",
            "беру задачу #7",
            "понял, приступаю",
            "ок, сделаю",
            "принято",
            "работаю над этим",
        ),
        *("好的", "收到", "vale, empiezo", "ja, mache ich", "oui, je m'y mets"),
        *("", "   ", "...", "?!", "#4", "—", "\u200b", "\0"),
    ],
)
def test_a_promise_a_greeting_or_an_acknowledgement_says_nothing(text):
    assert not says_something(text)


@pytest.mark.parametrize(
    "text",
    [
        "the lexer is written, 12 tests pass",
        "starting with the lexer, the grammar is in docs/grammar.md",
        "50%",
        "blocked: the API is down",
        "ok, but the fixture in tests/data is broken",
        "it works now",
        "готов лексер, пишу тесты",
        "начинаю с лексера",
        "parse_row",
        "commit 1a2b3c4",
        "42",
        "分析器已经写好",
    ],
)
def test_a_remark_about_the_work_says_something(text):
    assert says_something(text)


@pytest.mark.parametrize("note", [None, 7, True, ["the lexer is written"], {"text": "the lexer is written"}])
def test_what_is_no_text_says_nothing(note):
    assert not says_something(note)


@given(st.text())
def test_any_text_can_be_judged_and_an_acknowledgement_before_it_changes_nothing(text):
    assert says_something(f"ok: {text}") is says_something(text)


def test_a_huge_remark_is_judged_by_its_beginning():
    assert not says_something("ok " * 1_000_000)
    assert says_something("lexer " + "ok " * 1_000_000)
    assert says_something("task" + " " * 1_000_000) is False


# Events.


@proves("R002-4.4-05", "R002-8.0-58", "R002-8.0-112", "R002-20.6-02")
@pytest.mark.parametrize(
    ("kind", "facts", "by_ann", "by_others"),
    [
        ("status_changed", {"to": "in_progress", "reason": "claimed"}, True, True),
        ("status_changed", {"to": "pending"}, True, False),
        ("plan_submitted", {}, True, False),
        ("plan_approved", {}, True, True),
        ("plan_rejected", {}, True, True),
        ("clarification_requested", {"note": "JSON or YAML?"}, True, False),
        ("clarification_answered", {"note": "JSON"}, True, True),
        ("review_requested", {}, True, True),
        ("review_started", {}, True, False),
        ("review_approved", {}, True, True),
        ("review_changes_requested", {"note": "the names"}, True, True),
        ("owner_changed", {"to": "ann"}, True, True),
        ("split", {"parts": ["2", "3"]}, True, False),
        ("commented", {"note": "the lexer is written"}, True, False),
        ("commented", {"note": "starting"}, False, False),
        ("commented", {}, False, False),
        ("dependencies_changed", {"added": ["3"]}, False, False),
        ("dependencies_changed", {"removed": ["3"]}, True, True),
        ("task_created", {}, False, False),
        ("observed", {"to": "in_progress"}, True, True),
        ("vanished", {}, False, False),
        ("work_sync_report", {"state": "still_working"}, False, False),
        ("member_work_sync_report", {"note": "the lexer is written"}, False, False),
        ("delivered", {}, False, False),
        ("surfaced", {}, False, False),
        ("acknowledged", {}, False, False),
        ("what a later version writes", {}, False, False),
    ],
)
def test_which_events_are_progress(kind, facts, by_ann, by_others):
    assert is_progress(event(kind, "ann", **facts), "ann") is by_ann
    assert is_progress(event(kind, "Ann", **facts), "ann") is by_ann
    assert is_progress(event(kind, "zoe", **facts), "ann") is by_others


@pytest.mark.parametrize(
    "garbage",
    [
        {},
        {"type": None},
        {"type": 7},
        {"type": []},
        {"type": {}},
        {"type": "commented", "actor": ["ann"], "note": "the lexer is written"},
    ],
)
def test_an_event_that_makes_no_sense_is_no_progress(garbage):
    assert not is_progress(garbage, "ann")


# The last progress.


def last(found: Task, holder: str = "ann", older: Any = ()) -> float | None:
    moment = last_progress(found, holder, from_iso, NOON + 100 * MINUTE, older)
    return None if moment is None else round((moment - NOON) / MINUTE)


def test_the_last_progress_is_the_newest_event_that_counts():
    claim = event("status_changed", minutes=0, to="in_progress")
    real = event("commented", minutes=20, note="the lexer is written")
    weak = event("commented", minutes=40, note="continuing")
    asked = event("commented", "lead", minutes=50, note="how far are you with the lexer?")
    report = event("work_sync_report", minutes=60, state="still_working")
    assert last(task(claim)) == 0
    assert last(task(claim, real, weak, asked, report)) == 20
    assert last(task(real, claim)) == 20, "the time counts, not the place in the file"


def test_a_claim_is_progress_also_where_its_event_was_dropped():
    assert last(task(event("commented", minutes=30, note="ok"), claimed=at(5))) == 5


def test_the_history_knows_what_the_file_does_not():
    assert last(task()) is None
    assert last(task(), older=[event("observed", "", minutes=12, to="in_progress")]) == 12


def test_the_owner_is_not_blamed_for_the_time_that_others_took():
    submitted = event("plan_submitted", minutes=5)
    assert last(task(submitted, event("plan_approved", "lead", minutes=90))) == 90
    assert last(task(submitted, event("clarification_answered", "lead", minutes=91))) == 91
    assert last(task(submitted, event("review_changes_requested", "rita", minutes=92))) == 92


def test_in_a_review_only_the_reviewer_counts():
    asked = event("review_requested", minutes=10, reviewer="rita")
    started = event("review_started", "rita", minutes=20)
    nagging = event("commented", minutes=70, note="please look at the lexer first")
    assert last(task(asked, nagging), "rita") == 10
    assert last(task(asked, started, nagging), "rita") == 20


@pytest.mark.parametrize("moment", [None, 7, "", "yesterday", "2026-13-45T00:00:00.000Z", "9" * 100_000, ["x"]])
def test_a_time_that_cannot_be_read_is_no_time(moment):
    assert last(task({**event("plan_submitted"), "at": moment})) is None
    assert last(task({**event("plan_submitted"), "at": moment}, event("plan_submitted", minutes=3))) == 3


def test_a_clock_that_is_a_little_ahead_counts_and_one_of_next_year_does_not():
    now = NOON + 100 * MINUTE
    for ahead, counts in ((60.0, True), (MOST_AHEAD, True), (MOST_AHEAD + 1, False), (365 * 86_400.0, False)):
        found = task({**event("plan_submitted"), "at": to_iso(now + ahead)}, event("plan_submitted", minutes=3))
        assert (last(found) != 3) is counts


# Whose turn it is.

REVIEWED = {"review": "review", "reviewer": "rita"}


@pytest.mark.parametrize(
    ("card", "is_blocked", "whose"),
    [
        ({}, False, "ann"),
        ({"plan": "required"}, False, "ann"),
        ({"plan": "rejected"}, False, "ann"),
        ({"plan": "approved"}, False, "ann"),
        ({"plan": "submitted"}, False, ""),
        ({"needs": "lead"}, False, ""),
        ({"needs": "user"}, False, ""),
        ({}, True, ""),
        (REVIEWED, False, "rita"),
        ({**REVIEWED, "needs": "user"}, False, ""),
        ({**REVIEWED, "reviewer": "ann"}, False, ""),
        ({**REVIEWED, "reviewer": ""}, False, ""),
        ({"review": "approved"}, False, "ann"),
        ({"review": "changes_requested"}, False, "ann"),
        ({"status": "pending"}, False, ""),
        ({"status": "completed"}, False, ""),
        ({"owner": ""}, False, ""),
        ({"owner": "", "outcome": "failed"}, False, ""),
        ({"status": "deleted"}, False, ""),
        ({"is_hidden": True}, False, ""),
        ({"problem": "no JSON"}, False, ""),
    ],
)
def test_whose_turn_it_is(card, is_blocked, whose):
    assert whose_turn(task(**card), is_blocked=is_blocked) == whose


@pytest.mark.parametrize(
    ("card", "may_be"),
    [
        ({"claimed_at": at(-31)}, True),
        ({"claimed_at": at(-30)}, True),
        ({"claimed_at": at(-29)}, False),
        ({"claimed_at": at(60)}, False),
        ({"claimed_at": ""}, True),
        ({"claimed_at": "yesterday"}, True),
        ({"claimed_at": at(-31), "review": "review"}, True),
        ({"claimed_at": at(-31), "needs": "lead"}, False),
        ({"claimed_at": at(-31), "plan": "submitted"}, False),
        ({"claimed_at": at(-31), "plan": "required"}, True),
        ({"claimed_at": at(-31), "is_hidden": True}, False),
        ({"claimed_at": at(-31), "problem": "no JSON"}, False),
        ({"status": "pending"}, False),
        ({"status": "completed"}, False),
        ({"owner": ""}, False),
    ],
)
def test_a_card_alone_tells_what_cannot_be_overdue(card, may_be):
    found = Card(1, **{"status": "in_progress", "owner": "ann", **card})
    assert may_be_overdue(found, NOON - 30 * MINUTE, from_iso) is may_be


# The verdict.

IDLING = HolderActivity(ONLINE, IDLE)
AT_WORK = HolderActivity(ONLINE, WORKING)


@pytest.mark.parametrize(
    ("activity", "minutes"),
    [
        (HolderActivity(), 30.0),
        (HolderActivity(UNKNOWN, ""), 30.0),
        (IDLING, 30.0),
        (AT_WORK, 60.0),
        (HolderActivity(OFFLINE, WORKING), 30.0),
        (HolderActivity(OFFLINE, ENDED), 30.0),
        (HolderActivity(ONLINE, WAITING), None),
        (HolderActivity(OFFLINE, WAITING), None),
        (HolderActivity(ONLINE, "a state of a later version"), 30.0),
    ],
)
def test_how_long_somebody_may_be_quiet(activity, minutes):
    assert patience(30.0, activity) == (None if minutes is None else minutes * MINUTE)


@proves("R002-20.6-02", "R002-27.1-50")
@pytest.mark.parametrize(
    ("idle", "told_owner", "told_lead", "activity", "verdict"),
    [
        (0, None, None, IDLING, NOTHING),
        (-500, None, None, IDLING, NOTHING),
        (29.9, None, None, IDLING, NOTHING),
        (30, None, None, IDLING, OWNER),
        (30, None, None, AT_WORK, NOTHING),
        (59.9, None, None, AT_WORK, NOTHING),
        (60, None, None, AT_WORK, OWNER),
        (1000, None, None, HolderActivity(ONLINE, WAITING), NOTHING),
        (1000, None, None, HolderActivity(), OWNER),
        (31, 1, None, IDLING, NOTHING),
        (59.9, 29.9, None, IDLING, NOTHING),
        (60, 30, None, IDLING, LEAD),
        (90, 30, None, AT_WORK, NOTHING),
        (120, 60, None, AT_WORK, LEAD),
        (1000, 5, None, IDLING, NOTHING),
        (1000, 30, None, HolderActivity(ONLINE, WAITING), NOTHING),
        (1000, -500, None, IDLING, NOTHING),
        (61, 31, 1, IDLING, NOTHING),
        (100_000, 99_000, 98_000, IDLING, NOTHING),
        (1000, None, 10, IDLING, NOTHING),
    ],
)
def test_the_holder_first_then_the_lead_and_nobody_after_that(idle, told_owner, told_lead, activity, verdict):
    ago = [None if one is None else NOON - one * MINUTE for one in (told_owner, told_lead)]
    said = judge(since=NOON - idle * MINUTE, now=NOON, minutes=30.0, activity=activity, told=StallTold(*ago))
    assert said == verdict


@pytest.mark.parametrize("minutes", [0.0, -1.0])
def test_no_minutes_turn_it_off(minutes):
    assert judge(since=0.0, now=NOON, minutes=minutes, activity=IDLING, told=StallTold()) == NOTHING


def test_without_a_lead_the_holder_is_all_there_is_to_tell():
    told = StallTold(owner_at=NOON - 1000 * MINUTE)
    assert judge(since=0.0, now=NOON, minutes=30.0, activity=IDLING, told=told, has_lead=False) == NOTHING


@given(
    steps=st.lists(st.floats(min_value=0, max_value=200), max_size=40),
    activities=st.lists(
        st.sampled_from([IDLING, AT_WORK, HolderActivity(), HolderActivity(ONLINE, WAITING)]), min_size=1
    ),
)
def test_however_often_one_looks_one_stall_brings_at_most_one_alert_each(steps, activities):
    now, told, said = NOON, StallTold(), []
    for number, step in enumerate(steps):
        now += step * MINUTE
        kind = judge(since=NOON, now=now, minutes=30, activity=activities[number % len(activities)], told=told)
        if kind == OWNER:
            told = StallTold(now, told.lead_at)
        elif kind == LEAD:
            told = StallTold(told.owner_at, now)
        said += [kind] if kind else []
    assert said in ([], [OWNER], [OWNER, LEAD])
