"""The books of approvals: whole, also where somebody was killed between a deed and the line about it."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import ApprovalStage

from atm.approvals.rules.requests import APPROVED, GivenAnswer
from atm.approvals.services.answering import give_answer
from atm.approvals.services.approvalroom import STILL_WRITING
from atm.approvals.services.asking import use
from atm.approvals.services.looking import KEEP_DAYS, everything_in, tidy, waiting_in


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage()


def test_a_deed_whose_line_was_never_written_is_in_the_audit_when_somebody_looks(stage):
    one = stage.ask()
    stage.store.answer(
        one, GivenAnswer(APPROVED, by="hugo", how="a terminal", pid=9, at=stage.clock.now(), reason="ok")
    )
    assert stage.events == ["asked"]  # and here it was killed
    stage.clock.sleep(STILL_WRITING + 1)
    everything_in(stage.room, "crew")
    everything_in(stage.room, "crew")
    assert stage.events == ["asked", "approved"]
    line = stage.store.audit("crew")[1]
    assert (line["by"], line["how"], line["pid"], line["reason"]) == ("hugo", "a terminal", 9, "ok")


def test_who_is_about_to_write_a_line_is_not_forestalled(stage):
    one = stage.ask()
    stage.store.answer(one, GivenAnswer(APPROVED, by="hugo", how="h", pid=9, at=stage.clock.now()))
    everything_in(stage.room, "crew")
    assert stage.events == ["asked"]


def test_nothing_is_written_twice(stage):
    one = stage.ask()
    assert use(stage.room, give_answer(stage.room, one, "hugo", APPROVED, "", "h"))
    stage.clock.sleep(STILL_WRITING + 1)
    everything_in(stage.room, "crew")
    assert stage.events == ["asked", "approved", "used"]


def test_to_look_at_what_waits_writes_nothing(stage):
    stage.ask()
    stage.clock.sleep(stage.room.expire + 1)
    assert waiting_in(stage.room, "crew") == []
    assert stage.events == ["asked"]


def test_what_goes_after_a_month_is_in_the_audit(stage):
    one = stage.ask()
    stage.clock.sleep(stage.room.expire + (KEEP_DAYS + 1) * 86_400)
    assert tidy(stage.room, "crew") == 1
    assert stage.store.read("crew", one.id) is None
    assert stage.events == ["asked", "expired"]
