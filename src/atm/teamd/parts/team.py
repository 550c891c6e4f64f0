"""The loops of teams: who fell silent, who is back, and what killed processes left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.checkup.services.tidying import STALE_AFTER, tidy
from atm.events.rules import MEMBER_BACK, MEMBER_SILENT
from atm.team.rules.liveness import OFFLINE, ONLINE
from atm.team.services.presence import liveness
from atm.teamd.part import DaemonPart, LoopPlan
from atm.teamd.parts.board import BoardLoops

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.teamd.rounds import Rounds


class TeamLoops:
    """And how everybody was when they were last looked at."""

    def __init__(
        self, rounds: Rounds, release: Callable[[str], None], forget_all_but: Callable[[set[str]], None]
    ) -> None:
        self._rounds = rounds
        self._release = release
        """Gives the tasks of a team's silent members back to the board."""
        self._forget_elsewhere = forget_all_but
        self._silent: dict[tuple[str, str], str] = {}
        self._people: dict[str, set[tuple[str, float | None]]] = {}
        """Who was on each roster at the last look, and since when."""

    def tidy(self) -> int:
        """Clear away what killed processes left; a lock that may still have a holder is looked at again."""
        if self._rounds.around is None:
            return 0
        done = tidy(self._rounds.room, self._rounds.around)
        if done.is_young_lock_left:
            self._rounds.ask_again("tidy", STALE_AFTER + 1)
        if done.count:
            self._rounds.log("info", "tidy", f"{done.count} things that killed processes left are gone")
        return done.count

    def look_for_silence(self) -> int:
        """Who fell silent, and who is back. Tasks of the silent go back to the board."""
        names = self._rounds.names()
        self._forget_all_but(set(names))
        return sum(self._rounds.attempt(self._look_at, team) or 0 for team in names)

    def _look_at(self, team: str) -> int:
        changes, values, roster = 0, set(), self._rounds.room.rosters.load(team)
        for member in self._rounds.room.presence.heard_of(team):
            now = liveness(self._rounds.room.presence, roster, member, self._rounds.room.clock.now())
            former = self._silent.get((team, member))
            self._silent[team, member] = now.value
            values.add(now.value)
            if former in (ONLINE, OFFLINE) and former != now.value and now.value in (ONLINE, OFFLINE):
                changes += 1
                self._rounds.tell(MEMBER_BACK if now.value == ONLINE else MEMBER_SILENT, team, member, why=now.source)
        people = {(member.name, member.joined_at) for member in roster.members}
        if OFFLINE in values or self._people.get(team, people) != people:  # a namesake holds nothing of who left
            self._release(team)
        self._people[team] = people
        return changes

    def _forget_all_but(self, teams: set[str]) -> None:
        """A machine that makes a team for every branch runs for months."""
        for key in [key for key in list(self._silent) if key[0] not in teams]:
            self._silent.pop(key, None)
        for gone in set(self._people) - teams:
            self._people.pop(gone, None)
        self._forget_elsewhere(teams)


class TeamPart(DaemonPart):
    """Teams in the daemon."""

    name = "team"

    def loops(self) -> list[LoopPlan]:
        rounds = self.core.rounds
        work = TeamLoops(rounds, BoardLoops(rounds).release, rounds.forget_all_but)
        return [
            LoopPlan(name="tidy", work=work.tidy, period=120.0, bound=120.0),
            LoopPlan(name="silence", work=work.look_for_silence, period=60.0),
        ]


PART = TeamPart
