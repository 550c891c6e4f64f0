"""
Looking at work-sync without touching it: status, the block in a briefing, figures, diagnostics.

Passive: an agenda is read afresh, what was remembered is shown beside it, and nothing is written but the team's
secret when the first token is given out. Every surface shows what these functions give (G10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atm.core.errors import AtmError, NotAllowed
from atm.core.names import same_name
from atm.files.formats.times import to_iso
from atm.files.ports.records import INTENTS, SHELVES, STATUS
from atm.worksync.formats.outbox import PENDING, decode_intent, encode_intent, encode_nudge
from atm.worksync.formats.status import encode_counters, encode_report, encode_status
from atm.worksync.rules.agenda import BLOCKED_DEPENDENCY
from atm.worksync.rules.decisions import (
    CAUGHT_UP,
    NEEDS_SYNC,
    PAUSED,
    UNKNOWN,
    VALID_LEASE,
    Decision,
    decide,
    label,
    would_nudge,
)
from atm.worksync.rules.nudges import Ladder, lift
from atm.worksync.rules.reports import STALE_FINGERPRINT
from atm.worksync.rules.sentences import Standing, Times
from atm.worksync.rules.statuses import MOST_FACTS
from atm.worksync.rules.transitions import changed_since, explain, facts_of
from atm.worksync.services import nudges
from atm.worksync.services.ladders import ladder_of, outbox
from atm.worksync.services.reconcile import Seen, known_status, look_at
from atm.worksync.services.syncroom import issue, running

if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.worksync.rules.nudges import Nudge
    from atm.worksync.rules.statuses import MemberStatus
    from atm.worksync.services.syncroom import SyncRoom, TeamRunning

FEATURE, REPORT_TOOL = "member-work-sync", "member_work_sync_report"
HOW_TO_REPORT = (
    f"When you have reviewed this agenda, call {REPORT_TOOL} with this agendaFingerprint and reportToken: still_working"
    " while you go on, blocked only if the board shows the blocker, caught_up only if nothing is left. It does not "
    "replace task tools, comments or messages. The fingerprint changes when your work does."
)
JOURNAL_LINES = 50
PRIVATE = ("agendaFingerprint", "items", "diagnostics", "latestReport", "latestRejectedReport")


@dataclass(frozen=True, slots=True)
class View:
    """A member's work-sync as it is now. Without `seen` it could not be looked at, and `why` says so."""

    team: str
    member: str
    running: TeamRunning
    seen: Seen | None = None
    decision: Decision | None = None
    status: MemberStatus | None = None
    would_nudge: bool = False
    ladder: Ladder = field(default_factory=Ladder)

    @property
    def is_paused(self) -> bool:
        """Reminded often enough: atm waits until the member reports, its agenda changes, or somebody begins anew."""
        return self.state == NEEDS_SYNC and self.ladder.is_paused

    @property
    def state(self) -> str:
        return self.decision.kind if self.decision is not None else UNKNOWN

    @property
    def label(self) -> str:
        if self.is_paused:
            return PAUSED
        return label(self.state, self.decision.lease_state if self.decision is not None else "")

    @property
    def why(self) -> str:
        """A sentence for people, in a neutral tone. Times, and no ages: it stays the same while nothing happens."""
        return self.said(Times())

    def said(self, times: Times) -> str:
        """The same by the reader's clock."""
        if self.decision is None or self.seen is None:
            return f"the team does not run ({self.running.why})"
        agenda, accepted = self.seen.agenda, self.status.accepted if self.status is not None else None
        at, is_agent = accepted.last_at if accepted is not None else None, self.seen.is_agent
        standing = Standing(agenda, self.decision, self.seen.busy, self.ladder, is_agent, at, self.changed_since_report)
        return standing.said(times)

    @property
    def changed_since_report(self) -> int:
        """Tasks of the agenda that are new or different since the last accepted report; all of them if none was."""
        if self.seen is None:
            return 0
        status, ids = self.status, self.seen.agenda.task_ids
        if status is None or status.accepted is None:
            return len(ids)
        if status.accepted.fingerprint == self.seen.fingerprint:
            return 0
        now = facts_of(self.seen.agenda.items[:MOST_FACTS])
        latest = explain(status.fingerprint, self.seen.fingerprint, status.facts, now, self.seen.at)
        # A report is a look too: what the last look has not seen came after it.
        return len({*changed_since(status.transitions, status.accepted.last_at), *latest.task_ids} & ids)

    def brief(self) -> dict[str, Plain]:
        """How it stands, in the least that every surface shows of a member."""
        said: dict[str, Plain] = {"state": self.state, "label": self.label, "why": self.why, "paused": self.is_paused}
        return {**said, "liftedBy": lift(self.member)} if self.is_paused else said

    def _reminders(self) -> dict[str, Plain]:
        said: dict[str, Plain] = {"paused": self.is_paused}
        if self.ladder.sent:
            said["nudgesWithoutReport"] = self.ladder.sent
        times = {"lastNudgeAt": self.ladder.last, "nextNudgeAfter": self.ladder.next_at}
        said |= {key: to_iso(at) for key, at in times.items() if at is not None}
        return {**said, "liftedBy": lift(self.member)} if self.is_paused else said

    def fields(self, *, with_agenda: bool = True) -> dict[str, Plain]:
        """As plain data, the same on every surface. The agenda itself is for its member, the lead and people."""
        said: dict[str, Plain] = {
            "team": self.team,
            "member": self.member,
            "state": self.state,
            "label": self.label,
            "why": self.why,
            "source": f"the board, read now; {self.running.why}" if self.seen is not None else self.running.why,
        }
        if self.seen is not None and self.decision is not None:
            said |= _now(self.seen, self.decision, self.would_nudge)
            said |= {"changedSinceReport": self.changed_since_report, **self._reminders()}
        if self.status is not None:
            said |= _remembered(self.status)
        if not with_agenda:
            said = {key: value for key, value in said.items() if key not in PRIVATE}
        return said


