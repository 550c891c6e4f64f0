"""Seed 002, sections 1 to 8.2, what no other test proves: before nudges, agendas, how the parts lie apart, locks."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves
from tests.teamd.test_sync_work import QUIET, Stage
from tests.worksync.services.conftest import LEAD, Place

from atm.board.formats.task import decode_task
from atm.board.rules.dependencies import Board
from atm.board.rules.reviews import Reviewer, current_reviewer
from atm.board.rules.stalls import whose_turn
from atm.board.rules.tasks import Card
from atm.board.services import working as board
from atm.config import known
from atm.core.errors import FileBusy, UnreadableFile
from atm.events import rules as events
from atm.files.formats.json_record import encode, to_bytes
from atm.files.ports.records import STATUS
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.team.rules.liveness import IDLE
from atm.teamd.parts import worksync as sync_work
from atm.ui.mcp.catalog import all_tools
from atm.worksync.rules.agenda import build_agendas
from atm.worksync.rules.nudges import DELIVERED, RETRYABLE
from atm.worksync.services.reading import briefing_block, diagnose, metrics, view
from atm.worksync.services.reports import replay, submit
from atm.worksync.services.rounds import SyncRound
from atm.worksync.services.syncroom import SyncPolicy, issue, read_agendas

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "atm"


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def busy_place() -> Place:
    """The same; ann holds #1 and has not been heard of."""
    made = Place()
    made.add("the parser")
    return made


# Before anything may be sent.


@proves(
    "R002-1-08",
    "R002-1-09",
    "R002-1-10",
    "R002-1-11",
    "R002-1-13",
    "R002-1-14",
    "R002-1-15",
    "R002-1-16",
    "R002-1-17",
    "R002-1-20",
    "R002-1-21",
    "R002-1-23",
    "R002-1-24",
    "R002-1-25",
    "R002-1-26",
    "R002-5-01",
    "R002-8.0-68",
)
def test_before_nudges_may_be_sent_everything_else_works_and_nobody_is_written_to():
    place = Place(SyncPolicy())
    place.add("the parser")
    place.look("ann", "bob")
    before = place.everything()
    place.intend(note="while nobody was there")
    assert replay(place.syncroom, "crew") == 1
    block: Any = briefing_block(place.syncroom, place.team, "ann", can_report=True)
    assert block["reportToken"] == issue(place.syncroom, place.team, "ann", block["agendaFingerprint"])
    assert place.report().ok
    assert not place.report("ann", "caught_up").ok
    (round_of_ann,) = place.round("ann").looks
    assert round_of_ann.seen.fingerprint == block["agendaFingerprint"]
    assert {one.type: one.status for one in place.status().conditions}["ValidLease"] == "true"
    assert view(place.syncroom, place.team, "ann").label == "Working"
    assert diagnose(place.syncroom, place.team, "ann")["readiness"] == "collecting_shadow_data"
    found: Any = metrics(place.syncroom, place.team)
    assert {one["member"]: one["metrics"]["acceptedReportCount"] for one in found["members"]}["ann"] == 2
    place.passes(700)
    assert [one.outcome for one in place.round("ann").planned] == ["phase2_not_ready"]
    assert place.items() == []
    assert set(place.changed(before)) == {"records", "journal", "secrets"}


@proves("R002-1-42", "R002-8.0-77", "R002-8.0-78", "R002-8.0-79")
def test_work_sync_sends_by_default_and_has_times_and_counts_but_no_switch():
    settings = {key.partition(".")[2]: kind for key, (kind, *_) in known.KNOWN.items() if key.startswith("worksync.")}
    assert settings == {
        "quiet_seconds": known.NUMBER,
        "observe_minutes": known.NUMBER,
        "least_looks": known.WHOLE,
    }
    stage = Stage(SyncPolicy())  # as a home without any settings has it
    stage.add("the parser")
    stage.live(5 * 3600)
    assert len(stage.nudges()) >= 1


@proves("R002-1-02", "R002-1-81", "R002-2-04")
def test_idleness_alone_brings_nobody_a_nudge():
    stage = Stage()
    since = stage.now
    stage.live(86400, lambda: stage.beats("ann", IDLE, since=since))
    assert stage.looked_at("ann") > 10
    assert (stage.nudges(), stage.items()) == ([], [])


@proves("R002-2-03")
def test_work_sync_notices_what_the_stall_watch_does_not_yet_speak_of():
    stage = Stage()
    stage.add("the parser")
    board.claim(stage.boardroom, "crew", "ann", "1")
    stage.quiet()
    assert stage.work.watch_stalls() == 0
    stage.live(sync_work.STALL_GRACE + QUIET)
    assert stage.status().state == "needs_sync"
    assert len(stage.nudges()) == 1
    assert stage.work.watch_stalls() == 0, "its half hour is not over"


