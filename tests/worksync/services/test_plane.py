"""What the control plane asks of a team: does it run, what is there to do, who is busy, whose token is that."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import LONG
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, OPEN, Place

from atm.board.services import planning, reviews
from atm.board.services import working as board
from atm.core.errors import NoSuchTeam, UnreadableFile, WriteRefused
from atm.mail.rules.surfacing import ShowingNote
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.lifecycle import ACTIVE, CONSOLIDATING
from atm.team.rules.liveness import IDLE, SILENT_AFTER, WAITING, WORKING, Beat
from atm.team.services.endpoints import put_endpoint
from atm.team.services.lifecycle import advance, walk
from atm.team.services.registry import find_team
from atm.worksync.rules.decisions import (
    AWAITS_PERMISSION,
    BUSY_REASONS,
    DELIVERY_PENDING,
    LAUNCHING,
    RECENT_ACTIVITY,
    TOOL_ACTIVE,
)
from atm.worksync.services.reconcile import look_at
from atm.worksync.services.reports import note_intent, submit
from atm.worksync.services.syncroom import (
    LAUNCH_GRACE,
    PERMISSION_STALE,
    TOOL_STALE,
    SyncPolicy,
    busy_state,
    comment_of,
    find_running,
    issue,
    members_named,
    read_agendas,
    running,
    verify,
)

# Does the team run?


def runs(place: Place, team: str = "crew") -> tuple[bool, str]:
    _, state = find_running(place.syncroom, team)
    return state.runs, state.state


@proves("R002-9-12", "R002-9-13", "R002-9-14", "R002-16.7-15")
def test_a_team_that_is_made_staffed_or_at_work_runs(place):
    assert runs(place) == (True, "pending")
    advance(place.room, "crew", ACTIVE, LEAD)
    assert runs(place) == (True, "active")
    advance(place.room, "crew", CONSOLIDATING, LEAD)
    assert runs(place) == (True, "consolidating")


@proves("R002-8.0-43", "R002-8.0-49", "R002-9-12", "R002-9-13", "R002-9-15", "R002-16.7-14", "R002-27.0-16")
def test_a_stopped_team_does_not_run_until_it_is_taken_up_again(place):
    place.stop()
    assert runs(place) == (False, "stopped")
    place.resume()
    assert runs(place) == (True, "active")


def test_a_complete_team_does_not_run_whatever_its_state_file_says(place):
    walk(place.room, "crew", "complete", LEAD)
    place.room.states.content.clear()
    assert runs(place) == (False, "complete")


@proves("R002-9-17", "R002-16.7-11", "R002-16.7-12", "R002-27.0-14", "R002-27.0-16")
def test_a_team_that_is_not_there_does_not_run_and_is_no_error(place):
    found, state = find_running(place.syncroom, "nobody")
    assert found is None
    assert (state.runs, state.state) == (False, "deleted")
    place.delete()
    assert find_running(place.syncroom, "crew")[0] is None


@proves("R002-1-65", "R002-8.0-43", "R002-10.1-17", "R002-16.7-16", "R002-27.0-18", "R002-27.0-22")
@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"null", b'{"status": "dancing"}', b'{"status": 7}', b"\xff"])
def test_a_state_that_cannot_be_read_is_no_reason_to_believe_that_a_team_runs(busy_place, garbage):
    busy_place.room.states.content["crew"] = garbage
    is_running, state = runs(busy_place)
    assert not is_running, state
    assert busy_place.look() == []
    assert not busy_place.report().ok


@proves("R002-9-18", "R002-16.7-15", "R002-27.0-17", "R002-27.0-22")
def test_a_session_of_claude_code_runs_while_somebody_of_it_is_heard(place):
    name = place.create_claudes()
    assert runs(place, name) == (False, "unknown")
    place.beats("ann", IDLE, team=name)
    assert runs(place, name) == (True, "active")
    place.passes(SILENT_AFTER)
    assert runs(place, name) == (True, "active")
    place.passes(1)
    assert runs(place, name) == (False, "unknown")


def test_a_heartbeat_of_somebody_who_is_no_member_proves_nothing(place):
    name = place.create_claudes()
    place.beats("mallory", WORKING, team=name)
    assert runs(place, name) == (False, "unknown")


@proves("R002-8.0-66")
def test_a_heartbeat_does_not_bring_a_stopped_team_of_ours_back(place):
    place.stop()
    place.beats("ann", WORKING)
    assert runs(place) == (False, "stopped")


# Agendas.


def test_a_team_without_tasks_has_empty_agendas(place):
    place.boardroom.tasks.files.clear()
    found = read_agendas(place.syncroom, place.team, ["ann", "bob"])
    assert {name: [*agenda.items] for name, agenda in found.items()} == {"ann": [], "bob": []}


@proves(
    "R002-1-13",
    "R002-1-14",
    "R002-4.1-02",
    "R002-4.1-03",
    "R002-4.1-04",
    "R002-4.1-05",
    "R002-6-04",
    "R002-8.0-03",
    "R002-8.0-04",
    "R002-8.0-05",
    "R002-8.0-06",
    "R002-8.0-07",
    "R002-8.2.1-01",
    "R002-8.2.1-06",
    "R002-8.2.1-18",
    "R002-8.2.1-33",
    "R002-9-06",
    "R002-11.1-01",
    "R002-11.1-03",
    "R002-11.1-04",
    "R002-16.6-07",
    "R002-20.3-03",
    "R002-20.3-08",
    "R002-20.3-10",
)
def test_an_agenda_holds_work_reviews_questions_and_what_waits_and_nothing_of_others(place):
    place.add("mine", "asked about", "after mine")
    place.add("of bob", owner="bob")
    planning.depend(place.boardroom, "crew", LEAD, "3", ["1"], [])
    board.claim(place.boardroom, "crew", "ann", "2")
    reviews.ask(place.boardroom, "crew", "ann", "2", "lead", "which one?")
    board.claim(place.boardroom, "crew", "bob", "4")
    reviews.request_review(place.boardroom, "crew", "bob", "4", "ann")
    agenda = read_agendas(place.syncroom, place.team, ["ann"])["ann"]
    assert [(item.task_id, item.kind) for item in agenda.items] == [
        ("1", "work"),
        ("2", "clarification"),
        ("3", "blocked_dependency"),
        ("4", "review"),
    ]
    assert read_agendas(place.syncroom, place.team, ["cleo"])["cleo"].items == []


@proves(
    "R002-8.2.1-12",
    "R002-8.2.1-48",
    "R002-8.2.1-49",
    "R002-8.2.1-50",
    "R002-8.2.1-51",
    "R002-8.2.1-52",
    "R002-11.1-03",
    "R002-16.7-06",
    "R002-20.3-04",
    "R002-20.3-06",
)
def test_whoever_reviewed_the_former_cycle_is_not_asked_again(place):
    place.add("the parser")
    board.claim(place.boardroom, "crew", "ann", "1")
    reviews.request_review(place.boardroom, "crew", "ann", "1", "bob")
    reviews.request_changes(place.boardroom, "crew", "bob", "1", "no tests")
    assert place.seen("bob").agenda.items == []
    assert [item.reason for item in place.seen("ann").agenda.items] == ["Changes were requested in review."]
    reviews.request_review(place.boardroom, "crew", "ann", "1", "cleo")
    assert place.seen("bob").agenda.items == place.seen("ann").agenda.items == []
    assert [item.kind for item in place.seen("cleo").agenda.items] == ["review"]


@proves(
    "R002-4.1-07",
    "R002-4.1-08",
    "R002-8.2.1-08",
    "R002-8.2.1-09",
    "R002-8.2.1-34",
    "R002-8.2.1-35",
    "R002-8.3-29",
    "R002-20.3-09",
    "R002-27.1-51",
)
def test_finished_deleted_and_unreadable_tasks_are_nobodys_work(place):
    place.add("done", "vanished", "damaged")
    board.claim(place.boardroom, "crew", "ann", "1")
    board.complete(place.boardroom, "crew", "ann", "1")
    place.boardroom.tasks.delete("crew", 2)
    place.boardroom.tasks.write_as_others_do("crew", 3, b"{")
    assert place.seen("ann").agenda.items == []
    assert any("#3" in text for text in place.seen(LEAD).agenda.diagnostics)


WORDS = st.sampled_from(["ann", "bob", "cleo", LEAD, "hugo", "mallory", ""])


@proves("R002-6-05", "R002-8.3-04")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, st.booleans()), max_size=6), st.randoms())
def test_looking_at_one_and_looking_at_all_give_the_same_fingerprints(tasks, dice):
    place = Place()
    for owner, reviewer, in_review in tasks:
        id = place.add("some work", owner=owner)[0]
        if in_review and owner and reviewer and owner.casefold() != reviewer.casefold():
            board.claim(place.boardroom, "crew", owner, id)
            reviews.request_review(place.boardroom, "crew", owner, id, reviewer)
    team = place.team
    together = look_at(place.syncroom, team, team.names)
    for name in dice.sample(team.names, len(team.names)):
        assert look_at(place.syncroom, team, [name])[name].fingerprint == together[name].fingerprint


def test_a_comment_is_found_in_the_tasks_of_the_agenda_only(place):
    place.add("mine")
    place.add("of bob", owner="bob")
    _, mine = board.comment(place.boardroom, "crew", "ann", "1", "the key is missing")
    _, other = board.comment(place.boardroom, "crew", "bob", "2", "the key is missing")
    agenda = place.seen("ann").agenda
    assert comment_of(place.syncroom, agenda, mine) == {mine: "1"}
    assert comment_of(place.syncroom, agenda, other) == comment_of(place.syncroom, agenda, "") == {}


@proves("R002-8.0-64", "R002-16.7-03")
def test_however_many_members_and_tasks_there_are_they_are_looked_at_in_one_pass(place):
    """How long that takes for a thousand members is a case of the benchmarks."""
    from atm.files.formats.json_record import encode
    from atm.team.formats.team_config import new_member, with_member
    from atm.team.rules.team import Member

    members = 1000 if LONG else 50
    data = place.room.rosters._content["crew"]
    for number in range(members):
        data = with_member(data, new_member(Member(f"m{number}"), "crew", place.now))
    place.room.rosters._content["crew"] = data
    for number in range(1, 10 * members + 1):
        owner = f"m{number % members}"
        task = {"id": str(number), "subject": "x", "description": "", "status": "pending", "owner": owner}
        place.boardroom.tasks.write_as_others_do(
            "crew", number, encode({**task, "blocks": [], "blockedBy": []}).encode()
        )
    looks = place.look(*(f"m{number}" for number in range(members)))
    assert len(looks) == members
    assert {len(look.seen.agenda.items) for look in looks} == {10}
    assert len({look.seen.fingerprint for look in looks}) == members
    assert place.syncroom.records.writes == 1


# Busy.


def busy(place: Place, name: str = "ann") -> str:
    return busy_state(place.syncroom, place.team, name).reason


@proves("R002-9-20", "R002-9-21")
def test_nothing_known_is_not_busy(place):
    assert busy_state(place.syncroom, place.team, "ann").reason == ""


@proves("R002-1-60", "R002-9-22", "R002-9-26", "R002-11.2-01", "R002-11.2-07", "R002-21-62")
def test_a_turn_keeps_a_member_busy_until_a_tool_call_must_have_ended(place):
    place.beats("ann", WORKING)
    found = busy_state(place.syncroom, place.team, "ann")
    assert (found.reason, found.until) == (TOOL_ACTIVE, place.now + TOOL_STALE)
    place.passes(TOOL_STALE - 1)
    assert busy(place) == TOOL_ACTIVE
    place.passes(1)
    assert busy(place) == ""


def test_a_command_at_the_board_is_a_sign_of_life_and_not_of_a_turn(place):
    place.beats("ann", WORKING, source="atm tasks")
    assert busy(place) == RECENT_ACTIVITY
    place.passes(90)
    assert busy(place) == ""


def test_a_member_that_waits_for_a_permission_is_busy_for_an_hour_at_most(place):
    place.beats("ann", WAITING)
    place.passes(PERMISSION_STALE - 1)
    assert busy(place) == AWAITS_PERMISSION
    place.passes(1)
    assert busy(place) == ""


@proves("R002-1-62", "R002-9-25", "R002-9-26", "R002-11.2-04", "R002-11.2-07", "R002-21-58")
def test_whoever_has_just_stopped_is_left_in_peace_for_a_quiet_window(place):
    since = place.now
    place.beats("ann", IDLE, since=since)
    found = busy_state(place.syncroom, place.team, "ann")
    assert (found.reason, found.until) == (RECENT_ACTIVITY, since + 90)
    place.passes(89)
    place.beats("ann", IDLE, since=since)  # it goes on beating, and is idle still
    assert busy(place) == RECENT_ACTIVITY
    place.passes(1)
    assert busy(place) == ""


@proves("R002-8.0-109", "R002-9-23", "R002-11.2-02", "R002-16.2-02")
def test_mail_that_waits_in_the_spool_or_was_cut_off_is_a_delivery_under_way(place):
    place.room.inboxes.refuse = WriteRefused("the disk is full")
    assert send(place.room, "crew", "ann", Draft(sender="bob", text="hello")).outcome == "queued"
    assert (busy(place), busy(place, "bob")) == (DELIVERY_PENDING, "")
    place.room.surfacings.notes["crew", "bob"] = ShowingNote(keys=[], channel="hook", at=place.now)
    assert busy(place, "bob") == DELIVERY_PENDING
    place.passes(89)
    assert (busy(place), busy(place, "bob")) == (DELIVERY_PENDING, DELIVERY_PENDING)
    place.passes(1)
    assert (busy(place), busy(place, "bob")) == ("", ""), "what waits for longer is the delivery's business"


def test_a_spool_that_cannot_be_read_keeps_nobody_busy_for_ever(place):
    def refuse():
        raise UnreadableFile("no")

    place.room.spool.is_empty = refuse
    assert busy(place) == ""


@proves("R002-9-24", "R002-11.2-03", "R002-16.4-04", "R002-16.4-11")
def test_a_member_that_has_just_been_started_gets_its_grace(place):
    put_endpoint(place.room, place.team, "ann", Endpoint(vendor="codex", session="s", at=place.now))
    assert busy(place) == LAUNCHING
    place.passes(LAUNCH_GRACE - 1)
    assert busy(place) == LAUNCHING
    place.passes(1)
    assert busy(place) == ""
    put_endpoint(place.room, place.team, "ann", Endpoint(vendor="codex", session="s", at=place.now + 1e6))
    assert busy(place) == ""


@proves(
    "R002-9-20",
    "R002-9-21",
    "R002-9-22",
    "R002-9-23",
    "R002-9-24",
    "R002-9-25",
    "R002-11.2-06",
    "R002-11.2-10",
    "R002-11.2-11",
    "R002-11.2-12",
)
def test_of_several_signals_the_strongest_counts(place):
    put_endpoint(place.room, place.team, "ann", Endpoint(vendor="codex", session="s", at=place.now))
    place.room.surfacings.notes["crew", "ann"] = ShowingNote(keys=[], channel="hook", at=place.now)
    found = []
    for state in (WORKING, WAITING, IDLE):
        place.beats("ann", state)
        found.append(busy(place))
    place.room.surfacings.notes.clear()
    found.append(busy(place))
    place.room.endpoints.forget("crew", "ann")
    found.append(busy(place))
    assert found == [TOOL_ACTIVE, AWAITS_PERMISSION, DELIVERY_PENDING, LAUNCHING, RECENT_ACTIVITY]
    assert tuple(found) == BUSY_REASONS


def test_with_no_quiet_window_nothing_but_real_work_is_busy():
    place = Place(SyncPolicy(quiet_seconds=0.0, thresholds=OPEN.thresholds))
    put_endpoint(place.room, place.team, "ann", Endpoint(vendor="codex", session="s", at=place.now))
    place.beats("ann", IDLE)
    assert busy(place) == ""
    place.beats("ann", WORKING)
    assert busy(place) == TOOL_ACTIVE


@proves(
    "R002-1-82",
    "R002-2-08",
    "R002-4.1-11",
    "R002-8.0-108",
    "R002-8.0-111",
    "R002-8.3-11",
    "R002-8.3-17",
    "R002-20.1-06",
    "R002-27.1-24",
    "R002-27.1-52",
)
@pytest.mark.parametrize("state", [WORKING, WAITING, IDLE, "", "no such state"])
def test_what_a_member_does_never_moves_its_fingerprint(busy_place, state):
    before = busy_place.fingerprint()
    busy_place.beats("ann", state)
    assert busy_place.fingerprint() == before


@pytest.mark.parametrize("state", [WORKING, WAITING, IDLE])
def test_a_heartbeat_from_the_future_keeps_nobody_busy_for_ever(place, state):
    place.room.presence.beat("crew", "ann", Beat(at=place.now + 1e9, source="codex hook Stop", state=state))
    place.passes(2 * PERMISSION_STALE)
    assert busy(place) == ""


# Tokens.


@proves(
    "R002-9-30",
    "R002-9-31",
    "R002-9-32",
    "R002-9-33",
    "R002-9-34",
    "R002-12.2-07",
    "R002-13.2-07",
    "R002-13.2-08",
    "R002-13.2-09",
    "R002-13.2-11",
    "R002-23-30",
    "R002-27.2-06",
)
def test_a_token_is_good_for_its_member_its_agenda_its_team_and_a_quarter_of_an_hour(place):
    place.create("other")
    now, token = place.now, issue(place.syncroom, place.team, "ann", "agenda:v1:a")

    def verdict(team="crew", member="ann", fingerprint="agenda:v1:a", at=now, token=token):
        return verify(place.syncroom, find_team(place.room, team), member, fingerprint, token, at)

    assert verdict() == verdict(member="ANN") == verdict(at=now + 899) == "ok"
    assert verdict(at=now + 900) == "expired"
    assert verdict(at=now - 120) == "expired"
    assert verdict(member="bob") == verdict(team="other") == verdict(fingerprint="agenda:v1:b") == "invalid"
    assert verdict(token="") == "missing"


@pytest.mark.parametrize(
    "token", ["x", "wrs:v1", "wrs:v1.", "wrs:v1..", "wrs:v1.e30.e30", "wrs:v2.e30.e30", "\x00", "é.é.é"]
)
def test_what_only_looks_like_a_token_is_invalid(place, token):
    assert verify(place.syncroom, place.team, "ann", "agenda:v1:a", token, place.now) == "invalid"


def test_a_token_with_one_changed_letter_is_invalid(place):
    token = issue(place.syncroom, place.team, "ann", "agenda:v1:a")
    for place_in_it in range(8, len(token) - 1, 7):
        other = "A" if token[place_in_it] != "A" else "B"
        forged = token[:place_in_it] + other + token[place_in_it + 1 :]
        assert verify(place.syncroom, place.team, "ann", "agenda:v1:a", forged, place.now) == "invalid"


@proves("R002-13.2-10", "R002-27.2-03")
def test_a_new_secret_ends_all_tokens(place):
    token = issue(place.syncroom, place.team, "ann", "agenda:v1:a")
    place.syncroom.secrets.take_away("crew")
    assert verify(place.syncroom, place.team, "ann", "agenda:v1:a", token, place.now) == "invalid"


def test_a_secret_that_cannot_be_read_makes_every_token_invalid(place, monkeypatch):
    token = issue(place.syncroom, place.team, "ann", "agenda:v1:a")

    def refuse(_team):
        raise WriteRefused("no")

    monkeypatch.setattr(place.syncroom.secrets, "secret", refuse)
    assert verify(place.syncroom, place.team, "ann", "agenda:v1:a", token, place.now) == "invalid"


def test_a_team_that_is_gone_gives_no_tokens(place):
    place.delete()
    with pytest.raises(NoSuchTeam):
        issue(place.syncroom, place.team, "ann", "agenda:v1:a")


# Names.


@proves("R002-3.4-07", "R002-9-07")
def test_names_are_spelled_as_the_roster_spells_them_and_strangers_are_dropped(place):
    assert members_named(place.team, {"ANN": "x", "mallory": "y", "bob": "z"}) == {"ann": "x", "bob": "z"}


def test_a_team_made_anew_under_the_same_name_inherits_nothing(busy_place):
    place = busy_place
    words = {**place.words("ann"), "reportToken": issue(place.syncroom, place.team, "ann", place.fingerprint())}
    assert place.report().ok
    assert place.intend().ok
    place.round("bob")
    place.delete()
    assert place.look() == []
    place.create("crew")
    place.add("the parser")
    assert place.fingerprint() == words["agendaFingerprint"]
    assert place.intents == []
    assert place.items() == []
    assert place.state() == "needs_sync"
    trusted = place.knows("ann")
    stranger = type(trusted)("mcp", place.now)
    for answer in (submit, note_intent):
        assert answer(place.syncroom, "crew", words, stranger).verdict.reason == "invalid_report_token"


@proves("R002-9-19")
def test_running_says_how_it_is_known(place):
    known = running(place.syncroom, place.team)
    assert (known.state, known.why) == ("pending", "state.json")
