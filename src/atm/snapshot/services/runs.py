"""
The last run of a team, as long as it is not over: how it stands, since when, and the command that resumes it.

Only the last: a run that began later has taken over what an earlier one left on the board.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.board.rules.acceptance import is_command
from atm.board.rules.tasks import COMPLETED
from atm.board.services.marks import entered
from atm.core.untrusted_text import shell_words
from atm.crew.services.crewroom import is_running
from atm.crew.services.ending import agents_of
from atm.files.formats.times import to_iso
from atm.runs.rules.actions import SUCCESS
from atm.runs.rules.memory import RunMemory
from atm.runs.rules.standing import (
    DIED,
    HELD,
    RESUMABLE,
    RUNNING,
    SUSPENDED,
    continue_command,
    resume_command,
    standing_of,
)
from atm.runs.rules.view import CLOSED_STATES
from atm.runs.services.starting import last_seen
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.ports import Approvals
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.crew.services.crewroom import Crewroom
    from atm.merges.ports import Merges
    from atm.runs.ports import Runs
    from atm.runs.rules.orders import RunOrder
    from atm.team.rules.team import Team

LONGEST_REASON = 300


@dataclass(slots=True)
class KeptRun:
    """What was read of the last run of a team, and how many bytes of its events."""

    run: str = ""
    offset: int = 0
    memory: RunMemory = field(default_factory=RunMemory)
    order: RunOrder | None = None


class RunsNow:
    """Reads how the last runs of teams stand. Changes nothing."""

    def __init__(self, runs: Runs, crew: Crewroom, merges: Merges, approvals: Approvals) -> None:
        self._runs = runs
        self._crew = crew
        self._merges = merges
        self._approvals = approvals

    def of(self, team: Team, board: Board | None, kept: KeptRun | None = None) -> list[Plain]:
        """One row, or none. `kept` spares a caller that reads again and again the events that it has read."""
        kept = kept if kept is not None else KeptRun()
        if not self._read(team.name, kept):
            return []
        memory, is_held = kept.memory, self._runs.is_held(team.name)
        pid = self._runs.suspended_loop(team.name) if is_held else 0
        is_open = memory.outcome not in ("", SUCCESS) and bool(self._open(team.name, board, memory))
        state = standing_of(memory, is_held=is_held, is_open=is_open, is_suspended=pid > 0)
        return [self._row(team, board, kept, state, pid)] if state else []

    def _read(self, team: str, kept: KeptRun) -> bool:
        names = self._runs.names(team)
        if not names:
            return False
        if kept.run != names[-1]:
            kept.run, kept.offset, kept.memory, kept.order = names[-1], 0, RunMemory(), None
        events, kept.offset = self._runs.events_since(team, kept.run, kept.offset)
        for event in events:
            kept.memory.take(event)
        return True

    def _open(self, team: str, board: Board | None, memory: RunMemory) -> list[str]:
        """Tasks of the run that are still to be done, and those in a conflict that waits for a person."""
        cards = _cards(board, memory)
        found = [card.id for card in cards if board is not None and board.state(card) not in CLOSED_STATES]
        return [*found, *(id for id in self._in_conflict(team) if id in memory.tasks)]

    def _in_conflict(self, team: str) -> list[str]:
        queue = self._merges.read(team)
        return [one.task for one in queue.items if one.needs_human] if queue is not None else []

    def _row(self, team: Team, board: Board | None, kept: KeptRun, state: str, pid: int) -> dict[str, Plain]:
        """`pid`: the process of the loop, if it is suspended."""
        memory = kept.memory
        if kept.order is None or state != RUNNING:  # it may have become unreadable, and then cannot be resumed
            kept.order = self._runs.order(team.name, kept.run)
        cards = _cards(board, memory)
        states = [one.state for one in memory.tasks.values()]
        done = sum(card.status == COMPLETED for card in cards) if cards else states.count(COMPLETED)
        command, is_resumable = self._command(team.name, board, kept, state, pid)
        return {
            "run": kept.run,
            "state": state,
            "since": _iso(self._since(team, memory, state)),
            "resume": command or None,
            "resumable": is_resumable,
            "goal": (kept.order.goal or None) if kept.order is not None else None,
            "why": memory.ended_because[:LONGEST_REASON] or None,
            "done": done,
            "tasks": len(states),
            "alive": [*self._living(team.name, kept.run)] if state in (DIED, SUSPENDED) else [],
        }

    def _since(self, team: Team, memory: RunMemory, state: str) -> float:
        if state in (DIED, SUSPENDED):
            return last_seen(self._crew.room, team.name, team.lead, memory)
        if state == HELD and memory.waits_since:
            return memory.waits_since
        return memory.began_at if state == RUNNING else memory.last_at

    def _living(self, team: str, run: str) -> list[str]:
        """Agents of a died run whose hosts work on."""
        return [one.member for one in agents_of(self._crew, team) if one.run == run and is_running(self._crew, one)]

    def _command(self, team: str, board: Board | None, kept: KeptRun, state: str, pid: int) -> tuple[str, bool]:
        """What a person types next, and whether that is to resume the run."""
        if state == RUNNING:
            return "", False
        if state == SUSPENDED:
            return continue_command(pid), False
        if state == HELD:
            first = next(iter(self._for_people(team, board, kept.memory)), "")
            if first or kept.memory.waits_since:
                return first or f"atm top --team {shell_words(team)}", False
        can_resume = kept.order is not None and state in (*RESUMABLE, HELD)
        return (resume_command(team, kept.run), True) if can_resume else ("", False)

    def _for_people(self, team: str, board: Board | None, memory: RunMemory) -> list[str]:
        """Commands that show what a run waits for, each with the way to answer it."""
        named, now = f"--team {shell_words(team)}", self._crew.clock.now()
        asked = [one for one in self._approvals.all(team) if not one.problem and one.waits(now)]
        found = [f"atm approvals show {shell_words(one.id[:8])} {named}" for one in asked]
        open_cards = [one for one in _cards(board, memory) if not one.is_finished]
        waiting = [one for one in open_cards if one.needs or one.plan == "submitted" or self._waits(team, one, memory)]
        found += [f"atm tasks show {shell_words(one.id)} {named}" for one in waiting]
        return [*found, *(f"atm merge show {shell_words(id)} {named}" for id in self._in_conflict(team))]

    def _waits(self, team: str, card: Card, memory: RunMemory) -> bool:
        """
        Could it not be given to an agent? What a loop that lives notes is true now. After its end only a command that
        a person has not allowed still counts.
        """
        if memory.waits_since or not memory.tasks[card.id].refused:
            return bool(memory.tasks[card.id].refused)
        boardroom = self._crew.boardroom
        found, task = find_team(self._crew.room, team), boardroom.tasks.read(team, card.id)
        commands = (*task.run, *filter(is_command, task.acceptance))
        return any(entered(boardroom, found, task, command) is None for command in commands)


def _cards(board: Board | None, memory: RunMemory) -> list[Card]:
    return [one for one in board.cards.values() if one.id in memory.tasks and not one.is_hidden] if board else []


def _iso(at: float) -> str | None:
    return to_iso(at) if at else None
