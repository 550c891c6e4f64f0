"""Approvals in the daemon: asked and decided are told once, silence is closed, people see a popup for what is new."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage, rule

from atm.approvals.rules.requests import APPROVED, EXPIRED
from atm.approvals.services.answering import give_answer
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import cancel, claim
from atm.teamd.parts import approvals as part
from atm.teamd.parts.approvals import ApprovalLoops


class Popups:
    """What a person at a terminal would see."""

    def __init__(self) -> None:
        self.shown = 0
        self.open = False
        self.somebody = True

    def is_open(self) -> bool:
        return self.open

    def show(self, _: str, is_agents: Callable[[int], bool]) -> bool:
        assert not is_agents(1)
        self.shown += self.somebody
        return self.somebody


class Daemon:
    """One loop over the twins."""

    def __init__(self, stage: ApprovalStage) -> None:
        self.told: list[tuple[str, str, Any]] = []
        self.allows_popups = True
        rounds = SimpleNamespace(
            room=stage.mail,
            names=lambda: ["crew"],
            attempt=lambda work, *words: work(*words),
            tell=lambda kind, _, id, **facts: self.told.append((kind, id, facts["state"])),
        )
        settings = SimpleNamespace(yes=lambda _: self.allows_popups)
        self.loops = ApprovalLoops(SimpleNamespace(rounds=rounds, settings=settings, environment={}))  # type: ignore[arg-type]


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage(rule("ask-lead", command="make *"))


@pytest.fixture
def popups() -> Popups:
    return Popups()


@pytest.fixture
def daemon(stage, popups, monkeypatch) -> Daemon:
    monkeypatch.setattr(part, "build_popups", lambda _: popups)
    monkeypatch.setattr(ApprovalLoops, "build", lambda _: stage.room)
    return Daemon(stage)


def test_a_request_is_told_once_and_so_is_its_answer(stage, daemon):
    one = stage.ask()
    daemon.loops.look()
    daemon.loops.look()
    give_answer(stage.room, one, "hugo", APPROVED, "", "h")
    daemon.loops.look()
    daemon.loops.look()
    assert daemon.told == [("approval.asked", one.id, "waiting"), ("approval.decided", one.id, "approved")]


def test_what_was_answered_before_it_began_is_no_news(stage, daemon):
    give_answer(stage.room, stage.ask(), "hugo", APPROVED, "", "h")
    daemon.loops.look()
    assert daemon.told == []


def test_silence_is_closed_when_its_time_is_over_although_no_file_changed(stage, daemon):
    one = stage.ask()
    daemon.loops.look()
    stage.clock.sleep(stage.room.expire + 1)
    daemon.loops.look()
    found = stage.store.read("crew", one.id)
    assert found is not None
    assert found.answer is not None
    assert found.answer.state == EXPIRED
    assert daemon.told[-1] == ("approval.decided", one.id, "expired")


def test_a_request_whose_task_is_cancelled_is_cancelled_too_although_no_file_of_it_changed(stage, daemon):
    add(stage.board, "crew", LEAD, [NewTask("sort the letters")])
    claim(stage.board, "crew", "bob", "1")
    one = stage.ask(task="1")
    daemon.loops.look()
    cancel(stage.board, "crew", LEAD, "1", "not needed")
    daemon.loops.look()
    assert daemon.told == [("approval.asked", one.id, "waiting"), ("approval.decided", one.id, "cancelled")]


def test_a_daemon_that_begins_asks_nobody_what_is_of_no_use_any_more(stage, daemon, popups):
    add(stage.board, "crew", LEAD, [NewTask("sort the letters")])
    claim(stage.board, "crew", "bob", "1")
    one = stage.ask(task="1")
    cancel(stage.board, "crew", LEAD, "1", "not needed")
    daemon.loops.look()
    assert daemon.told == []
    assert popups.shown == 0
    found = stage.store.read("crew", one.id)
    assert found is not None
    assert found.state(stage.clock.now()) == "cancelled"


def test_a_person_sees_one_popup_for_what_is_new(stage, daemon, popups):
    stage.ask()
    for _ in range(3):
        daemon.loops.look()
        stage.clock.sleep(part.TRY_EVERY)
    assert popups.shown == 1
    stage.ask("git push origin other")
    daemon.loops.look()
    assert popups.shown == 2


def test_a_popup_waits_for_somebody_and_for_the_one_that_is_open(stage, daemon, popups):
    popups.somebody = False
    stage.ask()
    daemon.loops.look()
    popups.somebody, popups.open = True, True
    stage.clock.sleep(part.TRY_EVERY)
    daemon.loops.look()
    assert popups.shown == 0
    popups.open = False
    stage.clock.sleep(part.TRY_EVERY)
    daemon.loops.look()
    assert popups.shown == 1


def test_no_popup_opens_for_a_lead_or_where_the_user_wants_none(stage, daemon, popups):
    stage.ask("make test")
    daemon.loops.look()
    daemon.allows_popups = False
    stage.ask()
    stage.clock.sleep(part.TRY_EVERY)
    daemon.loops.look()
    assert popups.shown == 0