# What an agenda is made of.


@proves("R002-1-03", "R002-2-01", "R002-2-02", "R002-2-10", "R002-5-06", "R002-8.0-113")
@pytest.mark.parametrize("words", ["done", "standing by", "I will work on it", "continuing"])
def test_whatever_a_member_says_its_open_work_stays_open(busy_place, words):
    board.claim(busy_place.boardroom, "crew", "ann", "1")
    before = busy_place.fingerprint()
    board.comment(busy_place.boardroom, "crew", "ann", "1", words)
    send(busy_place.room, "crew", LEAD, Draft(sender="ann", text=words))
    assert not busy_place.report("ann", "caught_up", note=words).ok
    busy_place.quiet()
    assert (busy_place.fingerprint(), busy_place.state()) == (before, "needs_sync")
    assert [item.task_id for item in busy_place.seen().agenda.items] == ["1"]


class BoardAlone:
    """A boardroom with tasks in it. Whoever asks it for mail, heartbeats, panes or anything else, fails."""

    def __init__(self, tasks: Any) -> None:
        self.tasks = tasks

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an agenda does not depend on {name}")


@proves(
    "R002-1-03",
    "R002-2-07",
    "R002-2-08",
    "R002-3.4-08",
    "R002-3.4-10",
    "R002-3.4-11",
    "R002-3.4-12",
    "R002-3.4-13",
    "R002-3.4-14",
    "R002-4.1-11",
    "R002-4.1-12",
    "R002-5-07",
    "R002-8.0-01",
    "R002-8.0-110",
    "R002-8.0-113",
)
def test_an_agenda_is_made_of_the_board_and_the_roster_and_of_nothing_else(busy_place):
    blind: Any = BoardAlone(busy_place.boardroom.tasks)
    nothing: Any = None
    syncroom = replace(busy_place.syncroom, boardroom=blind, records=nothing, journal=nothing, secrets=nothing)
    team = busy_place.team
    assert read_agendas(syncroom, team, team.names) == read_agendas(busy_place.syncroom, team, team.names)
    assert [item.task_id for item in read_agendas(syncroom, team, ["ann"])["ann"].items] == ["1"]


OPEN_TASK = Card(2, status="in_progress", owner="bob")


@proves(
    "R002-3.4-05",
    "R002-8.0-09",
    "R002-8.1-11",
    "R002-8.1-17",
    "R002-8.1-18",
    "R002-8.1-19",
    "R002-8.1-20",
    "R002-8.1-21",
    "R002-8.1-22",
    "R002-8.1-24",
    "R002-8.1-25",
)
@pytest.mark.parametrize(
    ("facts", "member", "evidence"),
    [
        ({"status": "pending", "owner": "Ann"}, "ann", {"status": "pending", "owner": "ann"}),
        ({"owner": "ann", "needs": "user"}, "ann", {"status": "pending", "owner": "ann", "needsClarification": "user"}),
        ({"owner": "ann", "needs": "lead"}, "ann", {"status": "pending", "owner": "ann", "needsClarification": "lead"}),
        (
            {"owner": "ann", "blocked_by": ["2"]},
            "ann",
            {"status": "pending", "owner": "ann", "blockedByTaskIds": ["2"]},
        ),
        ({"blocked_by": ["99"]}, "boss", {"status": "pending", "blockedByTaskIds": ["99"]}),
        (
            {"status": "in_progress", "owner": "ann", "review": "changes_requested"},
            "ann",
            {"status": "in_progress", "owner": "ann", "reviewState": "changes_requested"},
        ),
        (
            {"status": "in_progress", "owner": "ann", "review": "review"},
            "bob",
            {
                "status": "in_progress",
                "owner": "ann",
                "reviewState": "review",
                "reviewer": "bob",
                "historyEventIds": ["e1"],
            },
        ),
    ],
)
def test_the_evidence_of_an_item_is_what_the_board_says_and_nothing_more(facts, member, evidence):
    card = Card(1, **{"subject": "the parser", **facts})
    found = build_agendas(
        Board({1: card, 2: OPEN_TASK}), "crew", ("ann", "bob", "boss"), "boss", {"1": Reviewer("Bob", opened_by="e1")}
    )
    (item,) = [item for item in found[member].items if item.task_id == "1"]
    assert item.evidence == evidence
    assert (item.assignee, item.subject, item.ref) == (member, "the parser", "#1")


