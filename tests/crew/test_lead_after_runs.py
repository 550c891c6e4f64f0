"""The loop of a run stands for the lead. After its end the lead is not shown at work, and offline beside that."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.crew.conftest import Crew
from tests.crew.test_runs import Slow, plan

__all__ = ["plan"]


def lead_of(crew: Crew) -> dict[str, Any]:
    members = crew("members", "--team", "crew", "--json").json["members"]
    return next(one for one in members if one["name"] == "team-lead")


def test_the_lead_works_while_the_run_does_and_rests_after_its_end(crew: Crew, plan: Path) -> None:
    crew("teams", "add-member", "crew", "team-lead")
    slow = Slow(crew, plan)
    crew.eventually(lambda: lead_of(crew)["state"] == "working")
    assert lead_of(crew)["liveness"] == "online"
    slow.go.write_text("")
    slow.process.communicate(timeout=120)
    assert (lead_of(crew)["state"], lead_of(crew)["liveness"]) == ("idle", "offline")
    rows = crew("status", "--team", "crew").out.splitlines()
    (row,) = (line for line in rows if "team-lead " in line and "│" not in line)
    assert "working" not in row


@pytest.mark.parametrize(("number", "state"), [(signal.SIGINT, "idle"), (signal.SIGKILL, "ended")])
def test_the_lead_does_not_work_after_a_run_was_interrupted_or_killed(
    crew: Crew, plan: Path, number: int, state: str
) -> None:
    crew("teams", "add-member", "crew", "team-lead")
    slow = Slow(crew, plan)
    crew.eventually(lambda: lead_of(crew)["state"] == "working")
    slow.end(number)
    assert (lead_of(crew)["state"], lead_of(crew)["liveness"]) == (state, "offline")
    slow.go.write_text("")
