"""What the ledger still missed: where reports come from, and what changes while one is written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mcp.crew import Crew
from tests.proving import proves
from tests.worksync.services.conftest import LEAD, Place

from atm.board.services import planning
from atm.board.services.new_tasks import NewTask
from atm.delivery.services.briefing import brief
from atm.files.formats.layout import Layout
from atm.files.ports.records import STATUS
from atm.worksync.rules.agenda import build_agendas
from atm.worksync.rules.identity import PROCESS_TEAM, Trusted
from atm.worksync.services.reports import replay, submit
from atm.worksync.services.syncroom import running


@pytest.fixture
def place() -> Place:
    made = Place()
    made.add("mend the door")
    return made


def judged(place: Place) -> Any:
    """The last line of the journal about a report."""
    return [line for line in place.syncroom.journal.last("crew", 20) if line["event"] == "report"][-1]


@proves("R002-8.4-02", "R002-8.4-03", "R002-8.4-04")
@pytest.mark.parametrize("origin", ["mcp", "app"])
def test_the_journal_says_where_a_report_came_from_and_when_its_author_thinks_it_was(place, origin):
    trusted = Trusted(origin, place.now, PROCESS_TEAM, "crew", "ann")
    said = {"from": "ann", "agendaFingerprint": place.fingerprint(), "state": "still_working", "reportedAt": "tomorrow"}
    assert submit(place.syncroom, "crew", said, trusted).ok
    assert (judged(place)["origin"], judged(place)["reportedAt"]) == (origin, "tomorrow")


@proves("R002-8.4-05")
def test_the_journal_says_that_a_report_was_replayed(place):
    place.intend()
    assert replay(place.syncroom, "crew") == 1
    assert (judged(place)["origin"], judged(place)["verdict"]) == ("intent_replay", "accepted")


@proves("R002-8.0-95")
def test_work_that_comes_while_a_report_is_written_makes_it_stale_and_its_author_is_told(place, monkeypatch):
    change = place.syncroom.records.change

    def and_then_a_task(team: str, shelf: str, *rest: Any, **more: Any) -> None:
        change(team, shelf, *rest, **more)
        if shelf == STATUS:
            monkeypatch.setattr(place.syncroom.records, "change", change)
            place.add("and the window")

    monkeypatch.setattr(place.syncroom.records, "change", and_then_a_task)
    answer = place.report("ann", "still_working")
    assert (answer.ok, answer.verdict.reason) == (False, "stale_fingerprint")
    assert len(answer.fields()["currentAgendaPreview"]) == 2
    assert place.state() == "needs_sync", "the lease is for an agenda that is not there any more"


@proves("R002-16.6-10")
def test_a_roster_alone_is_no_proof_that_a_team_runs(place):
    place.room.states.content.pop("crew")
    assert not running(place.syncroom, place.team).runs
    place.beats("bob")
    assert running(place.syncroom, place.team).runs


@proves("R002-8.2.2-24")
def test_a_briefing_names_the_reviewer_whom_the_agenda_names(place):
    place.boardroom.tasks.write_as_others_do(
        "crew",
        7,
        b'{"id": "7", "subject": "own work", "status": "in_progress", "owner": "ann", "blocks": [], "blockedBy": [],'
        b' "metadata": {"atm": {"review": {"state": "review", "reviewer": "ann"}}}}',
    )
    assert place.boardroom.tasks.board("crew").cards[7].reviewer == "ann"
    assert not [
        line
        for line in brief(place.boardroom, "crew", "ann").work
        if "review" in line and "#7" in line and "your" in line
    ]


@proves("R002-8.2.1-22")
def test_a_question_without_an_owner_is_nobodys_item_and_the_lead_hears_of_it(place):
    board = place.boardroom.tasks.board("crew")
    card = board.cards[1]
    card.owner, card.needs = "", "lead"
    agendas = build_agendas(board, "crew", ["ann", LEAD], LEAD, {})
    assert not agendas["ann"].items
    assert not agendas[LEAD].items
    assert agendas[LEAD].diagnostics == ["#1 waits for an answer and has no owner"]


@proves("R002-16.7-42")
def test_a_report_over_mcp_leaves_no_sign_of_life(tmp_path):
    root = str(tmp_path)
    crew = Crew(Layout(claude_root=f"{root}/c", config_root=f"{root}/f", state_root=f"{root}/s"))
    planning.add(crew.boardroom, "crew", "lena", [NewTask("mend", owner="ann")])
    block = crew.call("ann", "task_briefing")["workSync"]
    before = crew.room.presence.last("crew", "ann")
    said = {"agendaFingerprint": block["agendaFingerprint"], "reportToken": block["reportToken"]}
    assert crew.call("ann", "member_work_sync_report", **{"from": "ann", "state": "still_working", **said})["ok"]
    after = crew.room.presence.last("crew", "ann")
    assert (before and before.at) == (after and after.at)
