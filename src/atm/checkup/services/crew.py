"""What `atm doctor` finds about agents that atm started."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from atm.checkup.services.findings import FIX, NOTE, WARNING, Finding
from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_word
from atm.crew.services.crewroom import is_being_started, is_running
from atm.crew.services.reaping import reconcile
from atm.team.services.registry import find_team

if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom


def _is_completed(crew: Crewroom, team: str) -> bool:
    """Nothing is started in a completed team, stopped or not."""
    try:
        return find_team(crew.room, team).completed
    except (AtmError, OSError):
        return False


def examine_agents(crew: Crewroom) -> Iterator[Finding | str]:
    """Reads only."""
    running = 0
    for team in crew.records.teams():
        for member in crew.records.names(team):
            record = crew.records.read(team, member)
            if record is not None and (is_running(crew, record) or is_being_started(crew, record)):
                running += 1
            elif record is None or not record.is_over or record.worktree or record.slot >= 0:
                what = f"{member}@{team} runs no more and was not cleared away: work of it may lie in a worktree"
                mend = partial(reconcile, crew, team)
                yield Finding("dead-agent", WARNING, what, FIX, mend=mend, subject=f"{team}/{member}")
        if crew.records.latch(team) is not None and not _is_completed(crew, team):
            what = f"team {team} was stopped: nothing is started in it before a person does"
            yield Finding("stopped-team", NOTE, what, f"atm up --team {shell_word(team)}", subject=team)
    yield f"{running} run" if running else "none run"
