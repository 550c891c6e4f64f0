"""Reviews, plans and questions that wait: somebody is told, each once, and nothing goes on without an answer."""

from __future__ import annotations

import pytest

from atm.domain.team.team import Member
from atm.services.board import planning, reviews
from atm.services.board import working as board
from atm.services.board.escalation import remind
from atm.services.roster.members import add_member, create_team
from atm.services.team.registry import find_team
from atm.testing import memory_desk

MINUTES = 30.0


@pytest.fixture
def desk():
    made = memory_desk()
    create_team(made.room, "crew", lead="team-lead")
    for member in (Member("ann"), Member("bob"), Member("rita"), Member("hugo", backend="human")):
        add_member(made.room, "crew", member)
    planning.add(made, "crew", "team-lead", [planning.NewTask("the parser")])
    board.claim(made, "crew", "ann", "1")
    return made


def pass_time(desk, minutes: float) -> None:
    desk.clock.pass_time(minutes * 60)


def told(desk) -> list[str]:
    return [one.to for one in remind(desk, find_team(desk.room, "crew"), MINUTES)]


def test_nothing_waits_and_nobody_is_told(desk):
    pass_time(desk, 1000)
    assert told(desk) == []


def test_a_review_that_waits_is_told_to_the_reviewer_then_the_lead_then_the_human(desk):
    reviews.request_review(desk, "crew", "ann", "1", "rita")
    assert told(desk) == []
    pass_time(desk, 29)
    assert told(desk) == []
    pass_time(desk, 2)
    assert told(desk) == ["rita"]
    pass_time(desk, 30)
    assert told(desk) == ["team-lead"]
    pass_time(desk, 30)
    assert told(desk) == ["hugo"]
    pass_time(desk, 1000)
    assert told(desk) == []


def test_each_is_told_once_however_often_one_looks(desk):
    reviews.request_review(desk, "crew", "ann", "1", "rita")
    pass_time(desk, 31)
    assert told(desk) == ["rita"]
    assert told(desk) == []
    assert sum("waits" in (row.summary or "") for row in desk.room.inboxes.rows("crew", "rita")) == 1


def test_a_review_that_came_ends_it(desk):
    reviews.request_review(desk, "crew", "ann", "1", "rita")
    reviews.approve(desk, "crew", "rita", "1", "fine")
    pass_time(desk, 1000)
    assert told(desk) == []


def test_never_turns_it_off(desk):
    reviews.request_review(desk, "crew", "ann", "1", "rita")
    pass_time(desk, 1000)
    assert remind(desk, find_team(desk.room, "crew"), 0) == []


def test_a_question_to_the_user_is_told_to_the_humans_and_a_plan_to_the_lead(desk):
    reviews.ask(desk, "crew", "ann", "1", "user", "which colour?")
    pass_time(desk, 31)
    assert told(desk) == ["hugo"]
    reviews.answer(desk, "crew", "hugo", "1", "green")
    reviews.submit_plan(desk, "crew", "ann", "1", "first this, then that")
    pass_time(desk, 31)
    assert told(desk) == ["team-lead"]
    pass_time(desk, 30)
    assert told(desk) == []
    pass_time(desk, 30)
    assert told(desk) == ["hugo"]
