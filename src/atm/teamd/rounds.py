"""
Whom a round is about: what the watch has told since the last one, and now and then everybody.

Everything is decided from files that are read afresh; what is kept in memory only saves looking. A team that vanishes
in the middle, or a file that cannot be read, costs that team this round and nobody else anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from atm.core.errors import AtmError
from atm.events.rules import TeamEvent

if TYPE_CHECKING:
    from atm.checkup.ports import FilesAround
    from atm.core.plain import Plain
    from atm.delivery.ports.agent_sessions import AgentSessions
    from atm.delivery.services.pushing import Channels
    from atm.events.adapters.tree_watch import Touched
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team
    from atm.worksync.services.syncroom import SyncRoom

BOARD_MINUTES, STALL_MINUTES = 30.0, 30.0
FULL_EVERY = {"reconcile": 120.0, "deliver": 60.0}
"""
Seconds after which a round is for everybody although one member in particular is meant. For rows that were dropped well
below the five minutes that the look back into a ledger takes in.
"""

Log = Callable[..., None]
"""`log(level, source, text, **fields)`."""


T = TypeVar("T")


class Attempt:
    """Call it with work and its arguments: the result, or None and a line in the log."""

    def __init__(self, log: Callable[..., None], source: str) -> None:
        self._log = log
        self._source = source

    def __call__(self, work: Callable[..., T], *args: object) -> T | None:
        try:
            return work(*args)
        except AtmError as error:
            self._log("debug", self._source, str(error))
        except Exception as error:  # noqa: BLE001 - a bug that one team's files bring out must not stop the others
            self._log("error", self._source, f"unexpected {type(error).__name__}: {error}")
        return None


class Rounds:
    """What all loops share: the services, the settings in force, and who was touched since the last round."""

    def __init__(
        self,
        syncroom: SyncRoom,
        channels: Channels,
        publish: Callable[[TeamEvent], None],
        log: Log,
        board_minutes: float = BOARD_MINUTES,
        around: FilesAround | None = None,
        stall_minutes: float = STALL_MINUTES,
        sessions: AgentSessions | None = None,
    ) -> None:
        self.syncroom = syncroom
        self.sessions = sessions
        self.channels = channels
        self.around = around
        self.board_minutes = board_minutes
        """Minutes after which whoever has to answer is told that a review, a plan or a question waits."""
        self.stall_minutes = stall_minutes
        self.log = log
        self.attempt = Attempt(log, "daemon")
        self.ask_again: Callable[[str, float], None] = lambda *_: None
        """Asks for another round of a loop after so many seconds."""
        self.look_again: set[str] = set()
        self.forgetting: list[Callable[[set[str]], None]] = []
        """Told which teams there still are."""
        self._publish = publish
        self._lock = threading.Lock()
        self._touched_teams: set[str] = set()
        self._touched_members: set[tuple[str, str]] = set()
        self._touched_rosters: set[str] = set()
        self._full_at: dict[str, float] = {}

    @property
    def boardroom(self) -> FullBoardroom:
        return self.syncroom.boardroom

    @property
    def room(self) -> Teamroom:
        return self.boardroom.room

    def ask_again_later(self, loop: str, seconds: float) -> None:
        """As `ask_again`, for those who are made before the daemon has said how."""
        self.ask_again(loop, seconds)

    def tell(self, kind: str, team: str, subject: str, **detail: Plain) -> None:
        self._publish(TeamEvent(kind, team, subject, self.room.clock.now(), detail))

    def forget_all_but(self, teams: set[str]) -> None:
        for forget in self.forgetting:
            forget(teams)

    # What the watch tells. Called in the daemon's own thread.

    def touched(self, touched: Touched) -> None:
        """A file has changed: whom the next rounds are about."""
        if touched.kind in ("inbox", "endpoints", "heartbeat") and touched.team:
            self.touch(touched.team, touched.name)
        elif touched.kind == "roster" and touched.team:
            self.touch_roster(touched.team)

    def touch(self, team: str, member: str = "") -> None:
        with self._lock:
            self._touched_teams.add(team)
            if member:
                self._touched_members.add((team, member))

    def touch_roster(self, team: str) -> None:
        """A pane may have been entered for a member whose mail waits."""
        with self._lock:
            self._touched_rosters.add(team)

    # Who a round is about.

    def teams_of_round(self) -> list[Team]:
        with self._lock:
            names = self._touched_teams | self.look_again
            everything = self._is_for_everybody("reconcile", bool(self._touched_teams))
            self._touched_teams, self.look_again = set(), set()
        return list(self.teams(None if everything else names))

    def members_of_round(self) -> tuple[set[tuple[str, str]], list[str], bool, bool]:
        """Members and teams that were touched; whether everybody is meant; and whether that is the first time."""
        with self._lock:
            named, rosters = set(self._touched_members), self._touched_rosters
            self._touched_members.clear()
            self._touched_rosters = set()
            is_first = "deliver" not in self._full_at
            everything = self._is_for_everybody("deliver", bool(named or rosters))
        return named, sorted(rosters), everything, is_first

    def _is_for_everybody(self, loop: str, is_asked: bool) -> bool:
        """Nobody in particular is meant, or a team that is always busy has put the others off for long enough."""
        now = self.room.clock.monotonic()
        if is_asked and now < self._full_at.get(loop, float("-inf")) + FULL_EVERY[loop]:
            return False
        self._full_at[loop] = now
        return True

    def names(self) -> list[str]:
        return self.attempt(self.room.rosters.teams) or []

    def teams(self, only: set[str] | None = None) -> Iterator[Team]:
        for name in self.names():
            team = self.attempt(self.room.rosters.load, name) if only is None or name in only else None
            if team is not None:
                yield team