def _now(seen: Seen, decision: Decision, due: bool) -> dict[str, Plain]:
    said: dict[str, Plain] = {
        "agendaFingerprint": seen.fingerprint,
        "actionableCount": len(seen.agenda.items),
        "items": [*seen.agenda.preview()],
        "diagnostics": [*seen.agenda.diagnostics],
        "busy": seen.busy.reason,
        "wouldNudge": due,
        "at": to_iso(seen.at),
    }
    if decision.lease_until is not None:
        said |= {"leaseExpiresAt": to_iso(decision.lease_until), "leaseState": decision.lease_state}
    return said


def _remembered(status: MemberStatus) -> dict[str, Plain]:
    """What the last look left; notes of a report are for its author and the diagnostics only."""
    said: dict[str, Plain] = {"observedAt": to_iso(status.updated), "observedBecause": status.trigger}
    for key, report in (("latestReport", status.accepted), ("latestRejectedReport", status.rejected)):
        if report is not None:
            shown = encode_report(report)
            shown.pop("note", None)
            said[key] = shown
    return said


def check_may_see(team: Team, member: str, asker: str, *, leads: bool, what: str = "agenda") -> str:
    """An agenda is its member's, and the lead's and people's. The member's name as the roster spells it."""
    found = team.required(member)
    if not (leads or same_name(found.name, asker)):
        raise NotAllowed(
            f"the {what} of {found.name} is not for {asker or 'you'}", "ask the lead; `atm sync status` shows its state"
        )
    return found.name


def view(syncroom: SyncRoom, team: Team, member: str) -> View:
    """Of one member, by its spelling in the roster."""
    return views(syncroom, team, [member])[0]


def views(syncroom: SyncRoom, team: Team, members: list[str], board: Board | None = None) -> list[View]:
    """`board`: the one that was just read for something else, so that all is about one moment."""
    state = running(syncroom, team)
    known = syncroom.records.read(team.name, STATUS, [name.casefold() for name in members])
    statuses = {name: _status_of(syncroom, known, team, name) for name in members}
    if not state.runs:
        return [View(team.name, name, state, status=statuses[name]) for name in members]
    seen, nudges = look_at(syncroom, team, members, board), outbox(syncroom, team.name)
    return [_view(syncroom, team.name, name, state, seen[name], statuses[name], nudges) for name in members]


def _status_of(
    syncroom: SyncRoom, records: Mapping[str, dict[str, Plain]], team: Team, name: str
) -> MemberStatus | None:
    member = team.member(name)
    return known_status(records, team.name, name, member.joined_at if member else None, syncroom.now())


def _view(
    syncroom: SyncRoom,
    team: str,
    name: str,
    state: TeamRunning,
    seen: Seen,
    status: MemberStatus | None,
    nudges: Sequence[Nudge],
) -> View:
    ladder = ladder_of(seen, status, nudges)
    decision = decide(seen.agenda, seen.lease(status), seen.busy)
    known_since = status.transitions[-1].at if status is not None and status.transitions else seen.at
    is_known = status is not None and status.fingerprint == seen.fingerprint
    is_quiet = is_known and seen.at - known_since >= syncroom.policy.quiet_seconds
    quiet = is_quiet and seen.heard_until(status) is None
    due = seen.is_agent and would_nudge(decision, seen.agenda, quiet=quiet, cooldown=bool(seen.cooldown))
    return View(team, name, state, seen, decision, status, due and ladder.allows_nudge, ladder)


# The block in a briefing.


def briefing_block(syncroom: SyncRoom, team: Team, member: str, *, can_report: bool) -> dict[str, Plain]:
    """
    What a member reads about its own agenda (section 13.1). Only ever given to that member: it holds a token.

    Small: how to report is said only when it is time to.
    """
    return block_of(syncroom, team, view(syncroom, team, member), can_report=can_report)


