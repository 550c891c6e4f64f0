"""The loop of approvals: what is asked and decided is told, what is late or of no use is closed, people see a popup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.approvals.rules.policy import HUMAN
from atm.approvals.rules.requests import WAITING
from atm.approvals.services.approvalroom import close_expired
from atm.approvals.services.looking import tidy
from atm.approvals.services.withdrawing import withdraw_moot
from atm.events.rules import APPROVAL_ASKED, APPROVAL_DECIDED
from atm.teamd.part import DaemonPart, LoopPlan
from atm.wiring.approvals import build_approvalroom
from atm.wiring.delivery import build_popups

if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.core.plain import Plain
    from atm.teamd.part import Core

PERIOD = 1.0
TIDY_EVERY = 3600.0
TRY_EVERY = 3.0
"""Seconds between two looks for a terminal at which somebody sits."""


class ApprovalLoops:
    """What is known of each team's requests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._versions: dict[str, object] = {}
        self._states: dict[str, dict[str, str]] = {}
        self._due: dict[str, float] = {}
        """When the next request of a team expires."""
        self._unseen: set[tuple[str, str]] = set()
        """Requests for people that no popup has shown."""
        self._tidied = 0.0
        self._tried = float("-inf")
        self._popups = build_popups(core.environment)
        self.room = self.build()

    def build(self) -> Approvalroom:
        rounds = self._core.rounds
        return build_approvalroom(self._core.layout, self._core.settings, rounds.room, lambda: rounds.boardroom)

    def look(self) -> int:
        rounds, done = self._core.rounds, 0
        for name in rounds.names():
            done += rounds.attempt(self._look_at, name) or 0
        now = rounds.room.clock.monotonic()
        if self._unseen and now - self._tried >= TRY_EVERY and self._core.settings.yes("approvals.popup"):
            self._tried = now
            self._pop_up()
        if now - self._tidied > TIDY_EVERY:
            self._tidied = now
            for name in rounds.names():
                rounds.attempt(tidy, self.room, name)
        return done

    def _look_at(self, team: str) -> int:
        """A team whose requests did not change and none of which is due costs one look."""
        self._withdraw(team)
        version, now = self.room.approvals.version(team), self.room.clock.now()
        if version == self._versions.get(team) and now < self._due.get(team, float("inf")):
            return 0
        is_first = team not in self._states
        found = [close_expired(self.room, one) for one in self.room.approvals.all(team) if not one.problem]
        states = {one.id: one.state(now) for one in found}
        news = [one for one in found if states[one.id] != self._states.get(team, {}).get(one.id)]
        for one in news if not is_first else [one for one in news if states[one.id] == WAITING]:
            self._tell(one, states[one.id])
        self._versions[team], self._states[team] = version, states  # of before: what came meanwhile is looked at again
        self._due[team] = min((one.expires_at for one in found if states[one.id] == WAITING), default=float("inf"))
        return len(news)

    def _withdraw(self, team: str) -> None:
        """At the first look, and where something waited at the last one."""
        if team not in self._states or WAITING in self._states[team].values():
            withdraw_moot(self.room, team)

    def _tell(self, one: Approval, state: str) -> None:
        kind = APPROVAL_ASKED if state == WAITING else APPROVAL_DECIDED
        facts: dict[str, Plain] = {"requester": one.requester, "tier": one.tier, "operation": one.operation}
        self._core.rounds.tell(kind, one.team, one.id, **facts, state=state)
        if state == WAITING and one.tier == HUMAN:
            self._unseen.add((one.team, one.id))
        else:
            self._unseen.discard((one.team, one.id))

    def _pop_up(self) -> None:
        """Once for what is new; closed, it stays closed until something new comes, or somebody opens it."""
        if self._popups.is_open():
            return
        if self._popups.show("an agent asks for your approval", self._is_agents):
            self._unseen.clear()

    def _is_agents(self, pid: int) -> bool:
        """Does this process run under a member's? An agent may sit at a terminal of its own making."""
        processes = self._core.rounds.room.processes
        return any(processes.owners(one) for one in processes.ancestors(pid))

    def forget_all_but(self, teams: set[str]) -> None:
        self._unseen = {one for one in self._unseen if one[0] in teams}
        for kept in (self._versions, self._states, self._due):
            for gone in set(kept) - teams:
                del kept[gone]


class ApprovalsPart(DaemonPart):
    """Approvals in the daemon. They do not need it: whoever asks and whoever answers meet in files."""

    name = "approvals"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = ApprovalLoops(core)

    def loops(self) -> list[LoopPlan]:
        return [LoopPlan(name="approvals", work=self._work.look, period=PERIOD)]

    def use(self) -> None:
        self._work.room = self._work.build()

    def forget_all_but(self, teams: set[str]) -> None:
        self._work.forget_all_but(teams)


PART = ApprovalsPart
