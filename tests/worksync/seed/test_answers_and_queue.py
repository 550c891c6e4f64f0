"""Sections 10 to 14 of seed 002, where no other test says it: answers to reports, MCP, the queue, and words."""

from __future__ import annotations

import ast
import json
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.delivery.conftest import until
from tests.mcp.crew import Crew as Callers
from tests.proving import proves
from tests.worksync.conftest import LONG, Crew, alone  # noqa: F401 - a fixture
from tests.worksync.services.conftest import LEAD, Place

from atm.board.rules.dependencies import Board
from atm.board.rules.reviews import Reviewer
from atm.board.rules.tasks import Card
from atm.board.services import reviews
from atm.board.services import working as board
from atm.config import known
from atm.core.errors import UsageError
from atm.files.ports.records import INTENTS, STATUS
from atm.roster.services.members import remove_member
from atm.teamd.parts import worksync as sync_work
from atm.teamd.parts.worksync import CONCURRENCY, SyncWork
from atm.ui.mcp import prompts
from atm.ui.mcp.catalog import find_tool
from atm.ui.mcp.schema import check
from atm.worksync.formats.status import encode_status
from atm.worksync.rules.agenda import build_agendas
from atm.worksync.rules.reports import IDENTITY_FAILURES, REASONS, ReportVerdict
from atm.worksync.rules.statuses import HISTORY_SECONDS
from atm.worksync.rules.triggers import STRENGTH
from atm.worksync.services.queue import SyncQueue
from atm.worksync.services.reading import block_in_words, briefing_block
from atm.worksync.services.reports import ReportAnswer, submit
from atm.worksync.services.rounds import forget_members, run_round
from atm.worksync.services.syncroom import read_agendas

SOURCE = Path(__file__).parents[3] / "src" / "atm"


@pytest.fixture
def place() -> Place:
    """ann holds #1 and has not been heard of."""
    made = Place()
    made.add("the parser")
    return made


@pytest.fixture
def callers(layout) -> Callers:
    """Members of a team of real files, as the daemon's own server knows them."""
    return Callers(layout)


# What a reporter is told.


@proves(
    "R002-10.1-10",
    "R002-10.1-11",
    "R002-10.1-14",
    "R002-10.1-18",
    "R002-10.1-46",
    "R002-10.1-47",
    "R002-10.1-48",
    "R002-10.1-68",
    "R002-10.1-69",
    "R002-10.1-70",
    "R002-10.1-78",
    "R002-10.1-94",
    "R002-13.3-22",
    "R002-13.3-23",
    "R002-13.3-24",
    "R002-13.3-25",
    "R002-13.3-26",
)
@pytest.mark.parametrize(
    ("who", "said", "reason", "told"),
    [
        ("ann", {"agendaFingerprint": "agenda:v1:0"}, "stale_fingerprint", "only after you understand it"),
        ("ann", {"state": "caught_up"}, "caught_up_rejected_actionable_items_exist", "still_working or blocked"),
        ("bob", {"state": "still_working"}, "still_working_rejected_empty_agenda", "report caught_up"),
        ("ann", {"taskIds": ["99"]}, "task_not_in_current_agenda", "current agenda"),
        ("ann", {"state": "blocked"}, "blocked_rejected_without_evidence", "on the board first"),
    ],
)
def test_a_rejection_about_the_agenda_brings_the_current_one_and_what_to_do(place, who, said, reason, told):
    words = {**place.words(who), **said}
    answer: Any = submit(place.syncroom, "crew", words, place.knows(who)).fields()
    assert (answer["ok"], answer["reason"]) == (False, reason)
    assert answer["currentAgendaFingerprint"] == place.fingerprint(who)
    shown = [(item["taskRef"], item["kind"], item["reason"]) for item in answer["currentAgendaPreview"]]
    reason_of_item = "Owned task is pending and needs to be started, clarified, or declined."
    assert shown == ([("#1", "work", reason_of_item)] if who == "ann" else [])
    assert told in answer["instruction"]