def block_of(
    syncroom: SyncRoom, team: Team, found: View, *, can_report: bool, in_full: bool = False
) -> dict[str, Plain]:
    """
    The same for whoever has just looked: what is said beside it is about the same agenda.

    Of a member that is caught up next to nothing is said, unless its agenda was asked for (`in_full`).
    """
    block: dict[str, Plain] = {"feature": FEATURE, "state": found.state}
    if found.seen is None or found.decision is None:
        return {**block, "why": found.why}
    block |= {"agendaFingerprint": found.seen.fingerprint, "actionableCount": len(found.seen.agenda.items)}
    if found.state == CAUGHT_UP and not (can_report and in_full):
        return block
    if found.seen.agenda.items:
        block["items"] = [*found.seen.agenda.preview()]
    if found.decision.lease_until is not None:
        block["leaseExpiresAt"] = to_iso(found.decision.lease_until)
    token = _token(syncroom, team, found.member, found.seen.fingerprint) if can_report else ""
    if token:
        block["reportToken"] = token
        block["reportTool"] = REPORT_TOOL
        if found.state == NEEDS_SYNC or _was_stale(found):
            block["instruction"] = HOW_TO_REPORT
    return block


def _token(syncroom: SyncRoom, team: Team, member: str, fingerprint: str) -> str:
    """None where no secret can be kept: the rest of the briefing does not depend on it."""
    try:
        return issue(syncroom, team, member, fingerprint)
    except AtmError:
        return ""


def _was_stale(found: View) -> bool:
    rejected = found.status.rejected if found.status is not None else None
    return rejected is not None and rejected.reason == STALE_FINGERPRINT and found.state != VALID_LEASE


def block_in_words(block: Mapping[str, Plain]) -> str:
    """The same on one or two lines."""
    if "agendaFingerprint" not in block or block["state"] == CAUGHT_UP:
        return f"Work sync: state={block['state']}."
    head = (
        f"Work sync: agendaFingerprint={block['agendaFingerprint']} state={block['state']} "
        f"actionable={block['actionableCount']}."
    )
    return f"{head}\n{block['instruction']}" if "instruction" in block else head


# Figures and diagnostics.


def metrics(syncroom: SyncRoom, team: Team) -> dict[str, Plain]:
    """Whether the fingerprints are stable, the reports useful, the nudges few; and whether nudges may be sent."""
    ready = nudges.readiness(syncroom, team.name)
    records = syncroom.records.read(team.name, STATUS)
    members: list[Plain] = []
    for name in team.names:
        status = _status_of(syncroom, records, team, name)
        if status is not None:
            figures = encode_counters(status.counters, with_zeros=True)
            members.append({"member": name, "state": status.state, "metrics": figures})
    items = outbox(syncroom, team.name)
    by_state: dict[str, Plain] = {
        state: sum(one.status == state for one in items) for state in sorted({one.status for one in items})
    }
    return {
        "team": team.name,
        "phase2Readiness": {
            "state": ready.state,
            "reasons": [*ready.reasons],
            "members": ready.members,
            "evaluations": ready.looks,
            "observedHours": round(ready.hours, 2),
            "wouldNudgesPerMemberHour": round(ready.would_nudges, 3),
            "fingerprintChurnPerHour": round(ready.churn, 3),
            "staleReportRate": round(ready.stale, 3),
            "reports": ready.reports,
            "unstable": [*ready.unstable],
        },
        "nudges": by_state,
        "members": members,
    }


def diagnose(syncroom: SyncRoom, team: Team, member: str) -> dict[str, Plain]:
    """Everything that is known about one member, for whoever wants to know why. For the lead, people and itself."""
    found = view(syncroom, team, member)
    name = member.casefold()
    intents = [decode_intent(id, team.name, r) for id, r in syncroom.records.read(team.name, INTENTS).items()]
    blocked = [i.ref for i in found.seen.agenda.items if i.kind == BLOCKED_DEPENDENCY] if found.seen else []
    return {
        **found.fields(),
        "running": {"runs": found.running.runs, "state": found.running.state, "why": found.running.why},
        "blockedByDependencies": [*blocked],
        "stored": encode_status(found.status) if found.status is not None else None,
        "pendingReports": [
            {key: value for key, value in encode_intent(i).items() if key != "rawInput"}
            for i in intents
            if i.member.casefold() == name and i.status == PENDING
        ],
        "nudges": [encode_nudge(n) for n in outbox(syncroom, team.name) if n.member.casefold() == name],
        "readiness": nudges.readiness(syncroom, team.name).state,
        "journal": [
            line for line in syncroom.journal.last(team.name, JOURNAL_LINES) if line.get("member") in ("", member)
        ],
        "problems": [text for shelf in SHELVES if (text := syncroom.records.problem(team.name, shelf))],
    }
