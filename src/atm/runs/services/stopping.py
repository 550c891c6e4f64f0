"""
An emergency stop of teams that may have a run under way.

The loop of a run is no agent: it is asked by the latch of its team, which it reads at every tick, ends its agents,
saves their work and writes its report. It gets no signal, so no file can name a process in its place. A loop that is
suspended reads the latch as soon as a person continues it, so this command does not wait for it.
"""

from __future__ import annotations

from atm.crew.services.ending import stop
from atm.runs.rules.standing import RUNNING, SUSPENDED, run_state
from atm.runs.services.starting import memory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.services.crewroom import Crewroom
    from atm.crew.services.ending import Stopped
    from atm.runs.ports import Runs

NAP = 0.05
PATIENT = 60.0
"""Seconds that a run has to write its report. It gives its agents five, and saving their work takes the rest."""


class RunStopped:
    """A run that was under way when its team was stopped."""

    __slots__ = ("has_report", "pid", "run", "state", "team")

    def __init__(self, team: str, run: str, state: str, *, has_report: bool, pid: int = 0) -> None:
        self.team = team
        self.run = run
        self.state = state
        """`running` if it did not end in time; `suspended` if it can end only after a person continues it."""
        self.has_report = has_report
        self.pid = pid
        """Its process, if it is suspended; else 0."""

    @property
    def is_over(self) -> bool:
        return self.state not in (RUNNING, SUSPENDED)


def stop_with_runs(
    runs: Runs, crew: Crewroom, teams: Sequence[str], by: str, known: Sequence[str] = (), seconds: float = PATIENT
) -> tuple[Stopped, list[RunStopped]]:
    """End the agents of these teams (without any: of all), and wait for the reports of their runs."""
    held = [team for team in sorted({*(teams or (*crew.records.teams(), *known))}) if runs.is_held(team)]
    names = {team: (runs.names(team) or [""])[-1] for team in held}

    def await_runs() -> None:
        end = crew.clock.monotonic() + seconds
        while any(_is_ending(runs, team) for team in held) and crew.clock.monotonic() < end:
            crew.clock.sleep(NAP)

    done = stop(crew, teams, by, await_runs, also_latched=held)
    return done, [_how_it_ended(runs, team, run) for team, run in names.items()]


def _is_ending(runs: Runs, team: str) -> bool:
    return runs.is_held(team) and not runs.suspended_loop(team)


def _how_it_ended(runs: Runs, team: str, run: str) -> RunStopped:
    is_held = runs.is_held(team)
    if is_held and (pid := runs.suspended_loop(team)):
        return RunStopped(team, run, SUSPENDED, has_report=False, pid=pid)
    if not run:  # it was only being prepared, or its folder cannot be read
        return RunStopped(team, run, RUNNING if is_held else "", has_report=False)
    state = run_state(memory_of(runs, team, run), is_held=is_held)
    return RunStopped(team, run, RUNNING if is_held else state, has_report=runs.report(team, run) is not None)
