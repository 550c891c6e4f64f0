"""
Reconcile: look at members afresh, decide, and remember what was seen. Level-triggered: why the caller looks does not
matter, only what is there.

It reads the board, the roster and signs of life, and writes the status file, nothing else: no message, no task, no
mark. A nudge that is due is only said to be due (`MemberLook.would_nudge`); planning one is another use case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atm.board.services.stall_journal import alerts_of, recent_alert_in
from atm.core.errors import AtmError
from atm.files.ports.records import STATUS
from atm.team.rules.team import AGENT, is_somebody_else
from atm.worksync.formats.agenda_fingerprint import fingerprint
from atm.worksync.formats.status import decode_status, encode_status
from atm.worksync.rules.decisions import (
    NEEDS_SYNC,
    SUPPRESSED_BUSY,
    Busy,
    Decision,
    conditions,
    decide,
    heard_until,
    lease_of,
    would_nudge,
)
from atm.worksync.rules.statuses import MOST_FACTS, MOST_HISTORY, Counters, MemberStatus
from atm.worksync.rules.transitions import explain, facts_of
from atm.worksync.services.syncroom import busy_state, find_running, members_named, read_agendas, with_new_mail

if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.core.plain import Record
    from atm.team.rules.team import Team
    from atm.worksync.rules.agenda import Agenda
    from atm.worksync.rules.statuses import ReportRecord
    from atm.worksync.services.syncroom import SyncRoom


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found out about a member before anything is decided."""

    agenda: Agenda
    fingerprint: str
    busy: Busy
    cooldown: str
    """Why the stall watch owns this member for now; empty if it does not."""
    at: float
    is_agent: bool = True
    """People and plugins have agendas too, but nobody reminds them."""
    joined_at: float | None = None
    quiet: float = 0.0
    """Seconds for which a sign of life counts."""

    def heard_until(self, status: MemberStatus | None) -> float | None:
        """Until when the member is left in peace because it has just reported."""
        return heard_until(status, self.at, self.quiet)

    def lease(self, status: MemberStatus | None) -> ReportRecord | None:
        """The report of this very member that holds for this very agenda."""
        return lease_of(status, self.fingerprint, self.at, self.joined_at)


@dataclass(frozen=True, slots=True)
class MemberLook:
    """One member, looked at."""

    member: str
    seen: Seen
    status: MemberStatus
    decision: Decision
    would_nudge: bool


def reconcile(syncroom: SyncRoom, team: str, members: Mapping[str, str]) -> list[MemberLook]:
    """
    Look at these members (each with the trigger that made us look), in one pass over the board.

    A team that does not run and members who are gone are dropped without a trace. Where the board cannot be read,
    nothing is decided and nothing is written but a line in the journal.
    """
    found, state = find_running(syncroom, team)
    if found is None or not state.runs:
        return []
    wanted = members_named(found, members)
    if not wanted:
        return []
    try:
        seen = look_at(syncroom, found, list(wanted))
    except AtmError as error:
        syncroom.note(found.name, "agenda_unavailable", why=str(error))
        return []
    return _remember(syncroom, found, wanted, seen)


def look_at(syncroom: SyncRoom, team: Team, members: list[str], board: Board | None = None) -> dict[str, Seen]:
    """Everything that a decision about these members needs, read afresh unless `board` just was. Writes nothing."""
    now = syncroom.now()
    seen, alerts = {}, alerts_of(syncroom.records, team.name)
    wanted = set(members)
    known = {member.name: member for member in team.members if member.name in wanted}
    agendas = read_agendas(syncroom, team, members, board)
    fresh = with_new_mail(syncroom, team.name) if any(agenda.items for agenda in agendas.values()) else set()
    for name, agenda in agendas.items():
        cooldown = recent_alert_in(alerts, name, agenda.task_ids, now) if agenda.items else ""
        busy = busy_state(syncroom, team, name, fresh) if agenda.items else Busy()
        member = known.get(name)
        is_agent, joined_at = (member.kind == AGENT, member.joined_at) if member is not None else (False, None)
        quiet = syncroom.policy.quiet_seconds
        seen[name] = Seen(agenda, fingerprint(agenda), busy, cooldown, now, is_agent, joined_at, quiet)
    return seen


