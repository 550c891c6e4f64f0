"""What seed 002, sections 8.2.1 to 9, asks for and no other test shows alone: agendas, fingerprints, reports."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, Place

from atm import config
from atm.board.services import planning, reviews
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.core.errors import WriteRefused
from atm.files.formats.layout import Layout
from atm.files.ports.records import STATUS
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import IDLE, WAITING, WORKING
from atm.team.rules.team import Member
from atm.team.services.endpoints import put_endpoint
from atm.team.services.registry import find_team
from atm.wiring.board import build_boardroom
from atm.wiring.worksync import build_syncroom
from atm.worksync.rules.agenda import Agenda
from atm.worksync.rules.identity import PROCESS_TEAM, Trusted
from atm.worksync.services.reconcile import look_at
from atm.worksync.services.reports import replay, submit
from atm.worksync.services.syncroom import read_agendas

SOURCE = Path(__file__).parents[3] / "src" / "atm"


@pytest.fixture
def place() -> Place:
    """ann has work, a question and something that waits; cleo reviews what bob made; the lead has a task."""
    made = Place()
    made.add("the parser", "the printer", "the manual")
    made.add("the tests", owner="bob")
    made.add("the plan", owner=LEAD)
    planning.depend(made.boardroom, "crew", LEAD, "3", ["1"], [])
    board.claim(made.boardroom, "crew", "ann", "2")
    reviews.ask(made.boardroom, "crew", "ann", "2", "lead", "on paper?")
    board.claim(made.boardroom, "crew", "bob", "4")
    reviews.request_review(made.boardroom, "crew", "bob", "4", "cleo")
    made.quiet()
    return made


def agendas(place: Place) -> dict[str, Agenda]:
    return read_agendas(place.syncroom, place.team, place.team.names)


def fingerprints(place: Place) -> dict[str, str]:
    return {name: place.fingerprint(name) for name in place.team.names}


# What an agenda is made of.


@proves(
    "R002-8.2.1-40",
    "R002-8.2.1-42",
    "R002-8.2.1-43",
    "R002-8.2.1-44",
    "R002-8.2.1-57",
    "R002-8.2.1-58",
    "R002-8.3-10",
    "R002-8.3-16",
)
def test_of_all_that_there_is_only_the_board_is_asked_whose_turn_it_is(place):
    """There is nothing else to be asked here: no mail, no transcript, no heartbeat, no label, no record, no clock."""
    alone: Any = SimpleNamespace(boardroom=SimpleNamespace(tasks=place.boardroom.tasks))
    assert read_agendas(alone, place.team, place.team.names) == agendas(place)
    kinds = {name: [item.kind for item in found.items] for name, found in agendas(place).items() if found.items}
    assert kinds == {
        "ann": ["work", "clarification", "blocked_dependency"],
        "cleo": ["review"],
        LEAD: ["work"],
    }


def tell_that_it_is_done(place: Place) -> None:
    for name in place.team.names:
        send(place.room, "crew", LEAD, Draft(sender=name, text="#1 is done, I am standing by"))


def mail_that_is_tried_again(place: Place) -> None:
    place.room.inboxes.refuse = WriteRefused("the disk is full")
    send(place.room, "crew", "ann", Draft(sender="bob", text="hello"))
    for _ in range(3):
        place.passes(600)
        drain(place.room)
    assert not place.room.spool.is_empty()


def signs_of_life(place: Place) -> None:
    for state in (WORKING, WAITING, IDLE):
        place.beats("ann", state)


def a_session_that_begins_anew(place: Place) -> None:
    for session in ("one", "two"):
        put_endpoint(place.room, place.team, "ann", Endpoint(vendor="codex", session=session, at=place.now))


def reports(place: Place) -> None:
    assert place.report("ann").ok
    place.passes(700)
    assert place.report("ann").ok
    assert not place.report("ann", "caught_up").ok
    assert not place.report("ann", taskIds=["99"]).ok
    assert place.intend("ann", note="later").ok


def looks_and_nudges(place: Place) -> None:
    for _ in range(3):
        place.round(*place.team.names)
        place.passes(3600)
    assert place.status().conditions
    assert place.status().transitions
    assert place.nudges()


AROUND: list[Callable[[Place], None]] = [
    *(tell_that_it_is_done, mail_that_is_tried_again, signs_of_life),
    *(a_session_that_begins_anew, reports, looks_and_nudges),
]


@proves(
    "R002-8.2.1-14",
    "R002-8.2.1-40",
    "R002-8.2.1-43",
    "R002-8.3-10",
    "R002-8.3-11",
    "R002-8.3-12",
    "R002-8.3-15",
    "R002-8.3-16",
    "R002-8.3-17",
    "R002-8.3.1-04",
    "R002-8.3.1-05",
    "R002-8.3.1-06",
    "R002-8.3.1-22",
    "R002-8.4.2-23",
)
@pytest.mark.parametrize("happens", AROUND, ids=lambda one: one.__name__)
def test_what_happens_around_the_board_moves_no_agenda_and_no_fingerprint(place, happens):
    before = agendas(place), fingerprints(place)
    happens(place)
    assert (agendas(place), fingerprints(place)) == before


@proves("R002-8.2.1-13", "R002-8.2.1-39", "R002-8.2.1-54", "R002-8.3-09", "R002-8.3-13", "R002-8.3-14", "R002-8.3.1-03")
@pytest.mark.parametrize("word", ["starting", "ok", "will do", "начинаю", "беру в работу", "👍", "on it!"])
def test_a_promise_gives_nobody_an_item_takes_none_away_and_moves_no_fingerprint(place, word):
    before = agendas(place), fingerprints(place)
    for author in ("ann", "bob", LEAD):
        for task in ("1", "4"):
            board.comment(place.boardroom, "crew", author, task, word)
    assert (agendas(place), fingerprints(place)) == before


@proves("R002-8.2.1-28")
def test_a_blocked_lease_is_over_when_the_blocker_is_gone():
    place = Place()
    place.add("first", owner="bob")
    place.add("second", depends_on=["1"])
    assert place.report("ann", "blocked").ok
    assert place.state("ann") == "valid_lease"
    board.claim(place.boardroom, "crew", "bob", "1")
    board.complete(place.boardroom, "crew", "bob", "1")
    place.quiet()
    assert place.state("ann") == "needs_sync"
    assert place.report("ann", "blocked").verdict.reason == "blocked_rejected_without_evidence"


@proves("R002-8.3.1-02")
def test_a_task_file_that_was_only_touched_is_no_other_agenda(layout: Layout, room: Teamroom):
    settings = config.load(layout, {}, "/", {})

    def syncroom() -> Any:
        return build_syncroom(layout, settings, build_boardroom(layout, settings, room))

    def seen(of: Any) -> str:
        return str(look_at(of, find_team(room, "crew"), ["ann"])["ann"].fingerprint)

    known = syncroom()
    planning.add(known.boardroom, "crew", "bob", [NewTask("the parser", owner="ann")])
    before = seen(known)
    (path,) = Path(layout.tasks("crew")).glob("1.json")
    content = path.read_bytes()
    for at in (1_000_000_000, 4_000_000_000):
        path.write_bytes(content)
        os.utime(path, (at, at))
        assert seen(known) == seen(syncroom()) == before


def imported(*folders: str) -> dict[Path, set[str]]:
    """What each module of these folders takes from elsewhere, wherever in it: `*/rules` are those of all rooms."""
    found = {}
    places = [place for folder in folders for place in SOURCE.glob(folder)]
    for path in (path for place in places for path in ([place] if place.is_file() else place.rglob("*.py"))):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
        found[path] = {name.split(".")[0] for name in names}
    assert len(found) > 10
    return found


@proves("R002-8.3-32")
def test_the_hash_of_a_fingerprint_is_made_outside_of_the_rules_and_the_verbs():
    for path, names in imported("worksync/rules", "worksync/services").items():
        assert not names & {"hashlib", "hmac", "ssl", "secrets"}, path


@proves("R002-8.4.1-07")
def test_no_rule_and_no_verb_has_a_clock_of_its_own():
    """`datetime` too, which could be asked for the time."""
    for path, names in imported("core", "*/rules", "*/rules.py", "*/services", "*/services.py").items():
        assert not names & {"time", "datetime", "calendar"}, path


# What is written down.


def stored(place: Place, name: str = "ann") -> dict[str, Any]:
    found: dict[str, Any] = place.syncroom.records.read("crew", STATUS)[name]
    return found


@proves("R002-8.3.1-07", "R002-8.3.1-10", "R002-8.3.1-11", "R002-8.3.1-12", "R002-8.3.1-13")
def test_a_change_of_the_fingerprint_is_written_down_in_the_words_of_the_seed(place):
    place.look()
    first = place.fingerprint()
    (transition,) = stored(place)["transitions"]
    assert set(transition) == {"from", "to", "changedTaskIds", "changedReasons", "changedAt"}
    assert (transition["from"], transition["to"]) == (None, first)
    place.add("one more")
    place.look()
    last = stored(place)["transitions"][-1]
    assert (last["from"], last["to"]) == (first, place.fingerprint())
    assert (last["changedTaskIds"], last["changedReasons"]) == (["6"], ["task_added"])
    assert stored(place)["metrics"]["fingerprintChangeCount"] == 1


@proves("R002-8.5-08", "R002-8.5-10", "R002-8.5-11", "R002-8.5-12", "R002-8.5-13", "R002-8.5-14", "R002-8.5-15")
def test_a_condition_is_written_down_in_the_words_of_the_seed(place):
    (look,) = place.look()
    (condition,) = stored(place)["conditions"]
    assert condition.pop("lastTransitionAt")
    assert condition == {
        "type": "NeedsSync",
        "status": "true",
        "observedFingerprint": look.seen.fingerprint,
        "reason": "ActionableAgendaWithoutValidLease",
        "message": "Member has 3 actionable work items and no valid report lease.",
    }


@proves("R002-9-28")
def test_a_look_gives_back_the_status_that_it_wrote(place):
    place.look()
    place.passes(60)
    (look,) = place.look()
    assert look.status.counters == place.status().counters
    assert (look.status.fingerprint, look.status.state) == (place.status().fingerprint, place.status().state)
    assert look.status.counters.reconciles == 2


@proves("R002-8.4-10", "R002-8.4.1-01", "R002-8.4.1-02", "R002-8.4.1-03", "R002-8.4.1-04", "R002-8.4.1-05")
def test_a_report_is_dated_by_when_it_reached_us(place):
    """Not by when it was judged, and not by when its author says that it was made."""
    words = place.words("ann", reportedAt="2099-01-01T00:00:00.000Z")
    reached = place.now
    place.passes(30)
    answer = submit(place.syncroom, "crew", words, Trusted("mcp", reached, PROCESS_TEAM, "crew", "ann"))
    accepted: Any = place.status().accepted
    assert (accepted.first_at, accepted.last_at) == pytest.approx((reached, reached), abs=0.01)
    assert answer.verdict.lease_until == reached + 600
    assert set(stored(place)["latestAcceptedReport"]) >= {"acceptedAt", "lastSeenAt"}


@proves("R002-8.4-29", "R002-8.4-30")
def test_a_report_that_is_rejected_is_written_down_with_its_reason_and_what_was_current(place):
    words = {**place.words("ann"), "agendaFingerprint": "agenda:v1:old"}
    submit(place.syncroom, "crew", words, place.knows("ann"))
    record = stored(place)["latestRejectedReport"]
    assert (record["accepted"], record["rejectedReason"]) == (False, "stale_fingerprint")
    assert (record["agendaFingerprint"], record["observedFingerprint"]) == ("agenda:v1:old", place.fingerprint())
    assert record["id"].startswith("member-work-sync-report:")


@proves("R002-8.4-40", "R002-8.4-41")
def test_a_report_made_again_takes_the_place_of_the_former_with_its_new_note_and_time(place):
    place.report("ann", note="first")
    place.passes(60)
    place.report("ann", note="second")
    (record,) = stored(place)["reports"]
    assert record["note"] == "second"
    assert record["lastSeenAt"] > record["acceptedAt"]


@proves("R002-8.4.2-20", "R002-8.4.2-21")
def test_of_each_agenda_the_accepted_report_and_of_each_reason_the_rejected_one_is_kept(place):
    agenda = []
    for number in range(3):
        agenda.append(place.fingerprint())
        assert place.report("ann").ok
        assert not place.report("ann", "caught_up").ok
        assert not place.report("ann", taskIds=["99"]).ok
        place.add(f"more {number}")
        place.passes(60)
    kept = [(one.fingerprint, one.accepted, one.reason) for one in place.status().reports]
    for fingerprint in agenda:
        assert (fingerprint, True, "") in kept
        assert (fingerprint, False, "caught_up_rejected_actionable_items_exist") in kept
        assert (fingerprint, False, "task_not_in_current_agenda") in kept
    assert len(kept) == len(set(kept)) == 9


@proves("R002-8.4.1-09", "R002-8.4.1-10")
def test_a_report_that_waited_counts_from_its_replay_and_its_own_time_stays_to_be_seen(place):
    reached = place.now
    assert place.intend("ann").ok
    place.passes(1000)
    assert replay(place.syncroom, "crew") == 1
    accepted: Any = place.status().accepted
    assert accepted.last_at == pytest.approx(reached + 1000, abs=0.01)
    (intent,) = place.intents
    assert intent["status"] == "accepted"
    assert intent["receivedAt"] < intent["processedAt"]
    place.passes(599)
    assert place.state() == "valid_lease"


@proves("R002-8.4.2-09")
def test_a_member_keeps_the_spelling_of_the_roster_however_its_name_is_written(place):
    add_member(place.room, "crew", Member("dora"))
    place.add("some work", owner="DORA")
    words = {**place.words("dora"), "from": "Dora"}
    assert submit(place.syncroom, "crew", words, place.knows("DORA")).ok
    assert stored(place, "dora")["memberName"] == "dora"
