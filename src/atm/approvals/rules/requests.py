"""
Requests for approval: who may answer one, until when, and what an answer is good for.

One answer, given in time by somebody who may, is good for one execution of that very call within a few minutes.
Everything else is a no: silence, an answer that comes too late, a second execution, a file that nobody signed.
"""

from __future__ import annotations

from atm.approvals.rules.policy import HUMAN, LEAD
from atm.core.names import same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WAITING, APPROVED, DENIED, EXPIRED, CANCELLED = "waiting", "approved", "denied", "expired", "cancelled"
STATES = (WAITING, APPROVED, DENIED, EXPIRED, CANCELLED)

POLICY = "policy"
"""Who decided where a rule did."""

ASKED, USED, LEFT = "asked", "used", "left"
"""Events of the audit, beside the states: it was asked; it was executed; whoever asked does not wait any more."""

SKEW = 5.0
"""Seconds by which clocks of one machine may seem to differ."""


class RuleNote:
    """Which rule said so, for people who look later."""

    __slots__ = ("file", "number", "text")

    def __init__(self, file: str = "", number: int = 0, text: str = "") -> None:
        self.file = file
        self.number = number
        self.text = text


class GivenAnswer:
    """An answer, as it was given."""

    __slots__ = ("at", "by", "how", "pid", "reason", "state")

    def __init__(self, state: str, *, by: str, how: str, pid: int, at: float, reason: str = "") -> None:
        self.state = state
        self.by = by
        self.how = how
        """How it is known who that was."""
        self.pid = pid
        self.at = at
        self.reason = reason


class AskerProcess:
    """The process that stood for the requester when it asked: its host, or its vendor's program."""

    __slots__ = ("began", "host", "pid")

    def __init__(self, pid: int, began: str, host: str) -> None:
        self.pid = pid
        self.began = began
        """With the number, this means one process and never another."""
        self.host = host
        """The machine."""


class Approval:
    """A request, and what became of it."""

    __slots__ = (
        *("answer", "asked_at", "asker", "claim", "command", "diff", "digest", "expires_at", "folder", "id"),
        *("is_deferred", "left_at", "operation"),
        *("paths", "problem", "requester", "rule", "session", "task", "team", "tier", "tool", "used_at", "used_by"),
        "why",
    )

    def __init__(
        self,
        id: str,
        *,
        team: str,
        requester: str,
        tier: str,
        operation: str,
        tool: str,
        asked_at: float,
        expires_at: float,
        command: str = "",
        folder: str = "",
        paths: Sequence[str] = (),
        diff: str = "",
        task: str = "",
        session: str = "",
        digest: str = "",
        rule: RuleNote | None = None,
        why: str = "",
        asker: AskerProcess | None = None,
        claim: str = "",
        is_deferred: bool = False,
    ) -> None:
        self.id = id
        self.team = team
        self.requester = requester
        self.tier = tier
        self.operation = operation
        self.tool = tool
        self.command = command
        self.folder = folder
        self.paths = [*paths]
        self.diff = diff
        self.task = task
        self.session = session
        self.digest = digest
        """Of requester, tool, command, folder and content: the very call."""
        self.asked_at = asked_at
        self.expires_at = expires_at
        self.rule = rule or RuleNote()
        self.why = why
        self.claim = claim
        """The claim under which the requester worked on the task when it asked; empty if it had none."""
        self.asker = asker
        """None where no process was known: then only its task, its membership and its session can end a request."""
        self.is_deferred = is_deferred
        """Its program ends with the call open and asks again when it is resumed: no process waits for the answer."""
        self.answer: GivenAnswer | None = None
        self.used_at: float | None = None
        self.used_by = ""
        """The vendor's number of the call that was executed."""
        self.left_at: float | None = None
        """Since when nobody waits for the answer any more."""
        self.problem = ""
        """Why what lies there counts for nothing."""

    def state(self, now: float) -> str:
        if self.answer is not None and self.answer.state == APPROVED and self.answer.at >= self.expires_at:
            return EXPIRED
        if self.answer is not None:
            return self.answer.state
        return EXPIRED if now >= self.expires_at else WAITING

    def waits(self, now: float) -> bool:
        """For an answer that somebody could give."""
        return self.state(now) == WAITING and not self.problem

    def may_be_used(self, now: float, seconds: float, call_id: str = "") -> bool:
        """For one execution; the same call may be asked about twice, by a hook and by its program."""
        if self.state(now) != APPROVED or self.answer is None or self.problem:
            return False
        if self.used_at is not None:
            return bool(call_id) and call_id == self.used_by
        return -SKEW <= now - self.answer.at <= seconds

    def still_denies(self, now: float, seconds: float) -> bool:
        """A no is not asked for again at once."""
        answer = self.answer
        return answer is not None and answer.state == DENIED and -SKEW <= now - answer.at <= seconds


def why_not_answer(approval: Approval, who: str, *, is_human: bool, is_lead: bool) -> str:
    """Why somebody may not answer a request; empty if they may."""
    if same_name(approval.requester, who):
        return f"{who} asked for it, and nobody answers for themselves"
    if approval.tier == LEAD and not (is_human or is_lead):
        return f"only the lead or a person may answer it, and {who} is neither"
    if approval.tier == HUMAN and not is_human:
        return f"only a person may answer it, and {who} is not one"
    return ""


def audit_objection(events: Sequence[str], state: str) -> str:
    """
    Why the audit contradicts the files of a request that is `state`, waiting or approved; empty if it does not.

    Files can be deleted one by one. The audit decides: what it says was used, denied or closed stays so.
    """
    ends = (USED, DENIED, EXPIRED, CANCELLED, *((APPROVED,) if state == WAITING else ()))
    over = next((event for event in events if event in ends), "")
    if over:
        return f"the audit says that it was {over} before"
    if ASKED not in events:
        return "the audit has no line about who asked for it"
    if state == APPROVED and APPROVED not in events:
        return "the audit has no line about who approved it"
    return ""


def is_meant(approval: Approval, given: str) -> bool:
    """By its id or the beginning of that."""
    return bool(given) and approval.id.startswith(given.lower())