def _remember(syncroom: SyncRoom, team: Team, members: Mapping[str, str], seen: Mapping[str, Seen]) -> list[MemberLook]:
    looks: list[MemberLook] = []

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        looks.clear()
        changed: dict[str, Record | None] = {}
        for name, what in seen.items():
            former = known_status(records, team.name, name, what.joined_at, what.at)
            look = judge(former, what, members[name])
            looks.append(look)
            changed[name.casefold()] = encode_status(look.status)
        return changed

    if seen:
        syncroom.records.change(team.name, STATUS, change, keys=[name.casefold() for name in seen])
    for look in looks:
        if look.status.transitions and look.status.transitions[-1].at == look.seen.at:
            last = look.status.transitions[-1]
            syncroom.note(
                team.name, "fingerprint_changed", look.member, reasons=[*last.reasons], tasks=[*last.task_ids]
            )
    return looks


def known_status(
    records: Mapping[str, Record], team: str, member: str, joined_at: float | None = None, now: float = 0.0
) -> MemberStatus | None:
    """What is remembered of a member; nothing of a namesake whose time ended before this one joined."""
    record = records.get(member.casefold())
    if record is None:
        return None
    status = decode_status(team, member, record)
    is_of_another = bool(status.updated) and is_somebody_else(status.updated, joined_at, now)
    return None if is_of_another else status


def judge(former: MemberStatus | None, seen: Seen, trigger: str) -> MemberLook:
    """The next status after a look. Pure."""
    decision = decide(seen.agenda, seen.lease(former), seen.busy)
    quiet = seen.heard_until(former) is None
    due = seen.is_agent and would_nudge(decision, seen.agenda, quiet=quiet, cooldown=bool(seen.cooldown))
    status = next_status(former, seen, decision)
    status.trigger = trigger
    status.counters = _counted(status.counters, decision, due, seen.at)
    if due:
        nudges = {**status.would_nudges}
        nudges.setdefault(seen.fingerprint, seen.at)
        status.would_nudges = dict([*nudges.items()][-MOST_HISTORY:])
    return MemberLook(seen.agenda.member, seen, status, decision, due)


def next_status(former: MemberStatus | None, seen: Seen, decision: Decision) -> MemberStatus:
    """The status with this agenda and decision; reports and history are carried on."""
    agenda, now = seen.agenda, seen.at
    status = replace(former) if former is not None else MemberStatus(agenda.team, agenda.member, first_seen=now)
    status.counters = replace(status.counters)
    if status.first_seen is None or status.first_seen > now:  # the latter: our clock was set back
        status.first_seen = now
    if seen.fingerprint != status.fingerprint:
        facts = facts_of(agenda.items[:MOST_FACTS])  # as many as are remembered, or the rest would seem to be new
        change = explain(status.fingerprint, seen.fingerprint, status.facts, facts, now)
        status.transitions = [*status.transitions, change][-MOST_HISTORY:]
        status.counters.fingerprint_changes += 1 if status.fingerprint else 0
    needs = decision.kind == NEEDS_SYNC
    is_same_need = needs and status.state == NEEDS_SYNC and status.fingerprint == seen.fingerprint
    status.needs_since = (status.needs_since if is_same_need else now) if needs else None
    status.fingerprint, status.state, status.updated = seen.fingerprint, decision.kind, now
    status.count, status.summary = len(agenda.items), agenda.preview()
    status.facts = facts_of(agenda.items[:MOST_FACTS])
    status.diagnostics = [*agenda.diagnostics][:MOST_HISTORY]
    status.conditions = conditions(
        status.conditions, decision, seen.fingerprint, now, rejected=_last_word(status), cooldown=seen.cooldown
    )
    return status


def _last_word(status: MemberStatus) -> ReportRecord | None:
    """The rejected report, unless a better one was accepted since."""
    rejected, accepted = status.rejected, status.accepted
    is_over = rejected is not None and accepted is not None and accepted.last_at >= rejected.last_at
    return None if is_over else rejected


def _counted(counters: Counters, decision: Decision, due: bool, now: float) -> Counters:
    return replace(
        counters,
        reconciles=counters.reconciles + 1,
        needs_sync=counters.needs_sync + (decision.kind == NEEDS_SYNC),
        suppressed_busy=counters.suppressed_busy + (decision.kind == SUPPRESSED_BUSY),
        would_nudge=counters.would_nudge + due,
        last_reconcile=now,
    )
