"""
What people read about work-sync: sentences with names, numbers and times. Machines read the codes beside them.

No word of the machinery is in here: a lease is "atm waits until", a fingerprint that churned is an agenda that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.worksync.rules import leases
from atm.worksync.rules.decisions import (
    AWAITS_PERMISSION,
    CAUGHT_UP,
    DELIVERY_PENDING,
    LAUNCHING,
    RECENT_ACTIVITY,
    SUPPRESSED_BUSY,
    TOOL_ACTIVE,
    UNKNOWN,
    VALID_LEASE,
    Busy,
    Decision,
)
from atm.worksync.rules.nudges import (
    DELIVERED,
    ESCALATION,
    MOST_AN_HOUR,
    RETRYABLE,
    SUPERSEDED,
    TERMINAL,
    Ladder,
    Nudge,
    lift,
)
from atm.worksync.rules.readiness import BLOCKED, COLLECTING, Readiness, Thresholds

if TYPE_CHECKING:
    from atm.worksync.rules.agenda import Agenda

BUSY_WORDS = {
    TOOL_ACTIVE: "a turn or a tool call is going on",
    AWAITS_PERMISSION: "it waits for a person's permission",
    DELIVERY_PENDING: "mail is on its way to it",
    LAUNCHING: "it has just been started",
    RECENT_ACTIVITY: "it was active a moment ago",
}
REFUSALS = {
    "phase2_not_ready": "the team is still being observed (`atm sync metrics`)",
    "fingerprint_unstable": "its agenda changes without a reason on the board (`atm sync metrics`)",
    "nobody_to_tell": "it was reminded often enough, and there is nobody to tell",
    "conflict": "another process is sending one",
    "team_inactive": "the team does not run",
    "member_inactive": "it is not in the team any more",
    "not_an_agent": "only agents are nudged",
    "stale_fingerprint": "its work has changed meanwhile",
    "valid_lease": "it has reported meanwhile",
    "only_waits": "its work waits for others",
    "payload_conflict": "it is worded otherwise now; the next look plans it anew",
    "message_conflict": "another message lies under its id (`atm sync diagnose` shows it)",
    "member_nudge_rate_limited": f"it had {MOST_AN_HOUR} within an hour",
    "busy: just_reported": "it has just reported",
    **{f"busy: {code}": f"it is busy: {words}" for code, words in BUSY_WORDS.items()},
}
"""Why a nudge was not sent, by the code that machines read."""


def in_utc(at: float) -> str:
    minutes = int(at) // 60
    return f"{minutes // 60 % 24:02}:{minutes % 60:02} UTC"


@dataclass(frozen=True, slots=True)
class Times:
    """How times are told: by the reader's clock, and as ages where a `now` is given. Ages make no good data."""

    clock: Callable[[float], str] = in_utc
    now: float | None = None

    def past(self, at: float) -> str:
        if self.now is None:
            return f"at {self.clock(at)}"
        return in_words(self.now - at)


