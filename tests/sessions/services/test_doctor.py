"""What doctor finds about sessions."""

from __future__ import annotations

import pytest
from tests.sessions.services.stage import SessionStage

from atm.checkup.services.findings import Finding
from atm.checkup.services.sessions import examine_sessions
from atm.sessions.services.resuming import resume


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage()
    made.task("parse", owner="bob")
    resume(made.desk, "crew")
    return made


def found(stage: SessionStage) -> tuple[list[str], str]:
    *findings, last = examine_sessions(stage.desk)
    assert isinstance(last, str)
    return [one.code for one in findings if isinstance(one, Finding)], last


def test_a_team_in_order_is_no_finding(stage):
    assert found(stage) == ([], "1 team has checkpoints in git")


def test_checkpoints_that_a_remote_has_are_told_for_they_hold_mail(stage):
    stage.desk.git.remotes["/r/.git", "crew"] = ["origin"]
    assert found(stage)[0] == ["checkpoints-pushed"]


def test_a_lost_state_whose_copy_is_in_git_is_told(stage):
    whole = stage.room.states.content["crew"]
    stage.room.states.content["crew"] = whole[: len(whole) // 2]
    assert found(stage)[0] == ["lost-state"]