@proves(
    "R002-8.1-09",
    "R002-8.1-10",
    "R002-8.1-12",
    "R002-8.1-13",
    "R002-8.1-14",
    "R002-8.1-15",
    "R002-8.1-16",
    "R002-8.2-01",
    "R002-8.2-02",
    "R002-8.2-04",
)
def test_an_item_has_the_fields_of_the_seed_and_an_agenda_says_whose_it_is():
    found = build_agendas(Board({1: Card(1, owner="ann")}), "crew", ("ann",), "boss", {})["ann"]
    assert set(found.canonical()) == {"teamName", "memberName", "items"}
    assert (found.team, found.member, len(found.items)) == ("crew", "ann", 1)
    assert set(found.items[0].canonical()) == {
        *("taskId", "displayId", "kind", "assignee", "priority", "reason", "evidence"),
    }


def documented() -> list[tuple[str, str, str]]:
    """The table of `docs/worksync.md` under "The agenda": on the board, whose item, kind."""
    text = (ROOT / "docs" / "worksync.md").read_text(encoding="utf-8")
    section = text.partition("\n## The agenda\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return [(row[0], row[1], row[2].strip("`")) for row in rows[2:]]


MINE: dict[str, Any] = {"status": "in_progress", "owner": "ann"}
ON_THE_BOARD: list[tuple[str, dict[str, Any], str | None]] = [
    # how a row of the table begins, such a task, and who reviews
    ("its file cannot be read", {**MINE, "problem": "not JSON"}, None),
    ("a status that is neither", {"status": "someday", "owner": "ann"}, None),
    ("in review by somebody who is not", {**MINE, "review": "review"}, "zed"),
    ("in review, and it is clear", {**MINE, "review": "review"}, "bob"),
    ("in review, and it is not", {**MINE, "review": "review"}, None),
    ("owned by somebody who is not", {**MINE, "owner": "zed"}, None),
    ("owned, with an open question", {**MINE, "needs": "lead"}, None),
    ("owned, and something it depends on", {**MINE, "blocked_by": ["2"]}, None),
    ("owned, its plan submitted", {**MINE, "plan": "submitted"}, None),
    ("owned, changes were asked for", {**MINE, "review": "changes_requested"}, None),
    ("owned and pending", {"owner": "ann"}, None),
    ("owned and in progress", MINE, None),
    ("free", {}, None),
]


@proves("R002-8.0-02")
def test_every_rule_of_an_agenda_is_in_the_table_of_the_docs_and_the_table_is_true():
    rows = list(dict.fromkeys(documented()))
    assert [begins for begins, *_ in ON_THE_BOARD if not any(said.startswith(begins) for said, *_ in rows)] == [], (
        "the docs miss a rule"
    )
    assert len(rows) == len(ON_THE_BOARD), "the docs have a rule that nobody tests"
    for (said, whose, kind), (begins, facts, reviewer) in zip(rows, ON_THE_BOARD, strict=True):
        assert said.startswith(begins)
        assert item_of(facts, reviewer) == expected(whose, kind), said


def item_of(facts: dict[str, Any], reviewer: str | None) -> list[tuple[str, str]]:
    cards = Board({1: Card(1, **facts), 2: OPEN_TASK})
    found = build_agendas(cards, "crew", ("ann", "bob", "boss"), "boss", {"1": Reviewer(reviewer)}, ("zed",))
    return [(name, item.kind) for name, agenda in found.items() for item in agenda.items if item.task_id == "1"]


def expected(whose: str, kind: str) -> list[tuple[str, str]]:
    if whose.startswith("nobody's"):
        return []
    who = whose.partition(";")[0].partition(",")[0]
    return [({"the reviewer's": "bob", "the owner's": "ann", "the lead's": "boss"}[who], kind)]


EVENTS: list[list[dict[str, str]]] = [
    [],
    [{"type": "review_requested", "reviewer": "bob"}],
    [{"type": "review_requested", "reviewer": "bob"}, {"type": "review_started", "actor": "cleo"}],
    [{"type": "review_approved", "actor": "bob"}],
    [{"type": "review_requested", "reviewer": "bob"}, {"type": "review_changes_requested", "actor": "bob"}],
    [{"type": "review_started", "actor": "bob"}, {"type": "review_started", "actor": "cleo"}],
    [{"type": "review_requested", "reviewer": "ann"}],
]


@proves("R002-8.0-102")
@pytest.mark.parametrize("card", ["", "bob"])
@pytest.mark.parametrize("events", EVENTS)
def test_work_sync_and_the_stall_watch_ask_the_same_resolver_who_reviews(place, events, card):
    own = {"events": events, "review": {"state": "review", "reviewer": card}, "claim": {"id": "c1"}}
    record = {"id": "1", "subject": "x", "status": "in_progress", "owner": "ann", "metadata": {"atm": own}}
    place.boardroom.tasks.write_as_others_do("crew", 1, encode(record).encode())
    task = decode_task(to_bytes(encode(record)), 1)
    who = current_reviewer(task).name or ""
    assert whose_turn(task, is_blocked=False) == who
    found = read_agendas(place.syncroom, place.team, place.team.names)
    assert [name for name, agenda in found.items() if agenda.items] == ([who] if who else [])


# How the parts lie apart.


def imports_of(path: Path) -> set[str]:
    """Every module that is named, and `module.name` for each name that is taken from it; also for types only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def modules() -> Iterator[Path]:
    for folder in ("worksync/rules", "worksync/services", "worksync/formats"):
        yield from sorted((SOURCE / folder).glob("*.py"))


UNITS = {
    # what each unit may know of the others
    "worksync/rules/agenda.py": set[str](),
    "worksync/formats/agenda_fingerprint.py": {"agenda"},
    "worksync/rules/leases.py": set[str](),
    "worksync/rules/identity.py": set[str](),
    "worksync/rules/reports.py": {"agenda", "identity", "leases"},
    "worksync/rules/decisions.py": {"agenda", "leases", "reports", "statuses"},
    "worksync/rules/nudges.py": {"agenda"},
    "worksync/formats/status.py": {"statuses", "transitions"},
    "worksync/formats/outbox.py": {"nudges"},
}


@proves("R002-3.2-01", "R002-3.2-02", "R002-3.2-03", "R002-3.2-04", "R002-3.2-05", "R002-3.2-06", "R002-3.2-07")
@pytest.mark.parametrize("path", UNITS)
def test_agenda_fingerprint_reports_decisions_persistence_and_nudges_are_units_of_their_own(path):
    known = {name.split(".")[3] for name in imports_of(SOURCE / path) if name.startswith("atm.worksync.rules.")}
    assert known <= UNITS[path]


@proves("R002-1-79", "R002-3.2-06", "R002-3.2-07")
def test_the_use_cases_of_looking_and_reporting_do_not_know_of_nudges():
    for name in ("reconcile", "reports", "syncroom", "queue"):
        assert not {one for one in imports_of(SOURCE / "worksync" / "services" / f"{name}.py") if "nudges" in one}, name


@proves("R002-1-07", "R002-8.0-59", "R002-8.0-80", "R002-8.0-104", "R002-8.0-105", "R002-8.0-112")
def test_work_sync_reads_the_journal_of_the_stall_watch_and_calls_nothing_of_it():
    for path in modules():
        named = {name for name in imports_of(path) if "stall" in name}
        assert all(name.startswith("atm.board.services.stall_journal") for name in named), path
        assert not {name.rpartition(".")[2] for name in named} & {"claim", "mark"}, "it is only read"
    for name in ("board/rules/stalls.py", "board/services/stall_watch.py", "board/services/stall_journal.py"):
        assert not {one for one in imports_of(SOURCE / name) if "worksync" in one}, name


@proves("R002-3.3-06")
def test_nothing_of_work_sync_is_named_after_a_board():
    for path in [*modules(), SOURCE / "teamd" / "parts" / "worksync.py", SOURCE / "ui" / "mcp" / "worksync.py"]:
        classes = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
        assert not [name for name in [path.stem, *classes] if name.casefold().startswith("board")], path


@proves("R002-3.1-10", "R002-3.3-03")
def test_of_the_tools_of_work_sync_only_the_report_writes():
    writes = {tool.name: not tool.reads_only for tool in all_tools() if tool.group == "worksync"}
    assert writes == {"task_briefing": False, "member_work_sync_status": False, "member_work_sync_report": True}


# Locks and trouble.


@proves("R002-8.0-65", "R002-8.0-107")
def test_while_a_file_of_work_sync_is_locked_nothing_else_is_read_or_locked(busy_place, monkeypatch):
    """So there is no order of locks that could be wrong: one at a time, and the board is read before."""
    held: list[str] = []
    change, counted = busy_place.syncroom.records.change, [0]

    def locked(team: str, shelf: str, decide: Callable[..., Any], *args: Any, **options: Any) -> None:
        def alone(records: Any) -> Any:
            held.append(shelf)
            counted[0] += 1
            try:
                return decide(records)
            finally:
                held.remove(shelf)

        assert held == [], "two of our files at once"
        change(team, shelf, alone, *args, **options)

    def outside(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            assert held == [], work
            return work(*args, **options)

        return run

    monkeypatch.setattr(busy_place.syncroom.records, "change", locked)
    for part, names in (
        (busy_place.boardroom.tasks, ("board", "read", "turn")),
        (busy_place.room.inboxes, ("append", "rows")),
        (busy_place.room.ledger, ("append", "about")),
        (busy_place.room.rosters, ("load",)),
        (busy_place.syncroom.records, ("read",)),
        (busy_place.syncroom.secrets, ("secret",)),
    ):
        for name in names:
            monkeypatch.setattr(part, name, outside(getattr(part, name)))
    busy_place.round("ann", "bob", LEAD)
    busy_place.intend()
    replay(busy_place.syncroom, "crew")
    busy_place.report()
    busy_place.report("ann", "caught_up")
    assert len(busy_place.nudges()) == 1
    assert counted[0] > 6


@proves("R002-8.0-97", "R002-8.0-98")
def test_a_lock_that_cannot_be_had_leaves_the_status_and_a_word_about_it(busy_place, monkeypatch):
    busy_place.look()
    before, words = busy_place.status(), busy_place.words("ann")
    with monkeypatch.context() as locked:
        locked.setattr(busy_place.syncroom.records, "change", busy)
        assert not submit(busy_place.syncroom, "crew", words, busy_place.knows("ann")).ok
    assert busy_place.status() == before
    noted = busy_place.syncroom.journal.last("crew", 1)[0]
    assert (noted["event"], noted["member"]) == ("status_unwritable", "ann")


def busy(*_args: object, **_options: object) -> None:
    raise FileBusy("somebody holds the lock of status.json")


@proves("R002-8.0-98")
def test_a_look_for_which_the_lock_cannot_be_had_is_in_the_log_of_the_daemon(monkeypatch):
    stage = Stage()
    stage.add("the parser")
    monkeypatch.setattr(stage.syncroom.records, "change", busy)
    stage.live(QUIET + 60)
    assert "somebody holds the lock of status.json" in "\n".join(text for _, text in stage.lines)
    assert stage.syncroom.records.read("crew", STATUS) == {}


@proves("R002-8.0-83")
def test_where_the_board_cannot_be_read_nothing_is_planned_and_nothing_that_waits_is_sent(busy_place, monkeypatch):
    busy_place.plan()

    def refuse(_team: str) -> None:
        raise UnreadableFile("the disk says no")

    with monkeypatch.context() as broken:
        broken.setattr(busy_place.boardroom.tasks, "board", refuse)
        done = busy_place.round()
        assert (done.looks, done.planned, [one.outcome for one in done.dispatched]) == ([], [], [RETRYABLE])
    assert busy_place.nudges() == []
    busy_place.passes(3600)
    assert busy_place.dispatch() == [(DELIVERED, "")]


@proves("R002-1-66", "R002-8.0-38")
def test_two_teams_are_looked_at_at_once_and_never_three(monkeypatch):
    """Whoever is let in waits a moment for a third; none may come."""
    stage = Stage()
    for number in range(5):
        stage.create(f"team{number}")
    inside, most, gate = [0], [0], threading.Condition()

    def crowded(_syncroom: object, team: str, _members: object) -> SyncRound:
        with gate:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            gate.notify_all()
            assert gate.wait_for(lambda: most[0] >= sync_work.CONCURRENCY, timeout=60)  # the first waits for a second
            gate.wait_for(lambda: inside[0] > sync_work.CONCURRENCY, timeout=0.1)
            inside[0] -= 1
        return SyncRound(team)

    monkeypatch.setattr(sync_work, "run_round", crowded)
    stage.live(QUIET + 60)
    assert most == [sync_work.CONCURRENCY] == [2]


@proves("R002-1-76")
def test_a_name_in_an_event_is_looked_up_and_what_an_event_says_of_the_board_is_not_believed():
    """Level-triggered: an event that lies about a task makes somebody look, and what is seen is the board."""
    stage = Stage()
    stage.add("the parser")
    stage.live(QUIET + 1)
    sent = len(stage.nudges())
    for lie in ({"status": "completed", "owner": "bob"}, {"owner": "ann", "before": {"owner": "bob"}}):
        stage.hear(events.TASK_CHANGED, "1", **lie)
        stage.live(QUIET + 60)
    assert (stage.status("ann").state, stage.status("bob").state) == ("needs_sync", "caught_up")
    assert stage.status("ann").counters.fingerprint_changes == 0
    assert len(stage.nudges()) == sent