@proves("R002-10.1-46", "R002-13.2-31", "R002-13.2-32")
def test_every_reason_comes_with_a_word_that_helps_and_blames_nobody():
    for reason in REASONS:
        said: Any = ReportAnswer(ReportVerdict(reason)).fields()["instruction"]
        assert len(said.split()) >= 3, reason
        assert not any(word in said.lower() for word in ("fail", "wrong", "violat", "forbid", "illegal")), reason
        if reason in IDENTITY_FAILURES:
            assert "only as your configured teammate identity" in said
            assert "Read task_briefing again if you are unsure" in said


@proves("R002-13.3-20", "R002-13.3-21")
def test_a_report_that_waits_is_told_to_go_on_and_that_nothing_is_confirmed(place):
    answer: Any = place.intend().fields()
    assert (answer["ok"], answer["pendingValidation"]) == (True, True)
    assert (answer["state"], answer["agendaFingerprint"]) == ("still_working", place.fingerprint())
    assert "Continue concrete task work" in answer["instruction"]
    assert "do not treat this as a confirmed lease yet" in answer["instruction"]


@proves("R002-10.3-05")
def test_caught_up_is_not_believed_once_new_work_appears(place):
    assert place.report("bob", "caught_up").ok
    assert place.state("bob") == "caught_up"
    place.add("the printer", owner="bob")
    assert place.state("bob") == "needs_sync"


@proves("R002-12.2-04")
def test_a_report_of_a_stopped_team_or_a_stranger_does_not_even_read_the_board(place, monkeypatch):
    words = place.words("ann")

    def refuse(_team):
        raise AssertionError("nobody may look at it")

    monkeypatch.setattr(place.boardroom.tasks, "board", refuse)
    stranger = {**words, "from": "mallory"}
    assert submit(place.syncroom, "crew", stranger, place.knows("ann")).verdict.reason == "member_inactive"
    place.stop()
    assert submit(place.syncroom, "crew", words, place.knows("ann")).verdict.reason == "team_inactive"


@proves("R002-12.2-55", "R002-13.3-10", "R002-13.3-17")
@pytest.mark.parametrize("state", ["still_working", "caught_up"])
def test_a_report_that_is_accepted_or_rejected_is_one_change_of_the_status(place, state):
    place.report("ann", state)
    assert place.syncroom.records.writes == 1
    assert place.status().fingerprint == place.fingerprint()
    assert bool(place.status().accepted) != bool(place.status().rejected)


@proves("R002-10.1-20")
@pytest.mark.parametrize("state", ["blocked", "still_working"])
def test_a_comment_that_is_named_must_stand_on_the_agenda_whatever_is_reported(place, state):
    _, mine = board.comment(place.boardroom, "crew", "ann", "1", "no key")
    assert place.report("ann", state, blockerCommentId=mine).ok
    assert not place.report("ann", state, blockerCommentId="of nobody").ok


# Looking.


@proves("R002-11.1-05", "R002-11.1-06", "R002-11.1-07", "R002-11.1-08", "R002-11.1-09")
def test_an_agenda_needs_the_board_and_nothing_else(place):
    """No mail, no heartbeats, no transcripts, no files of its own: whatever it asked for would not be there."""

    class Nothing:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"an agenda asks for {name}")

    class Reading:
        def __init__(self, tasks: Any) -> None:
            self.exists, self.board, self.read = tasks.exists, tasks.board, tasks.read

    board.claim(place.boardroom, "crew", "ann", "1")
    reviews.request_review(place.boardroom, "crew", "ann", "1", "bob")
    place.add("the printer")
    team, before = place.team, place.everything()
    nothing: Any = Nothing()
    boardroom: Any = SimpleNamespace(tasks=Reading(place.boardroom.tasks), room=nothing)
    syncroom = replace(place.syncroom, boardroom=boardroom, records=nothing, journal=nothing, secrets=nothing)
    found = read_agendas(syncroom, team, ["ann", "bob"])
    assert [(item.task_id, item.kind) for item in found["ann"].items] == [("2", "work")]
    assert [(item.task_id, item.kind) for item in found["bob"].items] == [("1", "review")]
    assert place.changed(before) == []


