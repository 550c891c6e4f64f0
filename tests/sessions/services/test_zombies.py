"""A lead that is away: its teammates go on, wait, and are shut down in the end. With a clock in hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.proving import proves
from tests.sessions.services.stage import MINUTE, SessionStage

from atm.board.services.reviews import ask as ask_question
from atm.roster.services.members import add_member
from atm.sessions.services.overview import lead_state_of, look_at
from atm.sessions.services.resuming import RESUMED, resume
from atm.sessions.services.teammates import save_all
from atm.sessions.services.zombies import watch_lead
from atm.team.rules.team import Member
from atm.team.services.leading import change_lead, lead_of


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage()
    made.task("parse", owner="bob")
    resume(made.as_session("one"), "crew")
    return made


def status(stage: Any, name: str) -> str:
    found = look_at(stage.desk, "crew").member(name)
    assert found is not None
    return found.status


def away(stage: Any, minutes: float = 5.1) -> Any:
    stage.later(minutes * MINUTE)
    stage.alive("bob")
    return watch_lead(stage.desk, "crew")


@proves("R003-3.2-01", "R003-3.2-04")
def test_for_five_minutes_nothing_happens(stage):
    done = away(stage, 5)
    assert (done.lead, done.changed, status(stage, "bob")) == ("here", "", "in_progress")
    assert not stage.room.rosters.is_lead_away("crew")


@proves(
    "R003-goal-02",
    "R003-goal-03",
    "R003-3.2-02",
    "R003-3.2-03",
    "R003-3.2-05",
    "R003-3.2-07",
    "R003-3.2-09",
    "R003-3.3-06",
    "R003-6-15",
    "R003-6-16",
    "R003-7-team-04",
    "R003-7-teammate-04",
    "R003-7-teammate-05",
    "R003-8-01",
    "R003-10-04",
)
def test_then_its_teammates_are_zombies_and_hear_of_it_once(stage):
    done = away(stage)
    assert (done.lead, done.changed, status(stage, "bob")) == ("away", "away", "zombie")
    assert lead_of(stage.room, "crew").away_since is not None
    watch_lead(stage.desk, "crew")
    assert len([text for text in stage.inbox("bob") if "has been away" in text]) == 1


@proves("R003-3.2-08", "R003-6-15", "R003-6-16", "R003-7-teammate-06", "R003-7-teammate-16")
def test_their_mail_to_one_another_waits_and_nothing_else_does(stage):
    add_member(stage.room, "crew", Member("hal", backend="human"))
    away(stage)
    assert stage.say("bob", "cat").outcome == "held"
    assert stage.say("bob", "ann").outcome == "held"
    assert stage.say("bob", "cat", is_urgent=True).outcome == "success"
    assert stage.say("bob", "hal").outcome == "success"
    assert stage.say("ann", "bob").outcome == "success"
    assert stage.say("hal", "bob").outcome == "success"
    assert stage.say("script", "bob").outcome == "success"


def test_a_team_that_nobody_leads_by_word_is_never_held_up():
    stage = SessionStage()
    stage.task("parse", owner="bob")
    assert away(stage, 600).lead == "here"
    assert stage.say("bob", "cat").outcome == "success"


@proves("R003-3.2-12", "R003-6-17", "R003-7-teammate-11")
def test_when_the_lead_is_heard_of_again_all_is_as_it_was(stage):
    away(stage)
    stage.say("bob", "cat", "held")
    stage.alive("ann")
    done = watch_lead(stage.desk, "crew")
    assert (done.changed, done.delivered) == ("back", 1)
    assert stage.inbox("cat")[-2:] == ["held", RESUMED]
    assert (lead_of(stage.room, "crew").away_since, status(stage, "bob")) == (None, "in_progress")
    assert watch_lead(stage.desk, "crew").changed == ""


def test_an_open_terminal_is_not_away_though_nobody_types(stage):
    stage.room.presence.running.add(50)
    change_lead(stage.room, "crew", lambda lead: replace(lead, pid=50, began="at 50"))
    assert away(stage, 600).lead == "here"
    stage.room.presence.running.discard(50)
    assert away(stage, 1).lead == "away"


@proves("R003-8-13", "R003-8-14")
@pytest.mark.parametrize(("minutes", "owner"), [(9.9, "bob"), (10.1, "")])
def test_an_idle_zombie_loses_its_task_after_ten_minutes(stage, minutes, owner):
    away(stage)
    stage.alive("bob", state="idle")
    stage.later(minutes * MINUTE)
    stage.alive("bob", state="idle")
    watch_lead(stage.desk, "crew")
    assert stage.card("1").owner == owner


@proves("R003-7-teammate-09", "R003-7-teammate-10")
@pytest.mark.parametrize(("minutes", "claimed"), [(9.9, True), (10.1, False)])
def test_a_task_that_waits_for_the_lead_returns_after_ten_minutes(stage, minutes, claimed):
    ask_question(stage.boardroom, "crew", "bob", "1", "lead", "which grammar?")
    away(stage)
    stage.later(minutes * MINUTE)
    stage.alive("bob")
    watch_lead(stage.desk, "crew")
    assert stage.card("1").is_claimed is claimed


@proves("R003-3.2-11", "R003-7-teammate-19")
@pytest.mark.parametrize(("minutes", "expected"), [(29, "away"), (31, "over")])
def test_after_half_an_hour_they_are_shut_down(stage, minutes, expected):
    away(stage)
    stage.say("bob", "cat", "held until the end")
    done = away(stage, minutes)
    assert done.lead == expected
    assert ("held until the end" in stage.inbox("cat")) is (expected == "over")
    assert any("shut down" in text for text in stage.inbox("bob")) is (expected == "over")
    again = away(stage, 1)
    assert again.changed == ""


def test_nobody_loses_a_task_whose_lead_resumed_while_its_work_was_saved(stage, monkeypatch):
    away(stage)
    stage.alive("bob", state="idle")
    stage.later(10.1 * MINUTE)
    stage.alive("bob", state="idle")

    def save_slowly(*given):
        saved = save_all(*given)
        resume(stage.as_session("one"), "crew")
        return saved

    monkeypatch.setattr("atm.sessions.services.zombies.save_all", save_slowly)
    assert watch_lead(stage.desk, "crew").released == []
    assert stage.card("1").owner == "bob"


@pytest.mark.parametrize("minutes", [1, 31])
def test_a_look_that_began_before_the_lead_resumed_does_not_hold_the_mail_again(stage, monkeypatch, minutes):
    away(stage)
    stage.later(minutes * MINUTE)
    stage.alive("bob")

    def look_slowly(*given):
        seen = lead_state_of(*given)
        resume(stage.as_session("one"), "crew")
        return seen

    monkeypatch.setattr("atm.sessions.services.zombies.lead_state_of", look_slowly)
    done = watch_lead(stage.desk, "crew")
    assert (done.lead, done.changed) == ("away" if minutes == 1 else "over", "")
    assert not stage.room.rosters.is_lead_away("crew")
    assert stage.say("bob", "cat").outcome == "success"
    assert not [text for text in stage.inbox("bob") if "shut down" in text]
