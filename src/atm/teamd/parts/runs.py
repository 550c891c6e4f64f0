"""Runs in the daemon: what their loops write down is told to everybody who listens. No run needs the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.events.rules import RUN_KINDS
from atm.teamd.part import DaemonPart, LoopPlan
from atm.wiring.runs import build_runs

if TYPE_CHECKING:
    from atm.runs.rules.memory import RunEvent
    from atm.teamd.part import Core

PERIOD = 0.5


class RunLoops:
    """Only the newest run of a team can say anything new."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._runs = build_runs(core.layout)
        self._told: dict[str, tuple[str, int]] = {}
        """By team: the run, and how many bytes of its events have been told."""
        self._is_first = True

    def tell(self) -> int:
        done = 0
        for team in self._core.rounds.names():
            done += self._core.rounds.attempt(self._tell_of, team) or 0
        self._is_first = False
        return done

    def _tell_of(self, team: str) -> int:
        names = self._runs.names(team)
        if not names:
            return 0
        run, offset = self._told.get(team, ("", 0))
        if run != names[-1]:
            run, offset = names[-1], 0
        events, self._told[team] = self._since(team, run, offset)
        for event in events:
            if event.kind in RUN_KINDS:
                self._core.rounds.tell(event.kind, team, event.subject, **{**event.detail, "run": run})
        return len(events)

    def _since(self, team: str, run: str, offset: int) -> tuple[list[RunEvent], tuple[str, int]]:
        """What happened before the daemon was there is no news."""
        events, offset = self._runs.events_since(team, run, offset)
        return [] if self._is_first else events, (run, offset)

    def forget_all_but(self, teams: set[str]) -> None:
        self._told = {team: known for team, known in self._told.items() if team in teams}


class RunsPart(DaemonPart):
    """Events of runs."""

    name = "runs"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = RunLoops(core)

    def loops(self) -> list[LoopPlan]:
        return [LoopPlan(name="runs", work=self._work.tell, period=PERIOD)]

    def forget_all_but(self, teams: set[str]) -> None:
        self._work.forget_all_but(teams)


PART = RunsPart