OPEN = Card(2, status="in_progress", owner="bob")
OWN: dict[str, Any] = {"number": 1, "owner": "ann", "status": "in_progress", "subject": "the parser"}
KNOWN = {"status": "in_progress", "owner": "ann"}
WAITS = {**KNOWN, "reviewState": "changes_requested"}


@proves(
    "R002-11.1-21",
    "R002-11.1-22",
    "R002-11.1-27",
    "R002-11.1-28",
    "R002-11.1-29",
    "R002-11.1-30",
    "R002-11.1-32",
    "R002-11.1-40",
)
@pytest.mark.parametrize(
    ("facts", "reason", "evidence"),
    [
        (
            {"status": "pending"},
            "Owned task is pending and needs to be started, clarified, or declined.",
            {**KNOWN, "status": "pending"},
        ),
        ({}, "Owned task is in progress.", KNOWN),
        ({"review": "changes_requested"}, "Changes were requested in review.", WAITS),
        ({"blocked_by": ["2"]}, "Owned task is blocked by dependencies.", {**KNOWN, "blockedByTaskIds": ["2"]}),
        (
            {"needs": "lead", "review": "changes_requested"},
            "Task needs clarification from lead.",
            {**WAITS, "needsClarification": "lead"},
        ),
        ({"needs": "user"}, "Task needs clarification from user.", {**KNOWN, "needsClarification": "user"}),
    ],
)
def test_an_item_says_why_it_is_there_and_shows_what_the_board_says(facts, reason, evidence):
    cards = {1: Card(**{**OWN, **facts}), 2: OPEN}
    (item,) = build_agendas(Board(cards, {}), "crew", ["ann"], LEAD, {})["ann"].items
    assert item.reason == reason
    assert item.evidence == evidence
    assert (item.task_id, item.ref, item.subject) == ("1", "#1", "the parser")


@proves("R002-11.1-35", "R002-11.1-36", "R002-11.1-37", "R002-11.1-38", "R002-11.1-39")
def test_an_item_to_review_says_so_and_shows_what_the_board_says():
    cards = {1: Card(**{**OWN, "review": "review", "reviewer": "bob"})}
    found = build_agendas(Board(cards, {}), "crew", ["ann", "bob"], LEAD, {"1": Reviewer("bob", opened_by="e1")})
    (item,) = found["bob"].items
    assert (item.kind, item.assignee, item.priority) == ("review", "bob", "review_requested")
    assert item.reason == "Task is waiting for this member review."
    assert item.evidence == {**KNOWN, "reviewState": "review", "reviewer": "bob", "historyEventIds": ["e1"]}
    assert not found["ann"].items


@proves("R002-12.1-15", "R002-12.1-18", "R002-12.1-19", "R002-12.1-20")
def test_a_look_gives_back_what_it_wrote_under_the_name_of_the_roster(place):
    (look,) = place.look("ANN", trigger="review_changed")
    assert encode_status(look.status) == encode_status(place.status("ann"))
    assert (look.status.trigger, look.status.updated) == ("review_changed", pytest.approx(place.now, abs=0.01))


@proves("R002-11.2.1-40", "R002-12.1-13")
def test_who_was_removed_is_dropped_before_the_board_is_read(place, monkeypatch):
    place.remove("ann")

    def refuse(_team):
        raise AssertionError("its board is nobody's business any more")

    monkeypatch.setattr(place.boardroom.tasks, "board", refuse)
    assert place.look("ann") == []


