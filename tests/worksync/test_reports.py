"""Reports, from the command and from MCP to the status that everybody sees: with a daemon, and without one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.delivery.conftest import until
from tests.mcp.conftest import Spoken
from tests.proving import proves
from tests.worksync.conftest import LONG, Crew


def block(spoken: Spoken) -> dict[str, Any]:
    found: dict[str, Any] = spoken.call("task_briefing")["structuredContent"]["workSync"]
    return found


def report(spoken: Spoken, who: str, seen: dict[str, Any], state: str = "still_working") -> dict[str, Any]:
    said = {key: seen[key] for key in ("agendaFingerprint", "reportToken")}
    found: dict[str, Any] = spoken.call("member_work_sync_report", **said, **{"from": who}, state=state)[
        "structuredContent"
    ]
    return found


# With a daemon.


@proves("R002-1-01", "R002-2-06", "R002-16.1-02", "R002-20.2-12", "R002-21-15", "R002-27.2-25")
def test_assigned_work_needs_sync_and_an_accepted_report_makes_it_working(crew: Crew) -> None:
    crew.assign("ann")
    crew.until_state("ann", "needs_sync")
    assert crew.run("lena", "sync", "status", "ann")["members"][0]["label"] == "Needs sync"
    answer = crew.report("ann", "still_working")
    assert (answer["ok"], "pendingValidation" in answer) == (True, False)
    (shown,) = crew.run("lena", "sync", "status", "ann")["members"]
    assert (shown["label"], shown["state"], shown["leaseExpiresAt"]) == (
        *("Working", "valid_lease"),
        answer["leaseExpiresAt"],
    )
    crew.looked_again("ann", 1)
    assert crew.stored("ann")["state"] == "valid_lease"


@proves(
    "R002-4.2-04",
    "R002-6-10",
    "R002-13-02",
    "R002-13-05",
    "R002-13-21",
    "R002-13.1-48",
    "R002-16.6-13",
    "R002-16.7-19",
    "R002-16.7-22",
    "R002-20.5-05",
    "R002-25-07",
    "R002-27.2-26",
    "R002-27.2-35",
)
def test_a_report_over_mcp_is_accepted_and_stale_once_the_task_changes(crew: Crew) -> None:
    first = crew.assign("ann")
    ann = crew.mcp("ann")
    seen = block(ann)
    assert report(ann, "ann", seen)["ok"] is True
    assert crew.has_lease("ann")

    crew.assign("ann", "Write its tests")
    answer = report(ann, "ann", seen)
    assert (answer["ok"], answer["reason"]) == (False, "stale_fingerprint")
    assert answer["currentAgendaFingerprint"] == crew.fingerprint("ann") != seen["agendaFingerprint"]
    assert [one["taskRef"] for one in answer["currentAgendaPreview"]] == [f"#{first}", "#2"]
    assert not crew.has_lease("ann"), "a lease holds for the agenda that it was given for"

    assert report(ann, "ann", block(ann))["ok"] is True
    assert crew.has_lease("ann")


@proves("R002-8.0-22")
def test_a_stale_report_by_the_command_brings_the_current_agenda(crew: Crew) -> None:
    crew.assign("ann")
    old = crew.fingerprint("ann")
    crew.assign("ann", "Write its tests")
    answer = crew.report("ann", "still_working", old, code=1)
    assert (answer["ok"], answer["reason"]) == (False, "stale_fingerprint")
    assert answer["currentAgendaFingerprint"] == crew.fingerprint("ann")
    until(lambda: crew.label("ann") == "Needs sync", LONG)  # once it has had a moment for its new mail


def test_a_rejected_report_does_not_touch_a_lease_that_holds(crew: Crew) -> None:
    crew.assign("ann")
    accepted = crew.report("ann", "still_working")
    assert crew.report("ann", "caught_up", code=1)["reason"] == "caught_up_rejected_actionable_items_exist"
    assert crew.report("ann", "still_working", f"agenda:v1:{'0' * 64}", code=1)["reason"] == "stale_fingerprint"
    assert crew.run("ann", "sync", "agenda")["leaseExpiresAt"] == accepted["leaseExpiresAt"]


@proves("R002-8.2.1-45", "R002-8.2.1-46")
def test_work_that_went_to_somebody_else_is_no_longer_the_first_ones(crew: Crew) -> None:
    id = crew.assign("ann")
    crew.report("ann", "still_working")
    crew.run("lena", "tasks", "assign", id, "--to", "bob")
    crew.until_state("ann", "caught_up")
    crew.until_state("bob", "needs_sync")
    assert crew.report("ann", "still_working", code=1)["reason"] == "still_working_rejected_empty_agenda"
    assert crew.report("ann", "caught_up")["ok"] is True


def test_a_blocker_that_the_board_shows_is_accepted_and_nobody_is_nudged_about_waiting(crew: Crew) -> None:
    first = crew.assign("bob")
    crew.assign("ann", "Write its tests", "--depends-on", first)
    crew.until_nudged("bob")
    crew.looked_again("ann")
    assert crew.nudges("ann") == [], "it can do nothing about it (D13)"
    answer = crew.report("ann", "blocked")
    assert (answer["ok"], crew.label("ann")) == (True, "Blocked")
    assert crew.report("bob", "blocked", code=1)["reason"] == "blocked_rejected_without_evidence"


def test_a_question_on_the_board_changes_the_agenda_and_the_daemon_notices(crew: Crew) -> None:
    id = crew.assign("ann")
    crew.until_nudged("ann")
    crew.report("ann", "still_working")
    crew.run("ann", "tasks", "clarify", id, "--needs", "lead", "--question", "JSON or YAML?")
    until(
        lambda: crew.stored("ann").get("agendaFacts", {}).get(f"clarification:{id}"),
        LONG,
        lambda: crew.trouble("ann"),
    )
    crew.looked_again("ann", 1)
    assert len(crew.nudges("ann")) == 1, "who waits for an answer is not nudged about that"
    assert crew.report("ann", "blocked", "", "--task", id)["ok"] is True


# Who reports.


@proves(
    "R002-8.0-29",
    "R002-8.0-63",
    "R002-8.0-90",
    "R002-10.1-26",
    "R002-10.1-49",
    "R002-13.1-46",
    "R002-13.2-02",
    "R002-13.2-03",
    "R002-13.3-04",
    "R002-20.4-06",
    "R002-23-04",
    "R002-25-14",
    "R002-27.2-34",
    "R002-27.3-16",
)
def test_nobody_reports_for_somebody_else_and_learns_nothing_by_trying(crew: Crew) -> None:
    crew.assign("ann", "A secret subject")
    bob = crew.mcp("bob")
    own = bob.call("member_work_sync_status")["structuredContent"]
    theirs = {**own, "agendaFingerprint": crew.fingerprint("ann")}
    token = crew.run("ann", "sync", "agenda")["reportToken"]
    for who, seen, reason in (
        ("ann", theirs, "identity_mismatch"),
        ("ann", {**theirs, "reportToken": token}, "identity_mismatch"),
        ("bob", {**own, "reportToken": token}, "invalid_report_token"),
        ("codex", own, "unsafe_provider_alias"),
        ("user", own, "reserved_author"),
    ):
        answer = report(bob, who, seen)
        assert (answer["ok"], answer["reason"]) == (False, reason)
        assert "currentAgendaFingerprint" not in answer
        assert "secret" not in str(answer)
    assert (crew.intents(), crew.has_lease("ann")) == ([], False)


@proves("R002-8.0-25", "R002-8.0-71", "R002-8.4.2-01", "R002-26-25")
def test_a_flag_proves_nobody_and_a_token_does(crew: Crew) -> None:
    crew.assign("ann")
    seen = crew.run("ann", "sync", "agenda")
    words = ["sync", "report", "still_working", "--as", "ann", "--team", crew.team, "--json"]
    words += ["--fingerprint", seen["agendaFingerprint"]]
    assert crew.atm(*words, code=1).json["reason"] == "identity_untrusted"
    assert crew.atm(*words, "--token", seen["reportToken"] + "x", code=1).json["reason"] == "invalid_report_token"
    until(lambda: crew.label("ann") == "Needs sync", LONG)
    assert crew.atm(*words, "--token", seen["reportToken"]).json["ok"] is True
    assert crew.label("ann") == "Working"


# Without a daemon.


@proves(
    "R002-1-19",
    "R002-8.0-31",
    "R002-8.0-33",
    "R002-8.0-69",
    "R002-8.0-89",
    "R002-10.1-35",
    "R002-10.1-36",
    "R002-13-06",
    "R002-13-13",
    "R002-13-20",
    "R002-17.1-13",
    "R002-17.1-15",
    "R002-20.5-07",
    "R002-25-08",
    "R002-26-12",
    "R002-26-24",
    "R002-27.2-01",
    "R002-27.2-37",
    "R002-27.2-50",
    "R002-29-06",
)
@pytest.mark.parametrize("over", ["the command", "mcp"])
def test_a_report_without_a_daemon_waits_and_counts_once_it_is_validated(alone: Crew, over: str) -> None:
    alone.assign("ann")
    if over == "mcp":
        ann = alone.mcp("ann")
        seen = block(ann)
        answers = [report(ann, "ann", seen) for _ in range(2)]
        assert ann.end() == 0  # served in its own process; it must not speak with the daemon's word later
    else:
        answers = [alone.report("ann", "still_working") for _ in range(2)]
    assert [answer["pendingValidation"] for answer in answers] == [True, True]
    assert "leaseExpiresAt" not in answers[0]
    assert [one["status"] for one in alone.intents()] == ["pending"], "the same one twice is one"
    assert not alone.has_lease("ann"), "it is no lease before somebody has looked at it"

    alone.house.start_daemon()
    until(lambda: alone.has_lease("ann"), LONG, lambda: alone.trouble("ann"))
    until(lambda: [one["status"] for one in alone.intents()] == ["accepted"], LONG)
    assert "reportToken" not in str(alone.intents())
    accepted = alone.stored("ann")["latestAcceptedReport"]
    alone.house.stop_daemon()
    alone.house.start_daemon()
    alone.looked_again("ann", 1)
    assert alone.stored("ann")["latestAcceptedReport"] == accepted, "replayed once"
    assert alone.nudges("ann") == []


@proves(
    "R002-8.0-35",
    "R002-8.0-74",
    "R002-8.0-94",
    "R002-10.1-79",
    "R002-17.1-17",
    "R002-17.1-25",
    "R002-17.1-26",
    "R002-26-30",
)
def test_a_waiting_report_about_an_agenda_that_changed_meanwhile_is_rejected(alone: Crew) -> None:
    alone.assign("ann")
    alone.report("ann", "still_working")
    alone.assign("ann", "Write its tests")
    alone.house.start_daemon()
    until(lambda: [one["status"] for one in alone.intents()] == ["rejected"], LONG, lambda: alone.trouble("ann"))
    assert alone.intents()[0]["validationReason"] == "stale_fingerprint"
    alone.until_nudged("ann")
    assert alone.label("ann") == "Needs sync"


@proves("R002-8.0-91")
def test_who_is_refused_leaves_no_waiting_report(alone: Crew) -> None:
    alone.assign("ann")
    seen = alone.run("ann", "sync", "agenda")
    words = ["sync", "report", "still_working", "--as", "ann", "--team", alone.team, "--json"]
    words += ["--fingerprint", seen["agendaFingerprint"]]
    assert alone.atm(*words, code=1).json["reason"] == "identity_untrusted"
    assert alone.atm(*words, code=1, env={"ATM_IDENTITY": "bob"}).json["reason"] == "identity_mismatch"
    assert alone.intents() == []


@proves("R002-17.1-28")
def test_a_member_that_left_before_its_report_was_judged_gets_no_lease(alone: Crew) -> None:
    alone.assign("ann")
    alone.report("ann", "still_working")
    alone.run("lena", "teams", "remove-member", alone.team, "ann", "--force")
    alone.house.start_daemon()
    until(lambda: [one["status"] for one in alone.intents()] == ["superseded"], LONG, lambda: alone.trouble("ann"))
    assert "latestAcceptedReport" not in alone.stored("ann")
