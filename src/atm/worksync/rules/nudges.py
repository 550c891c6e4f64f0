"""
Nudges: rare, bound to a fingerprint, written down before they are sent, and sent at most once each.

An outbox item goes through a table of states. Its key makes it unique for a team, a member and a fingerprint; the hash
of its payload shows whether a round means something else under the same key; the generation of a claim fences off a
dispatcher that was thought dead. There are three rungs: one plain nudge; recovery, for a member that stays stuck;
and after four deliveries without an accepted report one word to the lead, and a pause that a person can end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atm.core.identifiers import derived_id
from atm.core.untrusted_text import shell_words
from atm.team.rules.team import is_somebody_else

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.worksync.rules.agenda import Agenda

PENDING, CLAIMED, DELIVERED, SUPERSEDED = "pending", "claimed", "delivered", "superseded"
RETRYABLE, TERMINAL = "failed_retryable", "failed_terminal"
STATES = (PENDING, CLAIMED, DELIVERED, SUPERSEDED, RETRYABLE, TERMINAL)
UNSETTLED = (PENDING, CLAIMED, RETRYABLE)

PLAIN, RECOVERY, ESCALATION = "plain", "recovery", "escalation"

SENDER = "system"
MESSAGE_KIND, SOURCE, ACTION_MODE = "member_work_sync_nudge", "member-work-sync", "do"

CLAIM_SECONDS = 300.0
"""After which a claim counts as abandoned."""

HOUR = 3600.0
MOST_AN_HOUR = 2
MOST_WITHOUT_REPORT = 4
RECOVERY_AFTER = 1800.0
"""Seconds without an accepted report after which a delivered nudge is repeated, for the same fingerprint."""

BACKOFF, LONGEST_BACKOFF, JITTER = 600.0, 3600.0, 240.0
LONGEST_WAIT = 2 * HOUR
MOST_KEPT = 1000
KEPT_SECONDS = 30 * 86400.0

PLAIN_TEXT = (
    "Work sync check: you have current actionable work assigned. Review your agenda, continue the concrete task work, "
    "or report a real blocker with the task tools. Do not reply only with acknowledgement."
)
HOW = "`atm sync agenda` shows it; `task_briefing` and `member_work_sync_report` do the same over MCP."


@dataclass(frozen=True, slots=True)
class Payload:
    """What a nudge says. It follows from the fingerprint alone, so the same nudge is the same to the letter."""

    to: str
    text: str
    task_refs: Sequence[str]

    @property
    def hash(self) -> str:
        return derived_id(SENDER, self.to.casefold(), MESSAGE_KIND, self.text, *self.task_refs)

    def extra(self) -> dict[str, Plain]:
        """Fields of the message beside its text, where other programs leave room for them."""
        refs: list[Plain] = [*self.task_refs]
        return {"messageKind": MESSAGE_KIND, "source": SOURCE, "actionMode": ACTION_MODE, "taskRefs": refs}


@dataclass(frozen=True, slots=True)
class Nudge:
    """One item of the outbox."""

    id: str
    team: str
    member: str
    fingerprint: str
    rung: str
    to: str
    payload_hash: str
    status: str = PENDING
    generation: int = 0
    claimed_by: str = ""
    claimed_at: float | None = None
    inserting: bool = False
    """The insert was about to be made: if its process died, nobody knows whether it was."""
    message_id: str = ""
    last_error: str = ""
    next_attempt: float | None = None
    created: float = 0.0
    updated: float = 0.0
    delivered: float | None = None
    failures: int = 0
    """Tries that failed. A member that was left in peace is no failure."""
    rest: Mapping[str, Plain] = field(default_factory=dict)


def nudge_id(team: str, member: str, fingerprint: str, rung: str) -> str:
    """The idempotency key: one for a team, member and fingerprint; recoveries and the escalation have their own."""
    key = f"member-work-sync:{team}:{member.casefold()}:{fingerprint}"
    return key if rung == PLAIN else f"{key}:{rung}"


def message_id(nudge_id: str) -> str:
    return derived_id("member-work-sync", nudge_id)


def lift(member: str) -> str:
    """The command that ends a pause."""
    return f"atm sync nudge {shell_words(member)} --again"


def payload_for(agenda: Agenda, rung: str, to: str) -> Payload:
    refs = [item.ref for item in agenda.items if not item.only_waits][:10]
    if rung == ESCALATION:
        look = f"atm sync diagnose {shell_words(agenda.member)}"
        text = (
            f"{agenda.member} was reminded {MOST_WITHOUT_REPORT} times of current work and has not reported: "
            f"{', '.join(refs)}. It will not be reminded again of this agenda. See `{look}`; "
            f"`{lift(agenda.member)}` begins anew."
        )
        return Payload(to, text, refs)
    again = "" if rung == PLAIN else f" (Reminder {rung.rpartition('-')[2]}.)"
    return Payload(to, f"{PLAIN_TEXT}{again}\n\nYour items: {', '.join(refs)}. {HOW}", refs)


# The states of an item.

NEW, KEPT, REVIVED, REWORDED, CONFLICT = "new", "kept", "revived", "reworded", "conflict"
OTHER_WORDS = "payload_conflict"
"""Why an item was given up whose words are others now: a later version says the same differently."""

BUSY, COOLDOWN = "busy", "watchdog_cooldown"
IN_PEACE = (BUSY, COOLDOWN)
"""Why an item was put off that a fresh look has found to be over: whoever wants it has looked."""


def ensure(existing: Nudge | None, wanted: Nudge, now: float) -> tuple[str, Nudge]:
    """
    Make sure that an item waits, and say what came of it.

    One that was delivered is delivered for good. One that was superseded before it was delivered comes to life again,
    and so does one that was put off while its member was busy: whoever wants it has seen that it is not.
    The same key with other words: what somebody is sending is a conflict, and nothing changes; what was not sent is
    superseded by the new words, so that an upgrade mutes nobody.
    """
    if existing is None:
        return NEW, replace(wanted, created=now, updated=now)
    if existing.payload_hash != wanted.payload_hash and existing.status == CLAIMED:
        return CONFLICT, existing
    if existing.payload_hash != wanted.payload_hash and _was_never_sent(existing):
        again = replace(existing, status=PENDING, to=wanted.to, payload_hash=wanted.payload_hash)
        return REWORDED, replace(again, next_attempt=None, last_error="", updated=now)
    was_in_peace = existing.status == RETRYABLE and existing.last_error.startswith(IN_PEACE)
    if existing.status == SUPERSEDED or was_in_peace:
        return REVIVED, replace(existing, status=PENDING, next_attempt=None, last_error="", updated=now)
    return KEPT, existing


def _was_never_sent(nudge: Nudge) -> bool:
    """Not for a reason that other words would not mend, such as a state that only a later version knows."""
    is_given_up = nudge.status == TERMINAL and nudge.last_error != OTHER_WORDS
    return nudge.status != DELIVERED and not is_given_up


def is_due(nudge: Nudge, now: float) -> bool:
    """Waiting and not before its time; or claimed by a dispatcher that has not been heard of since."""
    if nudge.status == CLAIMED:
        at = nudge.claimed_at
        return at is None or at > now or now - at >= CLAIM_SECONDS
    at = nudge.next_attempt
    # Nothing is put off for longer than two hours, unless our clock was set back.
    return nudge.status in (PENDING, RETRYABLE) and (at is None or at <= now or at - now > LONGEST_WAIT)


def claim(nudge: Nudge, by: str, now: float) -> Nudge:
    generation = nudge.generation + 1
    return replace(nudge, status=CLAIMED, generation=generation, claimed_by=by, claimed_at=now, updated=now)


def is_still_held(current: Nudge | None, claimed: Nudge) -> bool:
    """May the holder of a claim still say what became of it? Not if another dispatcher has claimed it since."""
    return current is not None and current.status == CLAIMED and current.generation == claimed.generation


def settle(
    nudge: Nudge, status: str, now: float, *, why: str = "", again_at: float | None = None, at: float | None = None
) -> Nudge:
    """What became of it. `at` is when it was delivered, if that was earlier."""
    delivered = (now if at is None else min(at, now)) if status == DELIVERED else nudge.delivered
    return replace(
        nudge,
        status=status,
        last_error=why,
        next_attempt=again_at,
        updated=now,
        delivered=delivered,
        inserting=nudge.inserting and status != DELIVERED,
    )


def backoff(nudge: Nudge) -> float:
    """Seconds until the next try: doubled each time, and spread by a jitter that follows from the item itself."""
    pause = min(BACKOFF * 2.0 ** min(nudge.failures, 10), LONGEST_BACKOFF)
    digits = derived_id(nudge.id, str(nudge.generation)).replace("-", "")
    return pause + int(digits[:8], 16) / 0xFFFFFFFF * JITTER


# How many.


def delivered_to(nudges: Sequence[Nudge], member: str) -> list[Nudge]:
    """Nudges that reached this member, oldest first; a word to the lead about it is none of them."""
    name = member.casefold()
    found = [n for n in nudges if n.member.casefold() == name and n.rung != ESCALATION and n.delivered is not None]
    return sorted(found, key=lambda nudge: nudge.delivered or 0.0)


def rate_limited_until(nudges: Sequence[Nudge], member: str, now: float) -> float | None:
    """When the member may be nudged again, if it had as many as an hour allows. Also if our clock was set back."""
    recent = [n.delivered or 0.0 for n in delivered_to(nudges, member) if abs(now - (n.delivered or 0.0)) < HOUR]
    return min(recent[-MOST_AN_HOUR], now) + HOUR if len(recent) >= MOST_AN_HOUR else None


@dataclass(frozen=True, slots=True)
class Ladder:
    """How far the reminders of one agenda have come."""

    rung: str = PLAIN
    """What may be sent now; empty if it is too early."""
    sent: int = 0
    """Nudges about this agenda since the last accepted report."""
    last: float | None = None
    """When the last one was delivered."""
    next_at: float | None = None
    """When another may come."""

    @property
    def is_paused(self) -> bool:
        """Often enough: the lead is told, and the member is left alone until somebody does something."""
        return self.rung == ESCALATION

    @property
    def allows_nudge(self) -> bool:
        return bool(self.rung) and not self.is_paused


def ladder(
    nudges: Sequence[Nudge],
    member: str,
    fingerprint: str,
    accepted_at: float | None,
    now: float,
    *,
    joined_at: float | None = None,
    resumed_at: float | None = None,
) -> Ladder:
    """
    Which nudge may come next for this fingerprint, by what was delivered to this member in this life (D26).

    `resumed_at` is when somebody ended a pause: the count begins anew, at once. One in the future tells nothing.
    """
    delivered = [
        one
        for one in delivered_to(nudges, member)
        if one.fingerprint == fingerprint and not is_somebody_else(one.created, joined_at, now)
    ]
    if not delivered:
        return Ladder()
    last = delivered[-1].delivered or 0.0
    resumed = resumed_at if resumed_at is not None and resumed_at <= now else 0.0
    times = [one.delivered or 0.0 for one in delivered]
    unanswered = sum(at >= resumed and (accepted_at is None or at > accepted_at) for at in times)
    if unanswered >= MOST_WITHOUT_REPORT:
        return Ladder(ESCALATION, unanswered, last)
    waits_since = max(last, accepted_at or 0.0)
    is_long_ago = abs(now - waits_since) >= RECOVERY_AFTER  # also a clock that was set back
    is_asked = resumed > waits_since
    rung = f"{RECOVERY}-{len(delivered)}" if is_long_ago or is_asked else ""
    return Ladder(rung, unanswered, last, None if rung else waits_since + RECOVERY_AFTER)


def worth_keeping(nudges: Sequence[Nudge], now: float) -> set[str]:
    """
    Ids that stay: whatever is not settled, what a member was last nudged for, and the newest of the others.

    An outbox does not grow for ever; but a member that is stuck for months must not be nudged as if for the first time.
    """
    last: dict[str, str] = {}
    delivered = [n for n in nudges if n.status == DELIVERED]
    for nudge in sorted(delivered, key=lambda nudge: nudge.delivered or nudge.updated):
        last[nudge.member.casefold()] = nudge.fingerprint
    kept = [n for n in nudges if n.status in UNSETTLED]
    kept += [n for n in delivered if n.fingerprint == last[n.member.casefold()]]
    settled = [n for n in nudges if n.status not in UNSETTLED and now - n.updated < KEPT_SECONDS]
    newest = sorted(settled, key=lambda nudge: nudge.updated)[-MOST_KEPT:]
    return {nudge.id for nudge in (*newest, *kept)}