@proves("R002-11.2.1-37", "R002-11.2.1-38")
def test_why_somebody_looks_changes_nothing_of_what_is_found():
    found = set()
    for trigger in (*STRENGTH, "of a later version"):
        place = Place()
        place.add("the parser")
        (look,) = place.look(trigger=trigger)
        found.add((look.decision, look.seen.fingerprint, look.would_nudge))
    assert len(found) == 1


# The queue.


@proves("R002-11.2.1-36")
def test_triggers_are_as_strong_as_the_seed_says():
    order = ("config_changed", "task_state_changed", "review_changed", "inbox_delivered", "tool_finished")
    places = [STRENGTH.index(trigger) for trigger in (*order, "runtime_heartbeat")]
    assert places == sorted(places)


@proves("R002-11.2.1-22")
def test_an_event_with_a_shorter_wait_brings_nobody_forward():
    queue = SyncQueue(90.0)
    queue.enqueue("crew", ["ann"], "task_state_changed", 0.0)
    queue.enqueue("crew", ["ann"], "inbox_delivered", 1.0, after=10.0)
    assert queue.next_due() == 90.0
    queue.enqueue("crew", ["ann"], "inbox_delivered", 2.0, after=100.0)
    assert queue.next_due() == 102.0


@proves("R002-11.2.1-13", "R002-11.2.1-14", "R002-11.2.1-15")
def test_the_queue_counts_who_waits_who_is_looked_at_and_who_was_dropped(place):
    work = working(place)
    work.queue.enqueue("crew", ["ann", "bob"], "task_state_changed", 0.0)
    work.queue.enqueue("crew", ["cleo"], "task_state_changed", 50.0)
    work.queue.take(90.0)
    assert work.counts() == {"queued": 1, "running": 2, "looked_at": 2, "coalesced": 0, "dropped": 0}
    work.queue.drop("crew")
    assert work.counts() == {"queued": 0, "running": 0, "looked_at": 2, "coalesced": 0, "dropped": 3}


def working(place: Place) -> SyncWork:
    return SyncWork(lambda: place.syncroom, lambda *_, **__: None, lambda *_: None, lambda: 0.0)


@proves("R002-11.2.1-30")
def test_a_start_is_remembered_as_the_reason_of_the_look(place):
    work = working(place)
    work.work()
    place.passes(90)
    assert work.work() == len(place.team.names)
    assert {place.status(name).trigger for name in place.team.names} == {"startup_scan"}


@proves("R002-11.2.1-09")
def test_two_teams_are_looked_at_at_a_time_and_not_one_more(monkeypatch):
    place = Place()
    for name in ("blue", "green", "red"):
        place.create(name)
    now, most, lock, pair = 0, 0, threading.Lock(), threading.Barrier(2, timeout=60)

    def noted(*given: Any) -> Any:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        pair.wait()  # nobody ends before there are two
        found = run_round(*given)
        with lock:
            now -= 1
        return found

    monkeypatch.setattr(sync_work, "run_round", noted)
    work = working(place)
    work.work()
    place.passes(90)
    assert work.work() == 4 * len(place.team.names)
    assert most == CONCURRENCY == 2


@proves("R002-11.2.1-35")
def test_of_somebody_who_left_a_bounded_status_is_kept_for_a_week(place):
    place.look("ann", "bob")
    place.remove("ann")
    place.passes(HISTORY_SECONDS - 10)
    assert forget_members(place.syncroom, place.team) == 0
    assert len(place.syncroom.records.texts["crew", STATUS]["ann"]) < 10_000
    place.passes(20)
    assert forget_members(place.syncroom, place.team) == 1
    assert list(place.syncroom.records.read("crew", STATUS)) == ["bob"]


