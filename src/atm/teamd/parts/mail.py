"""The loops of mail: the spool, rows that were dropped, retention, answers that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from atm.core.plain import counted
from atm.events.rules import MESSAGE_ESCALATED, MESSAGE_FAILED
from atm.mail.services.escalation import Told, WaitingMail, escalate
from atm.mail.services.mailroom import Recipient
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.retention import compact_if_due
from atm.mail.services.spooling import drain
from atm.teamd.part import DaemonPart, LoopPlan

if TYPE_CHECKING:
    from atm.team.rules.team import Team
    from atm.teamd.part import Core
    from atm.teamd.rounds import Rounds

AGAIN_SECONDS = 5.0


class MailLoops:
    """And the ledgers as they were when a round last looked for missing answers."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._waiting = WaitingMail()

    def drain_spool(self, *, everything: bool = False) -> int:
        done = drain(self._rounds.room, everything=everything, patient=True)
        if done.failed:
            self._rounds.log("warn", "spool", f"{done.failed} given up and kept; see `atm spool list`")
            self._rounds.tell(MESSAGE_FAILED, "", "spool", count=done.failed)
        if done.delivered:
            self._rounds.log("info", "spool", f"{counted(done.delivered, 'message')} delivered, {done.waiting} waiting")
        return done.delivered

    def put_back(self) -> int:
        """Rows that a foreign stale rewrite dropped: at once where a file changed, everywhere on a full round."""
        return sum(self._rounds.attempt(self._put_back_in, team) or 0 for team in self._rounds.teams_of_round())

    def _put_back_in(self, team: Team) -> int:
        unable: list[str] = []
        count = put_back_dropped(self._rounds.room, team, unable=unable)
        if count:
            self._rounds.log(
                "warn", "reconcile", f"back again: {counted(count, 'row')} that somebody had dropped", team=team.name
            )
        if unable:
            self._rounds.look_again.add(team.name)  # an inbox could not be looked at now
            self._rounds.ask_again("reconcile", AGAIN_SECONDS)
        return count

    def apply_retention(self) -> int:
        done = 0
        for team in self._rounds.teams():
            for owner in self._rounds.attempt(self._rounds.room.inboxes.owners, team.name) or []:
                done += (
                    self._rounds.attempt(compact_if_due, self._rounds.room, Recipient(team, owner, team.member(owner)))
                    or 0
                )
        return done

    def tell_unanswered(self) -> int:
        done = 0
        for name in self._rounds.names():
            waiting = self._rounds.attempt(self._waiting.of, self._rounds.room, name)
            team = self._rounds.attempt(self._rounds.room.rosters.load, name) if waiting else None
            told = (self._rounds.attempt(escalate, self._rounds.room, team, waiting) or []) if team is not None else []
            for one in told:
                self._report(one)
            done += len(told)
        return done

    def _report(self, told: Told) -> None:
        waiting = told.waiting
        said = f"told {told.to}" if not told.problem else told.problem
        self._rounds.log(
            "warn", "escalation", f"{waiting.agent} did not acknowledge {waiting.id}: {said}", team=waiting.team
        )
        self._rounds.tell(
            MESSAGE_ESCALATED, waiting.team, waiting.agent, id=waiting.id, to=told.to, problem=told.problem
        )

    def forget_all_but(self, teams: set[str]) -> None:
        self._waiting.forget_all_but(teams)


class MailPart(DaemonPart):
    """Mail in the daemon."""

    name = "mail"
    wakes: ClassVar = {"inbox": ("reconcile",), "spool": ("spool",), "ledger": ("escalation",)}

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = MailLoops(core.rounds)

    def loops(self) -> list[LoopPlan]:
        work = self._work
        return [
            LoopPlan(name="spool", work=work.drain_spool, period=5.0),
            LoopPlan(name="reconcile", work=work.put_back, period=120.0, bound=120.0, gathering=0.2),
            LoopPlan(name="retention", work=work.apply_retention, period=300.0, bound=120.0),
            LoopPlan(name="escalation", work=work.tell_unanswered, period=20.0, gathering=1.0),
        ]

    def finish(self) -> None:
        self._work.drain_spool(everything=True)

    def forget_all_but(self, teams: set[str]) -> None:
        self._work.forget_all_but(teams)


PART = MailPart