def in_words(seconds: float) -> str:
    """How long ago, in words."""
    minutes = int(max(seconds, 0.0) // 60)
    if minutes < 1:
        return "a moment ago"
    for size, unit in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            return f"{_many(minutes // size, unit)} ago"
    return "a moment ago"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _about(count: float, noun: str) -> str:
    said = f"{count:.2g}"
    return f"{said} {noun}{'' if said == '1' else 's'}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything that the sentence about one member is made of."""

    agenda: Agenda
    decision: Decision
    busy: Busy
    ladder: Ladder
    is_agent: bool = True
    reported_at: float | None = None
    """When its last report was accepted, for whatever agenda."""
    changed: int = 0
    """Tasks of the agenda that are new or different since then."""

    def said(self, times: Times) -> str:
        name, tasks = self.agenda.member, _many(len(self.agenda.task_ids), "task")
        match self.decision.kind:
            case kind if kind == UNKNOWN:
                return f"Some tasks of the board cannot be read, so nobody knows what waits for {name}."
            case kind if kind == CAUGHT_UP:
                return f"Nothing waits for {name}."
            case kind if kind == VALID_LEASE:
                return self._reported(name, tasks, times)
            case kind if kind == SUPPRESSED_BUSY:
                words = self.busy.words or BUSY_WORDS.get(self.busy.reason, self.busy.reason)
                return f"{name} has {tasks} and is busy: {words}."
        return self._needs(name, tasks, times)

    def _reported(self, name: str, tasks: str, times: Times) -> str:
        is_blocked = self.decision.lease_state == leases.BLOCKED
        said = f"that it cannot go on with {tasks}" if is_blocked else f"that it works on {tasks}"
        until = self.decision.lease_until
        waits = f"; atm waits until {times.clock(until)}" if until is not None else ""
        return f"{name} reported {said}{waits}."

    def _needs(self, name: str, tasks: str, times: Times) -> str:
        if self.agenda.only_waits:
            return f"{name} has {tasks}, and nothing to do but wait for others."
        if self.is_agent and self.ladder.is_paused:
            return (
                f"{name} was nudged {counted(self.ladder.sent, 'time')} about {tasks} and has not reported. "
                f"atm has stopped reminding it; `{lift(name)}` begins anew."
            )
        if self.is_agent and self.ladder.sent and self.ladder.last is not None:
            at = self.ladder.next_at
            waits = f"; atm waits until {times.clock(at)}" if at is not None else "; another reminder is due"
            return f"{name} was nudged {times.past(self.ladder.last)} and has not reported{waits}."
        if self.reported_at is None:
            return f"{name} has {tasks} and has not reported yet."
        if self.changed:
            has = "has" if self.changed == 1 else "have"
            return f"{_many(self.changed, 'task')} of {name} {has} changed since its last report."
        return f"{name} has {tasks}; what it reported {times.past(self.reported_at)} does not hold any more."


def refusal(code: str) -> str:
    """Why there is no nudge, for people. What is no code of ours is said as it is: the words of a disk's error."""
    return REFUSALS.get(code, code.partition(": ")[2] if code.startswith("watchdog_cooldown: ") else code)


def refused_report(code: str, team: str, member: str, detail: str = "") -> str:
    """What a report at the command line lacked, and what to do about it."""
    who = shell_words(member)
    said = {
        "identity_untrusted": (
            f"a name alone proves nothing. Set ATM_TEAM={shell_words(team)} and ATM_IDENTITY={who} where the agent is "
            f"started, or give the token that `atm sync agenda --as {who} --token` shows"
        ),
        "identity_mismatch": f"ATM_IDENTITY says that you are not {member}. Report under your own name",
        "team_mismatch": f"ATM_TEAM says that you are not in {team}. Report to your own team",
        "invalid_report_token": (
            f"the token is too old, damaged, or of another agenda. `atm sync agenda --as {who} --token` shows a new one"
        ),
        "reserved_author": "nobody reports as user or system. Use your own name",
        "unsafe_provider_alias": "that is the name of a vendor. Use the name that you have in the team",
        "member_inactive": f"{team} has no member {member}. See `atm members`",
        "team_inactive": f"{team} does not run, so nothing is accepted. See `atm teams state {shell_words(team)}`",
        "agenda_unavailable": "the board cannot be read now. Go on with your work and try again later",
        "stale_fingerprint": "your agenda has changed since. `atm sync agenda` shows it as it is now",
        "caught_up_rejected_actionable_items_exist": (
            "something still waits for you (`atm sync agenda`). Work on it, or report still_working or blocked"
        ),
        "still_working_rejected_empty_agenda": "nothing waits for you. Report caught_up",
        "task_not_in_current_agenda": "a task was named that is not on your agenda. `atm sync agenda` shows what is",
        "blocked_rejected_without_evidence": (
            "the board does not show the blocker. Show it first, with `atm tasks clarify`, `depend` or `comment`"
        ),
        "capability_unavailable": "it cannot be written down now. Go on with your work and try again later",
    }.get(code, detail or code)
    return f"Not accepted: {said}."


def readiness_lines(ready: Readiness, limits: Thresholds) -> list[str]:
    """Whether nudges are sent, and the figures behind it."""
    if ready.state == COLLECTING:
        head = "No nudges yet: atm first observes the team."
    elif ready.state == BLOCKED:
        head = f"No nudges now: {'; '.join(_NOISE.get(one, one) for one in ready.reasons)}."
    else:
        head = "Nudges are sent."
    lines = [head, f"  observed for {_minutes(ready.hours)} (at least {_minutes(limits.least_hours)})"]
    lines += [
        f"  {_many(ready.looks, 'look')} at {_many(ready.members, 'member')} (at least {limits.least_looks})",
        f"  {_about(ready.would_nudges, 'nudge')} would be due for a member in the worst hour "
        f"(at most {limits.most_would_nudges:.2g})",
        f"  {_about(ready.churn, 'change')} of an agenda in an hour without a reason on the board "
        f"(below {limits.most_churn:.2g})",
        f"  {ready.stale:.0%} of {_many(ready.reports, 'report')} came too late for their agenda "
        f"(below {limits.most_stale:.0%})",
    ]
    if ready.unstable and ready.state != BLOCKED:
        lines.append(f"  not nudged, because their agenda is not stable: {', '.join(ready.unstable)}")
    return lines


CHANGES = {
    "task_added": "a task came",
    "task_removed": "a task went",
    "owner_changed": "another owner",
    "reviewer_changed": "another reviewer",
    "status_changed": "another status",
    "plan_changed": "a plan was made or judged",
    "review_state_changed": "a review went on",
    "blocker_changed": "what it waits for",
    "clarification_changed": "a question was asked or answered",
}


def change_in_words(reasons: Sequence[str]) -> str:
    """Why an agenda is another one."""
    return "; ".join(CHANGES.get(one, one) for one in reasons) or "changed, and the board does not say why"


def nudge_in_words(nudge: Nudge) -> str:
    """What became of a nudge."""
    what = f"word to {nudge.to}" if nudge.rung == ESCALATION else "nudge"
    why = f", because {refusal(nudge.last_error)}" if nudge.last_error else ""
    match nudge.status:
        case kind if kind == DELIVERED:
            return f"{what} delivered"
        case kind if kind == SUPERSEDED:
            return f"{what} dropped{why}"
        case kind if kind == TERMINAL:
            return f"{what} given up{why}"
        case kind if kind == RETRYABLE:
            return f"{what} put off{why}"
    return f"{what} planned"


_NOISE = {
    "would_nudge_rate_high": "too many would be due",
    "fingerprint_churn_high": "the agendas change without a reason on the board",
    "stale_report_rate_high": "too many reports come too late for their agenda",
}


def _minutes(hours: float) -> str:
    minutes = int(hours * 60)
    return _many(minutes, "minute") if minutes < 120 else _many(minutes // 60, "hour")