@proves("R002-11.2.1-25", "R002-11.2.1-26", "R002-11.2.1-44")
def test_a_daemon_ends_at_once_although_members_wait_and_nothing_happens_after_it(alone: Crew) -> None:  # noqa: F811
    alone.settle_for(quiet=3600.0)
    alone.assign("ann")
    alone.house.start_daemon()
    until(lambda: not alone.is_quiet(), LONG, lambda: alone.trouble("ann"))  # it waits in the queue
    alone.house.stop_daemon()
    assert (alone.stored("ann"), alone.outbox(), alone.nudges("ann")) == ({}, [], [])


# The surface of MCP.

WORKSYNC_NAMES = {
    "atm.worksync.rules.identity": {"NOBODY", "PROCESS_TEAM", "RUNTIME_SESSION", "Trusted"},
    "atm.worksync.rules.reports": {"CAPABILITY_UNAVAILABLE", "MEMBER_INACTIVE", "ReportVerdict"},
    "atm.worksync.services.syncroom": {"SyncRoom"},
    "atm.worksync.services.reading": {"View", "block_in_words", "block_of", "check_may_see", "view"},
    "atm.worksync.services.reports": {"ReportAnswer", "judge_or_note"},
}
"""All that MCP may know of work-sync: who is connected, and whom to ask. No agenda, fingerprint, lease or rule."""


