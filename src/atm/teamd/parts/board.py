"""The loops of the board: tasks of the silent, and what waits too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.teamd.part import DaemonPart, LoopPlan

if TYPE_CHECKING:
    from atm.teamd.rounds import Rounds


class BoardLoops:
    """What the daemon does for boards."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds

    def release(self, team: str) -> None:
        from atm.board.services.leaving import release_silent

        if self._rounds.room.rosters.is_completed(team) or not self._rounds.attempt(
            self._rounds.boardroom.tasks.exists, team
        ):
            return
        released = self._rounds.attempt(release_silent, self._rounds.boardroom, team) or []
        if released:
            self._rounds.log("info", "silence", f"tasks {', '.join(released)} went back to the board", team=team)

    def remind_boards(self) -> int:
        """Reviews, plans and questions that wait. Boards that did not change and have nothing due cost one look."""
        from atm.board.services.escalation import remind

        done = 0
        for name in self._rounds.names():
            team = (
                self._rounds.attempt(self._rounds.room.rosters.load, name)
                if self._rounds.attempt(self._rounds.boardroom.tasks.exists, name)
                else None
            )
            for one in (
                (self._rounds.attempt(remind, self._rounds.boardroom, team, self._rounds.board_minutes) or [])
                if team is not None
                else []
            ):
                said = f"told {one.to}" if not one.problem else one.problem
                self._rounds.log("warn", "reminders", f"#{one.card.id} waits for {one.what}: {said}", team=name)
                done += 1
        return done


class BoardPart(DaemonPart):
    """Boards in the daemon."""

    name = "board"

    def loops(self) -> list[LoopPlan]:
        return [LoopPlan(name="reminders", work=BoardLoops(self.core.rounds).remind_boards, period=60.0)]


PART = BoardPart
