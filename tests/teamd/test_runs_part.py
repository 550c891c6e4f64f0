"""Events of runs, on the daemon's stream."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from atm.files.formats.layout import Layout
from atm.runs.rules.memory import APPROVAL_ASKED, COMPLETED, STARTED, RunEvent
from atm.teamd.parts.runs import RunLoops
from atm.wiring.runs import build_runs


class Rounds:
    """Of a daemon that looks after one team."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str, Any]] = []

    def names(self) -> list[str]:
        return ["crew"]

    def attempt(self, work: Any, *words: Any) -> Any:
        return work(*words)

    def tell(self, kind: str, team: str, subject: str, **facts: Any) -> None:
        self.told.append((kind, team, subject, facts.get("run")))


def test_what_a_loop_writes_down_is_told_once_and_what_was_before_is_no_news(layout: Layout) -> None:
    Path(layout.team("crew")).mkdir(parents=True)
    runs, rounds = build_runs(layout), Rounds()
    runs.append("crew", "r1", [RunEvent(STARTED, "r1", 1.0)])
    part = RunLoops(SimpleNamespace(layout=layout, rounds=rounds))  # type: ignore[arg-type]
    part.tell()
    assert rounds.told == []
    runs.append("crew", "r1", [RunEvent(COMPLETED, "7", 2.0), RunEvent(APPROVAL_ASKED, "x", 2.0)])
    part.tell()
    part.tell()
    assert rounds.told == [("task.completed", "crew", "7", "r1")]  # approvals have a part of their own


def test_a_run_that_began_meanwhile_is_told_from_its_beginning(layout: Layout) -> None:
    Path(layout.team("crew")).mkdir(parents=True)
    runs, rounds = build_runs(layout), Rounds()
    part = RunLoops(SimpleNamespace(layout=layout, rounds=rounds))  # type: ignore[arg-type]
    part.tell()
    runs.append("crew", "r1", [RunEvent(STARTED, "r1", 1.0)])
    part.tell()
    runs.append("crew", "r2", [RunEvent(STARTED, "r2", 2.0)])
    part.tell()
    assert [(kind, run) for kind, _, _, run in rounds.told] == [("run.started", "r1"), ("run.started", "r2")]
    part.forget_all_but(set())
    assert part._told == {}