@proves(
    "R002-10.1-29",
    "R002-10.1-30",
    "R002-10.1-31",
    "R002-10.1-32",
    "R002-10.1-33",
    "R002-10.1-34",
    "R002-10.1-75",
    "R002-13-03",
    "R002-13-04",
    "R002-13-07",
    "R002-13.1-15",
    "R002-13.3-05",
    "R002-13.3-06",
    "R002-13.3-07",
    "R002-13.3-08",
    "R002-13.3-09",
    "R002-13.3-10",
    "R002-13.3-16",
    "R002-13.3-17",
)
def test_the_mcp_surface_knows_no_rule_of_work_sync():
    for path in sorted((SOURCE / "ui" / "mcp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any("worksync" in alias.name for alias in node.names), path.name
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module not in (
                    "atm.worksync.formats.agenda_fingerprint",
                    "atm.worksync.formats.report_token",
                ), path.name
                if node.module.startswith(("atm.worksync.rules", "atm.worksync.services")):
                    known = WORKSYNC_NAMES.get(node.module, set())
                    assert {alias.name for alias in node.names} <= known, f"{path.name}: {node.module}"


@proves(
    "R002-13.1-01",
    "R002-13.1-02",
    "R002-13.1-03",
    "R002-13.1-04",
    "R002-13.1-06",
    "R002-13.1-08",
    "R002-13.1-09",
    "R002-13.1-10",
    "R002-13.1-11",
    "R002-13.1-13",
    "R002-13.1-18",
    "R002-13.1-19",
    "R002-13.1-22",
    "R002-13.1-23",
    "R002-13.1-28",
)
def test_a_briefing_has_the_block_of_the_seed(callers):
    callers.add("Write the parser", owner="ann", description="the whole secret story")
    callers.call("lena", "board_comment", id="1", text="a secret remark")
    callers.room.inboxes.claim("crew", "ann", lambda rows: rows)  # it has read that, and is not busy with it
    found = callers.call("ann", "task_briefing")
    block = found["workSync"]
    assert set(block) == {
        *("feature", "state", "agendaFingerprint", "actionableCount", "items"),
        *("reportToken", "reportTool", "instruction"),
    }
    assert (block["feature"], block["state"], block["actionableCount"]) == ("member-work-sync", "needs_sync", 1)
    assert block["agendaFingerprint"].startswith("agenda:v1:")
    assert block["reportToken"].startswith("wrs:v1")
    assert block["reportTool"] == "member_work_sync_report"
    assert find_tool("teammate", block["reportTool"]) is not None
    (item,) = block["items"]
    assert set(item) == {"taskRef", "kind", "reason", "subject"}
    assert (item["taskRef"], item["kind"]) == ("#1", "work")
    assert "secret" not in str(found)
    rest = {"notice", "member", "team", "lead", "unread", "work", "more_work", "claimable"}
    who = {"role", "source", "version", "daemon"}
    assert set(found) == {*rest, *who, "workSync"}


@proves("R002-13.1-31")
def test_work_sync_is_about_the_same_queue_as_the_briefing(callers):
    for number in range(3):
        callers.add(f"Part {number}", owner="ann")
    found = callers.call("ann", "task_briefing")
    assert [line.split()[0] for line in found["work"]] == [item["taskRef"] for item in found["workSync"]["items"]]


@proves("R002-13.1-24", "R002-13.1-25")
def test_who_is_caught_up_gets_one_short_line(callers):
    block = callers.call("ann", "task_briefing")["workSync"]
    assert (block["state"], block["actionableCount"]) == ("caught_up", 0)
    assert set(block) == {"feature", "state", "agendaFingerprint", "actionableCount"}
    assert len(json.dumps(block)) < 200, "tiny: no token, no tool, no instruction"
    assert block_in_words(block) == "Work sync: state=caught_up."
    assert "reportToken" in callers.call("ann", "member_work_sync_status"), "whoever asks for it gets it"


@proves(
    "R002-13.1-20", "R002-13.1-29", "R002-13.1-30", "R002-14-03", "R002-14-04", "R002-14-05", "R002-14-06", "R002-14-07"
)
def test_the_block_in_words_says_how_to_report_and_that_it_will_not_hold(place):
    block = briefing_block(place.syncroom, place.team, "ann", can_report=True)
    head, told = block_in_words(block).split("\n")
    assert head == f"Work sync: agendaFingerprint={place.fingerprint()} state=needs_sync actionable=1."
    assert "When you have reviewed this agenda, call member_work_sync_report" in told
    assert "with this agendaFingerprint and reportToken" in told
    for rule in (
        "still_working while you go on",
        "blocked only if the board shows the blocker",
        "caught_up only if nothing is left",
        "does not replace task tools, comments or messages",
        "The fingerprint changes when your work does.",
    ):
        assert rule in told


@proves("R002-13.2-12")
def test_a_later_token_is_another_one_and_the_fingerprint_the_same(place):
    first = briefing_block(place.syncroom, place.team, "ann", can_report=True)
    place.passes(60)
    again = briefing_block(place.syncroom, place.team, "ann", can_report=True)
    assert first["reportToken"] != again["reportToken"]
    assert first["agendaFingerprint"] == again["agendaFingerprint"]


@proves("R002-13.1-17", "R002-13.1-21")
def test_the_agenda_of_another_is_for_the_lead_and_never_with_a_token(callers):
    callers.add("Write the secret parser", owner="ann")
    of_ann = callers.call("bob", "member_work_sync_status", member="ann")
    assert set(of_ann) == {"member", "state", "label", "actionableCount"}
    for boss in ("lena", "hugo"):
        seen = callers.call(boss, "member_work_sync_status", member="ann")
        assert [item["subject"] for item in seen["items"]] == ["Write the secret parser"]
        assert "reportToken" not in seen
    assert "reportToken" in callers.call("ann", "member_work_sync_status")


@proves("R002-13.1-12", "R002-13.1-13", "R002-13.1-15")
def test_a_status_read_by_the_tool_is_that_of_the_briefing(callers):
    callers.add("Write the parser", owner="ann")
    block, status = (callers.call("ann", tool) for tool in ("task_briefing", "member_work_sync_status"))
    for key in ("agendaFingerprint", "state", "actionableCount", "items"):
        assert block["workSync"][key] == status[key]


REPORT: Any = find_tool("teammate", "member_work_sync_report")


@proves(
    "R002-13-01",
    "R002-13.1-32",
    "R002-13.1-33",
    "R002-13.1-34",
    "R002-13.1-35",
    "R002-13.1-36",
    "R002-13.1-37",
    "R002-13.1-38",
    "R002-13.1-39",
)
def test_the_report_takes_what_the_seed_says():
    properties = REPORT.input["properties"]
    kinds = {key: about["type"] for key, about in properties.items()}
    texts = ("from", "agendaFingerprint", "reportToken", "state", "blockerCommentId", "note")
    assert kinds == {**dict.fromkeys(texts, "string"), "taskIds": "array"}
    assert properties["taskIds"]["items"] == {"type": "string"}
    assert properties["state"]["enum"] == ["still_working", "blocked", "caught_up"]
    needed = ["from", "agendaFingerprint", "state"]  # the connection proves who reports: the token may be left out
    assert REPORT.input["required"] == needed
    assert properties["from"]["description"] == "Your configured teammate name."
    assert "workSync briefing" in properties["reportToken"]["description"]


SAID: dict[str, Any] = {"from": "ann", "agendaFingerprint": "F", "reportToken": "T", "state": "still_working"}


@proves(
    "R002-10.1-27",
    "R002-13.1-32",
    "R002-13.1-33",
    "R002-13.1-34",
    "R002-13.1-35",
    "R002-13.1-36",
    "R002-13.1-37",
    "R002-13.1-38",
    "R002-13.1-39",
    "R002-13.1-47",
    "R002-13.3-01",
)
@pytest.mark.parametrize(
    "wrong",
    [
        *({key: None} for key in ("from", "agendaFingerprint", "state")),
        *({"state": "dancing"}, {"taskIds": "1"}, {"taskIds": [True]}, {"taskIds": [None]}, {"note": ["x"]}),
        *({"reportToken": ["T"]}, {"reportToken": True}, {"note": 1.5}, {"member": "bob"}),
    ],
)
def test_what_does_not_fit_the_schema_of_a_report_is_refused(wrong):
    assert check(REPORT.input, SAID) == SAID
    with pytest.raises(UsageError):
        check(REPORT.input, {**SAID, **wrong})


@proves("R002-10.1-28", "R002-13.1-47", "R002-13.3-02")
@pytest.mark.parametrize(
    "large",
    [
        {"note": "x" * 1001},
        {"taskIds": [str(n) for n in range(1, 22)]},
        {"reportToken": "x" * 2049},
        {"from": "x" * 129},
    ],
)
@pytest.mark.parametrize("has_daemon", [True, False])
def test_a_report_that_is_too_large_is_refused_before_anything_is_written(callers, large, has_daemon):
    callers.caller("ann").has_daemon = has_daemon
    before = files(callers)
    answer = callers.call("ann", "member_work_sync_report", **{**SAID, **large})
    assert (answer["ok"], answer["reason"]) == (False, "invalid_payload")
    assert files(callers) == before


def files(callers: Callers) -> dict[str, bytes]:
    root = Path(callers.layout.team("crew"))
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@proves(
    "R002-10.1-07",
    "R002-10.1-26",
    "R002-10.1-41",
    "R002-13.1-40",
    "R002-13.1-41",
    "R002-13.1-42",
    "R002-13.1-43",
    "R002-13.1-45",
    "R002-13.1-46",
    "R002-13.2-28",
    "R002-13.2-31",
    "R002-13.2-32",
    "R002-13.2-33",
    "R002-13.3-04",
    "R002-13.3-18",
)
@pytest.mark.parametrize("has_daemon", [True, False])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *(("user", "reserved_author"), ("system", "reserved_author"), ("codex", "unsafe_provider_alias")),
        *(("mallory", "member_inactive"), ("bob", "identity_mismatch"), ("lead", "identity_mismatch")),
    ],
)
def test_nobody_reports_over_mcp_under_another_name(callers, name, reason, has_daemon):
    callers.add("Write the secret parser", owner="ann")
    block = callers.call("ann", "member_work_sync_status")
    callers.caller("ann").has_daemon = has_daemon
    said = {key: block[key] for key in ("agendaFingerprint", "reportToken")}
    answer = callers.call("ann", "member_work_sync_report", **{**said, "from": name, "state": "still_working"})
    assert (answer["ok"], answer["reason"]) == (False, reason)
    assert set(answer) == {"ok", "reason", "instruction"}
    for shelf in (STATUS, INTENTS):
        assert not Path(callers.layout.records("crew", shelf)).exists()


