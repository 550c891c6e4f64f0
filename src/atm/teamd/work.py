"""
What the daemon does, as plain functions over the services: each is the work of one loop and runs in a thread.

Everything is decided from files that are read afresh; what is kept in memory only saves looking. A team that vanishes
in the middle, or a file that cannot be read, costs that team this round and nobody else anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from atm.domain.errors import AtmError
from atm.domain.events import MEMBER_BACK, MEMBER_SILENT, MESSAGE_ESCALATED, MESSAGE_FAILED, MESSAGE_SURFACED, TeamEvent
from atm.domain.liveness import OFFLINE, ONLINE
from atm.domain.receipts import ACK_DUE
from atm.services.delivery import IN_DOUBT, REFUSED, SURFACED, WAITING, Pushed, Reach, push, why_it_waits
from atm.services.escalation import Told, escalate, unacknowledged
from atm.services.mail_upkeep import compact_if_due
from atm.services.mailroom import Recipient
from atm.services.presence import liveness
from atm.services.putting_back import put_back_dropped
from atm.services.spooling import drain
from atm.services.tidying import STALE_AFTER, tidy
from atm.teamd.attempts import Attempt
from atm.teamd.sync_work import SyncWork

if TYPE_CHECKING:
    from atm.domain.escalation import Waiting
    from atm.domain.plain import Plain
    from atm.domain.team import Team
    from atm.ports.inspection import Site
    from atm.services.full_boardroom import FullBoardroom
    from atm.services.teamroom import Teamroom
    from atm.services.worksync.plane import Plane

BOARD_MINUTES, STALL_MINUTES = 30.0, 30.0
FULL_EVERY = {"reconcile": 120.0, "deliver": 60.0}
"""
Seconds after which a round is for everybody although somebody in particular is meant. For rows that were dropped well
below the five minutes that the look back into a ledger takes in.
"""

DOUBT_SECONDS = 10.0
AGAIN_SECONDS = 5.0
MOST_IN_A_ROW = 20
"""Messages that one agent is given one after the other before the others have their turn."""

Log = Callable[..., None]
"""`log(level, source, text, **fields)`."""


class Work:
    """The services as the daemon uses them, and what it remembers between two rounds."""

    def __init__(
        self,
        plane: Plane,
        reach: Reach,
        publish: Callable[[TeamEvent], None],
        log: Log,
        board_minutes: float = BOARD_MINUTES,
        site: Site | None = None,
        stall_minutes: float = STALL_MINUTES,
    ) -> None:
        self.plane = plane
        self.reach = reach
        self.site = site
        self.board_minutes = board_minutes
        """Minutes after which somebody is told that a review, a plan or a question waits."""
        self._publish = publish
        self._log = log
        self._try = Attempt(log, "daemon")
        self.ask_again: Callable[[str, float], None] = lambda *_: None
        """Asks for another round of a loop after so many seconds."""
        self._lock = threading.Lock()
        self._touched_teams: set[str] = set()
        self._look_again: set[str] = set()
        self._touched_members: set[tuple[str, str]] = set()
        self._touched_rosters: set[str] = set()
        self._full_at: dict[str, float] = {}
        self._waiting: dict[str, tuple[object, list[Waiting]]] = {}
        self._silent: dict[tuple[str, str], str] = {}
        self._said: dict[tuple[str, str], str] = {}
        self._not_before: dict[tuple[str, str], float] = {}
        self.stall_minutes = stall_minutes
        self.sync = SyncWork(lambda: self.plane, log, self._ask_again, lambda: self.stall_minutes)
        self._again: set[tuple[str, str]] = set()
        """Whom a pane or a server refused: tried again on every round."""

    def use(self, plane: Plane, reach: Reach, board_minutes: float, stall_minutes: float) -> None:
        """The settings have changed: from the next round on."""
        self.plane, self.reach = plane, reach
        self.board_minutes, self.stall_minutes = board_minutes, stall_minutes

    @property
    def desk(self) -> FullBoardroom:
        return self.plane.desk

    @property
    def room(self) -> Teamroom:
        return self.desk.room

    def _ask_again(self, loop: str, seconds: float) -> None:
        self.ask_again(loop, seconds)

    # What the watch tells. Called in the daemon's own thread.

    def touch(self, team: str, member: str = "") -> None:
        with self._lock:
            self._touched_teams.add(team)
            if member:
                self._touched_members.add((team, member))

    def touch_roster(self, team: str) -> None:
        """A pane may have been entered for somebody whose mail waits."""
        with self._lock:
            self._touched_rosters.add(team)

    # Loops.

    def drain_spool(self, *, everything: bool = False) -> int:
        done = drain(self.room, everything=everything, patient=True)
        if done.failed:
            self._log("warn", "spool", f"{done.failed} messages were given up and kept; see `atm spool list --failed`")
            self._tell(MESSAGE_FAILED, "", "spool", count=done.failed)
        if done.delivered:
            self._log("info", "spool", f"{done.delivered} messages delivered, {done.waiting} wait")
        return done.delivered

    def put_back(self) -> int:
        """Rows that somebody's stale rewrite dropped: at once where a file changed, everywhere on a full round."""
        return sum(self._try(self._put_back_in, team) or 0 for team in self._teams_of_round())

    def _put_back_in(self, team: Team) -> int:
        unable: list[str] = []
        count = put_back_dropped(self.room, team, unable=unable)
        if count:
            self._log("warn", "reconcile", f"{count} rows that were dropped are back", team=team.name)
        if unable:
            self._look_again.add(team.name)  # an inbox could not be looked at now
            self.ask_again("reconcile", AGAIN_SECONDS)
        return count

    def tidy(self) -> int:
        """Clear away what killed processes left; a lock that may still be somebody's is looked at again."""
        if self.site is None:
            return 0
        done = tidy(self.room, self.site)
        if done.is_young_lock_left:
            self.ask_again("tidy", STALE_AFTER + 1)
        if done.count:
            self._log("info", "tidy", f"{done.count} things that killed processes left are gone")
        return done.count

    def apply_retention(self) -> int:
        done = 0
        for team in self._teams():
            for owner in self._try(self.room.inboxes.owners, team.name) or []:
                done += self._try(compact_if_due, self.room, Recipient(team, owner, team.member(owner))) or 0
        return done

    def look_for_silence(self) -> int:
        """Who fell silent, and who is back. Tasks of the silent go back to the board."""
        names = self._names()
        self._forget_all_but(set(names))
        return sum(self._try(self._look_at, team) or 0 for team in names)

    def _forget_all_but(self, teams: set[str]) -> None:
        """A machine that makes a team for every branch runs for months."""
        self._waiting = {team: known for team, known in self._waiting.items() if team in teams}
        for memory in (self._silent, self._said, self._not_before):
            for key in [key for key in list(memory) if key[0] not in teams]:
                memory.pop(key, None)  # another loop may be at it
        for key in [key for key in list(self._again) if key[0] not in teams]:
            self._again.discard(key)  # in place: the delivery loop adds to it meanwhile

    def _look_at(self, team: str) -> int:
        changes, values = 0, set()
        for member in self.room.presence.heard_of(team):
            now = liveness(self.room.presence, team, member, self.room.clock.now())
            former = self._silent.get((team, member))
            self._silent[team, member] = now.value
            values.add(now.value)
            if former in (ONLINE, OFFLINE) and former != now.value and now.value in (ONLINE, OFFLINE):
                changes += 1
                self._tell(MEMBER_BACK if now.value == ONLINE else MEMBER_SILENT, team, member, why=now.source)
        if OFFLINE in values:
            self._release(team)
        return changes

    def _release(self, team: str) -> None:
        from atm.services.board import release_silent

        if self.room.rosters.is_completed(team) or not self._try(self.desk.tasks.exists, team):
            return
        released = self._try(release_silent, self.desk, team) or []
        if released:
            self._log("info", "silence", f"tasks {', '.join(released)} went back to the board", team=team)

    def tell_unanswered(self) -> int:
        done = 0
        for name in self._names():
            waiting = self._try(self._waiting_in, name)
            team = self._try(self.room.rosters.load, name) if waiting else None
            told = (self._try(escalate, self.room, team, waiting) or []) if team is not None else []
            for one in told:
                self._report(one)
            done += len(told)
        return done

    def remind_boards(self) -> int:
        """Reviews, plans and questions that wait. Boards that did not change and have nothing due cost one look."""
        from atm.services.board_escalation import remind

        done = 0
        for name in self._names():
            team = self._try(self.room.rosters.load, name) if self._try(self.desk.tasks.exists, name) else None
            for one in (self._try(remind, self.desk, team, self.board_minutes) or []) if team is not None else []:
                said = f"told {one.to}" if not one.problem else one.problem
                self._log("warn", "reminders", f"#{one.card.id} waits for {one.what}: {said}", team=name)
                done += 1
        return done

    def _waiting_in(self, team: str) -> list[Waiting]:
        """The ledger is read again only when it has changed, and only if somebody ever asked for an answer."""
        version = self.room.ledger.version(team)
        known = self._waiting.get(team)
        if known is None or known[0] != version:
            asked = version is not None and self.room.ledger.mentions(team, f'"{ACK_DUE}"')
            known = (version, unacknowledged(self.room, team) if asked else [])
            self._waiting[team] = known
        return known[1]

    def _report(self, told: Told) -> None:
        waiting = told.waiting
        said = f"told {told.to}" if not told.problem else told.problem
        self._log("warn", "escalation", f"{waiting.agent} did not acknowledge {waiting.id}: {said}", team=waiting.team)
        self._tell(MESSAGE_ESCALATED, waiting.team, waiting.agent, id=waiting.id, to=told.to, problem=told.problem)

    def deliver(self) -> int:
        """Put unread mail before those who can be reached: whose inbox changed; on a full round, everybody."""
        done = 0
        for team, name in self._members_of_round():
            if self.room.clock.monotonic() < self._not_before.get((team, name), 0.0):
                continue
            for _ in range(MOST_IN_A_ROW):
                pushed = self._try(self._push, team, name)
                done += self._note(pushed) if pushed is not None else 0
                if pushed is None or pushed.outcome != SURFACED:
                    break
        return done

    def _push(self, team: str, name: str) -> Pushed | None:
        spelled = self.room.rosters.find(team)
        if spelled is None:
            return None
        try:
            found = self.room.rosters.load(spelled)
            if self._waits_as_before(found, name):
                self._again.discard((team, name))
                return None
            return push(self.room, self.reach, found, name)
        except AtmError:
            self._again.add((team, name))  # a lock that somebody holds, a file that cannot be read now
            raise

    def _waits_as_before(self, team: Team, name: str) -> bool:
        """Nobody can reach it, and that was said: then its mail, which may be much, is not read after each message."""
        member, why = team.member(name), why_it_waits(self.room, self.reach, team, name)
        return member is not None and bool(why) and self._said.get((team.name, member.name)) == _words(WAITING, why)

    def _note(self, pushed: Pushed) -> int:
        """In the log when something was done, or when the reason for waiting is a new one."""
        key, said = (pushed.team, pushed.member), _words(pushed.outcome, pushed.evidence)
        (self._again.add if pushed.outcome in (REFUSED, IN_DOUBT) else self._again.discard)(key)
        if pushed.outcome == IN_DOUBT:  # what came of it is seen later; our own note of it must not wake us at once
            self._not_before[key] = self.room.clock.monotonic() + DOUBT_SECONDS
        if self._said.get(key) != said:
            self._said[key] = said
            self._log("info", "delivery", said, team=pushed.team, member=pushed.member, ids=pushed.ids[:20])
        if pushed.outcome != SURFACED:
            return 0
        ids: list[Plain] = [*pushed.ids]
        self._tell(MESSAGE_SURFACED, pushed.team, pushed.member, ids=ids, evidence=pushed.evidence)
        return len(pushed.ids)

    # Who a round is about.

    def _is_for_everybody(self, loop: str, is_asked: bool) -> bool:
        """Nobody in particular is meant, or a team that is always busy has put the others off for long enough."""
        now = self.room.clock.monotonic()
        if is_asked and now < self._full_at.get(loop, float("-inf")) + FULL_EVERY[loop]:
            return False
        self._full_at[loop] = now
        return True

    def _teams_of_round(self) -> list[Team]:
        with self._lock:
            names = self._touched_teams | self._look_again
            everything = self._is_for_everybody("reconcile", bool(self._touched_teams))
            self._touched_teams, self._look_again = set(), set()
        return list(self._teams(None if everything else names))

    def _members_of_round(self) -> list[tuple[str, str]]:
        with self._lock:
            named, rosters = set(self._touched_members), self._touched_rosters
            self._touched_members.clear()
            self._touched_rosters = set()
            is_first = "deliver" not in self._full_at
            everything = self._is_for_everybody("deliver", bool(named or rosters))
        named |= self._with_panes(sorted(rosters))
        if not everything:
            return sorted(named)
        known = {
            (team, member) for team in self._names() for member in (self._try(self.room.endpoints.known, team) or [])
        }
        return sorted(named | known | self._again | (self._with_panes(self._names()) if is_first else set()))

    def _with_panes(self, names: list[str]) -> set[tuple[str, str]]:
        """Programs without hooks, of which only the roster knows; mail may have come while no daemon ran."""
        teams = [team for name in names if (team := self._try(self.room.rosters.load, name)) is not None]
        return {(team.name, member.name) for team in teams for member in team.members if member.pane_id[:1] == "%"}

    def _names(self) -> list[str]:
        return self._try(self.room.rosters.teams) or []

    def _teams(self, only: set[str] | None = None) -> Iterator[Team]:
        for name in self._names():
            team = self._try(self.room.rosters.load, name) if only is None or name in only else None
            if team is not None:
                yield team

    def _tell(self, kind: str, team: str, subject: str, **detail: Plain) -> None:
        self._publish(TeamEvent(kind, team, subject, self.room.clock.now(), detail))


def _words(outcome: str, evidence: str) -> str:
    return f"{outcome}: {evidence}"
