"""Reviews, plans and questions that wait: somebody is told, each once, and nothing goes on without an answer."""

from __future__ import annotations

import pytest

from atm.board.services import planning, reviews
from atm.board.services import working as board
from atm.board.services.escalation import remind
from atm.board.services.new_tasks import NewTask
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.testing import memory_boardroom

MINUTES = 30.0


@pytest.fixture
def boardroom():
    made = memory_boardroom()
    create_team(made.room, "crew", lead="team-lead")
    for member in (Member("ann"), Member("bob"), Member("rita"), Member("hugo", backend="human")):
        add_member(made.room, "crew", member)
    planning.add(made, "crew", "team-lead", [NewTask("the parser")])
    board.claim(made, "crew", "ann", "1")
    return made


def pass_time(boardroom, minutes: float) -> None:
    boardroom.clock.pass_time(minutes * 60)


def told(boardroom) -> list[str]:
    return [one.to for one in remind(boardroom, find_team(boardroom.room, "crew"), MINUTES)]


def test_nothing_waits_and_nobody_is_told(boardroom):
    pass_time(boardroom, 1000)
    assert told(boardroom) == []


def test_a_review_that_waits_is_told_to_the_reviewer_then_the_lead_then_the_human(boardroom):
    reviews.request_review(boardroom, "crew", "ann", "1", "rita")
    assert told(boardroom) == []
    pass_time(boardroom, 29)
    assert told(boardroom) == []
    pass_time(boardroom, 2)
    assert told(boardroom) == ["rita"]
    pass_time(boardroom, 30)
    assert told(boardroom) == ["team-lead"]
    pass_time(boardroom, 30)
    assert told(boardroom) == ["hugo"]
    pass_time(boardroom, 1000)
    assert told(boardroom) == []


def test_each_is_told_once_however_often_one_looks(boardroom):
    reviews.request_review(boardroom, "crew", "ann", "1", "rita")
    pass_time(boardroom, 31)
    assert told(boardroom) == ["rita"]
    assert told(boardroom) == []
    assert sum("waits" in (row.summary or "") for row in boardroom.room.inboxes.rows("crew", "rita")) == 1


def test_a_review_that_came_ends_it(boardroom):
    reviews.request_review(boardroom, "crew", "ann", "1", "rita")
    reviews.approve(boardroom, "crew", "rita", "1", "fine")
    pass_time(boardroom, 1000)
    assert told(boardroom) == []


def test_never_turns_it_off(boardroom):
    reviews.request_review(boardroom, "crew", "ann", "1", "rita")
    pass_time(boardroom, 1000)
    assert remind(boardroom, find_team(boardroom.room, "crew"), 0) == []


def test_a_question_to_the_user_is_told_to_the_humans_and_a_plan_to_the_lead(boardroom):
    reviews.ask(boardroom, "crew", "ann", "1", "user", "which colour?")
    pass_time(boardroom, 31)
    assert told(boardroom) == ["hugo"]
    reviews.answer(boardroom, "crew", "hugo", "1", "green")
    reviews.submit_plan(boardroom, "crew", "ann", "1", "first this, then that")
    pass_time(boardroom, 31)
    assert told(boardroom) == ["team-lead"]
    pass_time(boardroom, 30)
    assert told(boardroom) == []
    pass_time(boardroom, 30)
    assert told(boardroom) == ["hugo"]