@proves("R002-10.1-04", "R002-10.1-39", "R002-13.1-44", "R002-13.2-21")
@pytest.mark.parametrize("has_daemon", [True, False])
def test_who_was_removed_cannot_report_over_mcp(callers, has_daemon):
    block = callers.call("ann", "member_work_sync_status")
    callers.caller("ann").has_daemon = has_daemon
    remove_member(callers.room, "crew", "ann", force=True)
    said = {key: block[key] for key in ("agendaFingerprint", "reportToken")}
    answer = callers.call("ann", "member_work_sync_report", **{**said, "from": "ann", "state": "caught_up"})
    assert (answer["ok"], answer["reason"]) == (False, "member_inactive")
    assert not Path(callers.layout.records("crew", INTENTS)).exists()


@proves(
    "R002-10.1-35",
    "R002-10.1-36",
    "R002-10.1-73",
    "R002-11.3-12",
    "R002-13-02",
    "R002-13-05",
    "R002-13-06",
    "R002-13-13",
    "R002-13-20",
    "R002-13-21",
    "R002-13.1-48",
    "R002-13.1-50",
    "R002-13.1-51",
)
def test_with_a_daemon_a_report_over_mcp_is_judged_and_without_one_only_noted(callers):
    callers.add("Write the parser", owner="ann")

    def report() -> Any:
        block = callers.call("ann", "task_briefing")["workSync"]
        said = {key: block[key] for key in ("agendaFingerprint", "reportToken")}
        return callers.call("ann", "member_work_sync_report", **{**said, "from": "ann", "state": "still_working"})

    callers.caller("ann").has_daemon = False
    noted = report()
    assert (noted["ok"], noted["pendingValidation"], "leaseExpiresAt" in noted) == (True, True, False)
    assert not Path(callers.layout.records("crew", STATUS)).exists()
    callers.caller("ann").has_daemon = True
    judged = report()
    assert (judged["ok"], "pendingValidation" in judged, "leaseExpiresAt" in judged) == (True, False, True)


