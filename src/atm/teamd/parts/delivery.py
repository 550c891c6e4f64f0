"""The loops of delivery: unread mail is put before those who can be reached; turns that end without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from atm.core.errors import AtmError
from atm.delivery.services.pushing import (
    AT_IT,
    GRACE,
    IN_DOUBT,
    JUST_BEGUN,
    REFUSED,
    SURFACED,
    WAITING,
    Pushed,
    push,
    why_it_waits,
)
from atm.delivery.services.turn_watch import TurnWatch
from atm.events.rules import MESSAGE_SURFACED
from atm.teamd.part import DaemonPart, LoopPlan

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.teamd.part import Core
    from atm.teamd.rounds import Rounds

DOUBT_SECONDS = 10.0
MOST_IN_A_ROW = 20
"""Messages that one agent is given one after the other before the others have their turn."""


class DeliveryLoops:
    """And what was said about each agent, so that it is said once."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._said: dict[tuple[str, str], str] = {}
        self._not_before: dict[tuple[str, str], float] = {}
        self._again: set[tuple[str, str]] = set()
        """Whom a pane or a server refused: tried again on every round."""
        self._later: dict[tuple[str, str], float] = {}
        """Who has just begun, and when to look again."""
        self._turns = TurnWatch(rounds.sessions)

    def deliver(self) -> int:
        """Put unread mail before those who can be reached: whose inbox changed; on a full round, everybody."""
        done = 0
        for team, name in self._members_of_round():
            if self._rounds.room.clock.monotonic() < self._not_before.get((team, name), 0.0):
                continue
            for _ in range(MOST_IN_A_ROW):
                pushed = self._rounds.attempt(self._push, team, name)
                done += self._note(pushed) if pushed is not None else 0
                if pushed is None or pushed.outcome != SURFACED:
                    break
        if self._later:
            soon = min(self._later.values()) - self._rounds.room.clock.monotonic()
            self._rounds.ask_again("delivery", max(0.1, soon))
        return done

    def end_unsaid_turns(self) -> int:
        """Agents that count as busy and are not. Their heartbeat, which changes by this, brings them their mail."""
        rounds, done = self._rounds, 0
        self._turns.begin_round(rounds.channels.terminals if rounds.channels.panes_allowed else None)
        for team in rounds.teams():
            for name in rounds.attempt(rounds.room.endpoints.known, team.name) or []:
                if rounds.attempt(self._turns.look, rounds.room, team, name):
                    done += 1
                    rounds.log("info", "delivery", "its turn ended without a word", team=team.name, member=name)
        return done

    def _push(self, team: str, name: str) -> Pushed | None:
        spelled = self._rounds.room.rosters.find(team)
        if spelled is None:
            return None
        try:
            found = self._rounds.room.rosters.load(spelled)
            if self._waits_as_before(found, name):
                self._again.discard((team, name))
                return None
            return push(self._rounds.room, self._rounds.channels, found, name)
        except AtmError:
            self._again.add((team, name))  # a lock that another process holds, a file that cannot be read now
            raise

    def _waits_as_before(self, team: Team, name: str) -> bool:
        """Nobody can reach it, and that was said: then its mail, which may be much, is not read after each message."""
        member, why = team.member(name), why_it_waits(self._rounds.room, self._rounds.channels, team, name)
        return member is not None and bool(why) and self._said.get((team.name, member.name)) == _words(WAITING, why)

    def _note(self, pushed: Pushed) -> int:
        """In the log when something was done, or when the reason for waiting is a new one."""
        key, said = (pushed.team, pushed.member), _words(pushed.outcome, pushed.evidence)
        if pushed.evidence == JUST_BEGUN:
            self._later.setdefault(key, self._rounds.room.clock.monotonic() + GRACE)
            return 0
        is_open = pushed.outcome in (REFUSED, IN_DOUBT) or pushed.evidence == AT_IT
        (self._again.add if is_open else self._again.discard)(key)
        if pushed.outcome == IN_DOUBT:  # what came of it is seen later; our own note of it must not wake us at once
            self._not_before[key] = self._rounds.room.clock.monotonic() + DOUBT_SECONDS
        if self._said.get(key) != said:
            self._said[key] = said
            self._rounds.log("info", "delivery", said, team=pushed.team, member=pushed.member, ids=pushed.ids[:20])
        if pushed.outcome != SURFACED:
            return 0
        ids: list[Plain] = [*pushed.ids]
        self._rounds.tell(MESSAGE_SURFACED, pushed.team, pushed.member, ids=ids, evidence=pushed.evidence)
        return len(pushed.ids)

    def _members_of_round(self) -> list[tuple[str, str]]:
        named, rosters, everything, is_first = self._rounds.members_of_round()
        named |= self._with_panes(rosters) | self._due()
        if not everything:
            return sorted(named)
        names, known_in = self._rounds.names(), self._rounds.room.endpoints.known
        known = {(team, member) for team in names for member in (self._rounds.attempt(known_in, team) or [])}
        return sorted(named | known | self._again | (self._with_panes(names) if is_first else set()))

    def _due(self) -> set[tuple[str, str]]:
        now = self._rounds.room.clock.monotonic()
        due = {key for key, at in self._later.items() if at <= now}
        for key in due:
            del self._later[key]
        return due

    def _with_panes(self, names: list[str]) -> set[tuple[str, str]]:
        """Programs without hooks, of which only the roster knows; mail may have come while no daemon ran."""
        teams = [
            team for name in names if (team := self._rounds.attempt(self._rounds.room.rosters.load, name)) is not None
        ]
        return {(team.name, member.name) for team in teams for member in team.members if member.pane_id[:1] == "%"}

    def forget_all_but(self, teams: set[str]) -> None:
        """In place: this loop may be at work meanwhile, in a thread of its own."""
        for memory in (self._said, self._not_before, self._later):
            for key in [key for key in list(memory) if key[0] not in teams]:
                memory.pop(key, None)
        for key in [key for key in list(self._again) if key[0] not in teams]:
            self._again.discard(key)
        self._turns.forget_all_but(teams)


def _words(outcome: str, evidence: str) -> str:
    return f"{outcome}: {evidence}"


class DeliveryPart(DaemonPart):
    """Delivery in the daemon."""

    name = "delivery"
    wakes: ClassVar = dict.fromkeys(("inbox", "endpoints", "roster", "heartbeat"), ("delivery",))

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = DeliveryLoops(core.rounds)

    def loops(self) -> list[LoopPlan]:
        work = self._work
        return [
            LoopPlan(name="delivery", work=work.deliver, period=15.0, bound=120.0, gathering=0.03),
            LoopPlan(name="turns", work=work.end_unsaid_turns, period=4.0),
        ]

    def forget_all_but(self, teams: set[str]) -> None:
        self._work.forget_all_but(teams)


PART = DeliveryPart
