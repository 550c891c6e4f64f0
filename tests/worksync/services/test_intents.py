"""Reports that nobody can judge now: noted once, replayed once, and never a lease without the validator."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, Place
from tests.worksync.services.test_reports import REASONS, STRANGERS

from atm.core.errors import FileBusy, UnreadableFile, WriteRefused
from atm.files.ports.records import INTENTS, STATUS
from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.worksync.rules.identity import CLAIMED_MEMBER, Trusted
from atm.worksync.services.reports import INTENT_SECONDS, MOST_INTENTS, note_intent, replay
from atm.worksync.services.syncroom import issue


def statuses(place: Place) -> list[Any]:
    return [intent["status"] for intent in place.intents]


def claimed(place: Place) -> Trusted:
    return Trusted("mcp", place.now, CLAIMED_MEMBER)


# Noting.


@proves(
    "R002-8.0-31",
    "R002-8.0-33",
    "R002-8.0-69",
    "R002-8.0-89",
    "R002-8.4.2-24",
    "R002-13.1-49",
    "R002-13.1-50",
    "R002-13.1-51",
    "R002-17.1-13",
    "R002-20.2-15",
    "R002-26-12",
    "R002-28-22",
)
def test_a_report_without_a_daemon_is_noted_and_is_no_lease(busy_place):
    answer: Any = busy_place.intend().fields()
    assert answer["ok"] is True
    assert answer["pendingValidation"] is True
    assert "leaseExpiresAt" not in answer
    assert statuses(busy_place) == ["pending"]
    assert busy_place.syncroom.records.read("crew", STATUS) == {}
    assert busy_place.state() == "needs_sync"


@proves("R002-8.0-31", "R002-8.0-33", "R002-8.0-69", "R002-8.0-89", "R002-10.1-72", "R002-10.1-73", "R002-17.3-04")
def test_noting_writes_the_intents_and_nothing_else(busy_place):
    before = busy_place.everything()
    busy_place.intend()
    assert busy_place.changed(before) == ["records"]
    assert {shelf for _, shelf in busy_place.syncroom.records.texts} == {INTENTS}


@proves("R002-17.1-18")
def test_the_same_report_tried_again_is_one_intent_whatever_its_token_or_time(busy_place):
    for minute in range(5):
        token = issue(busy_place.syncroom, busy_place.team, "ann", busy_place.fingerprint())
        assert busy_place.intend(reportToken=token, reportedAt=f"minute {minute}").ok
        busy_place.passes(60)
    assert len(busy_place.intents) == 1
    received = busy_place.intents[0]["receivedAt"]
    busy_place.intend()
    assert busy_place.intents[0]["receivedAt"] == received


def test_order_of_task_ids_does_not_make_another_intent_and_another_note_does(busy_place):
    busy_place.add("the printer")
    busy_place.intend(taskIds=["1", "2"])
    busy_place.intend(taskIds=["#2", "01"])
    assert len(busy_place.intents) == 1
    busy_place.intend(taskIds=["1", "2"], note="else")
    assert len(busy_place.intents) == 2


@proves(
    "R002-8.0-91",
    "R002-8.4.2-19",
    "R002-10.1-07",
    "R002-10.1-41",
    "R002-13.1-49",
    "R002-13.2-28",
    "R002-13.3-18",
    "R002-20.2-16",
    "R002-22-09",
    "R002-23-19",
)
@pytest.mark.parametrize("who", STRANGERS)
def test_a_failure_of_identity_writes_no_intent_and_reveals_nothing(busy_place, who):
    name, source, team, member = STRANGERS[who]
    before = busy_place.everything()
    words = {**busy_place.words("ann"), "from": name}
    answer: Any = note_intent(
        busy_place.syncroom, "crew", words, Trusted("mcp", busy_place.now, source, team, member)
    ).fields()
    assert answer["reason"] == REASONS[who]
    assert set(answer) == {"ok", "reason", "instruction"}
    assert busy_place.changed(before) == []


@pytest.mark.parametrize("token", ["wrs:v1.a.b", "x", ""])
def test_a_bad_or_missing_token_without_a_launcher_writes_no_intent(busy_place, token):
    before = busy_place.everything()
    words = busy_place.words("ann", reportToken=token)
    assert not note_intent(busy_place.syncroom, "crew", words, claimed(busy_place)).ok
    assert set(busy_place.changed(before)) <= {"secrets"}  # nobody had asked for a token yet


@proves("R002-8.0-66")
def test_a_stopped_or_deleted_team_takes_no_intent(busy_place):
    words, trusted = busy_place.words("ann"), busy_place.knows("ann")
    busy_place.stop()
    assert note_intent(busy_place.syncroom, "crew", words, trusted).verdict.reason == "team_inactive"
    assert busy_place.intents == []
    busy_place.delete()
    assert note_intent(busy_place.syncroom, "crew", words, trusted).verdict.reason == "team_inactive"


@proves("R002-8.4.2-17", "R002-13.2-21")
def test_a_removed_member_leaves_no_intent(busy_place):
    words = busy_place.words("ann")
    busy_place.remove("ann")
    assert note_intent(busy_place.syncroom, "crew", words, busy_place.knows("ann")).verdict.reason == "member_inactive"
    assert busy_place.intents == []


def test_what_is_not_a_report_is_no_intent(busy_place):
    words = {**busy_place.words("ann"), "taskIds": ["x"]}
    assert note_intent(busy_place.syncroom, "crew", words, busy_place.knows("ann")).verdict.reason == "invalid_payload"
    assert busy_place.intents == []


@proves("R002-8.0-63", "R002-8.4-25")
def test_only_what_belongs_to_a_report_is_kept_of_what_was_said(busy_place):
    words = busy_place.words("ann", password="hunter2", trustedContext={"member": "bob"})
    note_intent(busy_place.syncroom, "crew", words, busy_place.knows("ann"))
    (intent,) = busy_place.intents
    assert set(intent["rawInput"]) == {"from", "agendaFingerprint", "state"}


@proves("R002-10.1-50", "R002-17.1-29", "R002-23-08", "R002-23-29")
def test_a_hundred_wait_and_the_next_one_is_told_so_without_pushing_out_another(busy_place):
    for number in range(MOST_INTENTS):
        assert busy_place.intend(note=f"n{number}").ok
    before = busy_place.everything()
    refused = busy_place.intend(note="one too many").fields()
    assert (refused["ok"], refused["reason"]) == (False, "capability_unavailable")
    assert busy_place.intend(note="n7").ok, "one that waits already is no new one"
    assert busy_place.changed(before) == []


@proves("R002-17.1-16", "R002-17.1-29")
def test_what_was_judged_makes_room_for_what_is_new(busy_place):
    for number in range(MOST_INTENTS):
        busy_place.intend(note=f"n{number}")
    assert replay(busy_place.syncroom, "crew") == MOST_INTENTS
    for number in range(30):
        assert busy_place.intend(note=f"later {number}").ok
    assert len(busy_place.intents) <= MOST_INTENTS
    assert statuses(busy_place).count("pending") == 30


@proves("R002-17.1-16", "R002-17.1-29")
def test_what_was_judged_a_week_ago_is_forgotten(busy_place):
    busy_place.intend(note="old")
    replay(busy_place.syncroom, "crew")
    busy_place.passes(INTENT_SECONDS + 1)
    busy_place.intend(note="new")
    assert [intent["rawInput"]["note"] for intent in busy_place.intents] == ["new"]


# Replaying.


@proves(
    "R002-8.0-32",
    "R002-8.0-34",
    "R002-17.1-15",
    "R002-17.1-20",
    "R002-20.4-12",
    "R002-20.5-07",
    "R002-21-12",
    "R002-27.2-38",
    "R002-27.2-46",
    "R002-28-22",
    "R002-29-05",
)
def test_a_replay_judges_once_and_makes_the_lease(busy_place):
    busy_place.intend()
    busy_place.passes(60)
    assert replay(busy_place.syncroom, "crew") == 1
    assert statuses(busy_place) == ["accepted"]
    assert busy_place.state() == "valid_lease"
    writes = busy_place.syncroom.records.writes
    assert replay(busy_place.syncroom, "crew") == 0
    assert busy_place.syncroom.records.writes == writes


@proves(
    "R002-8.0-32",
    "R002-8.0-35",
    "R002-8.0-74",
    "R002-8.0-94",
    "R002-10.1-79",
    "R002-17.1-14",
    "R002-17.1-17",
    "R002-17.1-20",
    "R002-17.1-25",
    "R002-17.1-26",
    "R002-17.3-05",
    "R002-26-30",
    "R002-27.2-39",
)
def test_a_report_that_became_stale_never_becomes_a_lease(busy_place):
    busy_place.intend()
    busy_place.add("the printer")
    replay(busy_place.syncroom, "crew")
    (intent,) = busy_place.intents
    assert (intent["status"], intent["validationReason"]) == ("rejected", "stale_fingerprint")
    assert busy_place.status().accepted is None
    assert busy_place.state() == "needs_sync"


def test_what_the_former_bearer_of_a_name_reported_is_superseded(busy_place):
    busy_place.intend("ann")
    busy_place.remove("ann")
    busy_place.passes(5)
    add_member(busy_place.room, "crew", Member("ann"))
    assert replay(busy_place.syncroom, "crew") == 1
    (intent,) = busy_place.intents
    assert (intent["status"], intent["validationReason"]) == ("superseded", "member_inactive")
    assert busy_place.state() == "needs_sync"


@proves("R002-17.1-20", "R002-17.1-28")
def test_who_was_removed_meanwhile_is_superseded(busy_place):
    busy_place.intend()
    busy_place.remove("ann")
    replay(busy_place.syncroom, "crew")
    (intent,) = busy_place.intents
    assert (intent["status"], intent["validationReason"]) == ("superseded", "member_inactive")


def test_a_token_that_was_good_when_it_came_is_good_although_it_has_expired_since(busy_place):
    token = issue(busy_place.syncroom, busy_place.team, "ann", busy_place.fingerprint())
    words = busy_place.words("ann", reportToken=token)
    busy_place.passes(800)
    assert note_intent(busy_place.syncroom, "crew", words, claimed(busy_place)).ok
    busy_place.passes(7200)
    replay(busy_place.syncroom, "crew")
    assert statuses(busy_place) == ["accepted"]
    assert busy_place.state() == "valid_lease"


def test_a_token_is_not_kept_after_it_has_done_its_duty(busy_place):
    token = issue(busy_place.syncroom, busy_place.team, "ann", busy_place.fingerprint())
    note_intent(busy_place.syncroom, "crew", busy_place.words("ann", reportToken=token), claimed(busy_place))
    replay(busy_place.syncroom, "crew")
    assert token not in str(busy_place.syncroom.records.texts)


def test_the_secret_made_anew_in_between_is_a_rejection(busy_place):
    token = issue(busy_place.syncroom, busy_place.team, "ann", busy_place.fingerprint())
    note_intent(busy_place.syncroom, "crew", busy_place.words("ann", reportToken=token), claimed(busy_place))
    busy_place.syncroom.secrets.take_away("crew")
    replay(busy_place.syncroom, "crew")
    assert [intent.get("validationReason") for intent in busy_place.intents] == ["invalid_report_token"]
    assert busy_place.state() == "needs_sync"


FORGED: list[Any] = [
    {},
    {"status": "pending"},
    {"status": "pending", "memberName": "ann", "rawInput": "x"},
    {"status": "pending", "memberName": "ann", "rawInput": {"from": 3}, "identitySource": "process_team"},
    {"status": "pending", "memberName": "ann", "rawInput": {"taskIds": [[[]]]}, "receivedAt": "never"},
    {"status": "pending", "memberName": 5, "rawInput": {}, "receivedAt": None},
    {"status": "accepted", "memberName": "ann"},
    {"status": "dancing", "memberName": "ann", "rawInput": {}},
]


@proves("R002-27.2-41", "R002-28-22")
@pytest.mark.parametrize("record", FORGED)
def test_a_damaged_intent_is_settled_or_left_and_never_a_lease(busy_place, record):
    busy_place.put(INTENTS, {"x": record})
    replay(busy_place.syncroom, "crew")
    replay(busy_place.syncroom, "crew")
    assert "pending" not in [intent.get("status", "pending") for intent in busy_place.intents]
    assert busy_place.state() == "needs_sync"


def test_a_damaged_intent_does_not_keep_the_others_waiting(busy_place):
    busy_place.intend()
    good = busy_place.syncroom.records.read("crew", INTENTS)
    busy_place.put(INTENTS, {**{f"x{n}": record for n, record in enumerate(FORGED)}, **good})
    replay(busy_place.syncroom, "crew")
    assert busy_place.state() == "valid_lease"


@proves("R002-8.0-62", "R002-8.4.2-19", "R002-17.1-14", "R002-27.2-40")
def test_an_intent_cannot_be_turned_into_a_report_of_somebody_else(busy_place):
    busy_place.add("of bob", owner="bob")
    busy_place.intend()
    (id, record), *_ = busy_place.syncroom.records.read("crew", INTENTS).items()
    raw = {**record["rawInput"], "from": "bob", "agendaFingerprint": busy_place.fingerprint("bob")}
    busy_place.put(INTENTS, {id: {**record, "rawInput": raw}})
    replay(busy_place.syncroom, "crew")
    assert busy_place.intents[0]["validationReason"] == "identity_mismatch"
    assert busy_place.state("bob") == "needs_sync"


@proves("R002-8.0-63", "R002-27.2-40")
def test_a_claim_without_a_proof_does_not_become_one_by_waiting(busy_place):
    busy_place.intend()
    (id, record), *_ = busy_place.syncroom.records.read("crew", INTENTS).items()
    busy_place.put(INTENTS, {id: {**record, "identitySource": CLAIMED_MEMBER}})
    replay(busy_place.syncroom, "crew")
    assert busy_place.intents[0]["validationReason"] == "identity_untrusted"
    assert busy_place.state() == "needs_sync"


@proves("R002-8.4-35", "R002-17.1-27")
def test_the_same_report_after_it_was_accepted_is_accepted_again_under_the_same_id(busy_place):
    busy_place.intend()
    replay(busy_place.syncroom, "crew")
    first = busy_place.status().accepted.id
    busy_place.passes(30)
    busy_place.intend()
    assert statuses(busy_place) == ["pending"]
    replay(busy_place.syncroom, "crew")
    assert statuses(busy_place) == ["accepted"]
    assert busy_place.status().accepted.id == first
    assert len(busy_place.status().reports) == 1


def test_a_replay_of_a_team_that_is_gone_does_nothing(busy_place):
    busy_place.intend()
    busy_place.delete()
    assert replay(busy_place.syncroom, "crew") == 0


def test_intents_are_judged_in_the_order_in_which_they_came(busy_place):
    busy_place.add("plan", owner=LEAD)
    for number in range(5):
        busy_place.intend(note=f"n{number}")
        busy_place.passes(1)
    replay(busy_place.syncroom, "crew")
    assert busy_place.status().accepted.note == "n4"


# What must not get lost, and must not go on for ever.


@proves("R002-8.0-72", "R002-17.1-18")
def test_a_replay_that_was_cut_off_before_the_mark_is_made_again_and_gives_one_report(busy_place, monkeypatch):
    busy_place.intend()
    cut_off(busy_place, monkeypatch, INTENTS)
    assert statuses(busy_place) == ["pending"]
    replay(busy_place.syncroom, "crew")
    assert statuses(busy_place) == ["accepted"]
    assert len(busy_place.status().reports) == 1


def cut_off(place: Place, monkeypatch: pytest.MonkeyPatch, shelf: str, error: Exception | None = None) -> None:
    """A replay during which one shelf cannot be written."""
    change = place.syncroom.records.change

    def refuse(team, which, *args, **options):
        if which == shelf:
            raise error or WriteRefused("the disk is full")
        change(team, which, *args, **options)

    with monkeypatch.context() as full:
        full.setattr(place.syncroom.records, "change", refuse)
        try:
            replay(place.syncroom, "crew")
        except WriteRefused:
            pass


@proves("R002-8.0-72")
def test_an_intent_that_cannot_be_marked_does_not_renew_its_lease_for_ever(busy_place, monkeypatch):
    busy_place.intend()
    for _ in range(30):
        cut_off(busy_place, monkeypatch, INTENTS)
        busy_place.passes(60)
    assert busy_place.state() == "needs_sync"


@proves("R002-18.1-07", "R002-29-04")
@pytest.mark.parametrize("error", [WriteRefused("the disk is full"), FileBusy("somebody holds the lock")])
def test_a_status_that_cannot_be_written_now_does_not_lose_the_report(busy_place, monkeypatch, error):
    busy_place.intend()
    cut_off(busy_place, monkeypatch, STATUS, error)
    replay(busy_place.syncroom, "crew")
    assert busy_place.state() == "valid_lease"


@proves("R002-18.1-07")
def test_a_board_that_cannot_be_read_now_does_not_lose_the_report(busy_place, monkeypatch):
    busy_place.intend()

    def refuse(_team):
        raise UnreadableFile("the disk says no")

    with monkeypatch.context() as broken:
        broken.setattr(busy_place.boardroom.tasks, "board", refuse)
        replay(busy_place.syncroom, "crew")
    replay(busy_place.syncroom, "crew")
    assert busy_place.state() == "valid_lease"