# Words for agents.


@proves("R002-13-08", "R002-13-12", "R002-14-01", "R002-14-02", "R002-14-03")
def test_prompts_speak_of_reports_in_one_line_and_only_to_those_who_can_make_them(callers, monkeypatch):
    for who, name in (("ann", "worker"), ("lena", "lead")):
        said = prompts.render(callers.caller(who), name, {})
        (line,) = [line for line in said.splitlines() if "member_work_sync_report" in line]
        assert "when you have reviewed it" in line
        assert len(line) < 160
    monkeypatch.setattr(prompts, "find_tool", lambda *_: None)
    for who, name in (("ann", "worker"), ("lena", "lead")):
        assert "sync" not in prompts.render(callers.caller(who), name, {})


@proves("R002-14-07", "R002-14-08")
def test_nobody_is_told_to_report_after_every_response(callers, place):
    told = [prompts.render(callers.caller("ann"), "worker", {}), prompts.render(callers.caller("lena"), "lead", {})]
    told.append(str(briefing_block(place.syncroom, place.team, "ann", can_report=True)["instruction"]))
    assert not any("every" in line and "report" in line for text in told for line in text.splitlines())
    assert "do not call it after every response" in REPORT.description
    assert "replaces neither task tools nor messages" in REPORT.description


@proves("R002-13-14", "R002-13-17")
def test_no_setting_turns_work_sync_on_or_off_or_makes_its_tools_needed():
    found = {key for key in known.KNOWN if "sync" in key or "report" in key}
    assert found == {"worksync.quiet_seconds", "worksync.observe_minutes", "worksync.least_looks"}
