"""The ports that asking and answering need, in one hand; and what the audit is told."""

from __future__ import annotations

from atm.approvals.formats.records import AuditLine
from atm.approvals.rules.requests import APPROVED, CANCELLED, DENIED, EXPIRED, LEFT, GivenAnswer
from atm.core.errors import AtmError
from atm.team.services.registry import find_team

CLOSING = (APPROVED, DENIED, EXPIRED, CANCELLED)
"""Events after which nobody needs to answer any more."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.approvals.ports import Approvals
    from atm.approvals.rules.policy import Policy
    from atm.approvals.rules.requests import Approval
    from atm.board.services.boardroom import Boardroom
    from atm.files.ports.clock import Clock
    from atm.mail.services.mailroom import Mailroom

EXPIRE, VALID, HOOK = 1800.0, 600.0, 20.0

STILL_WRITING = 10.0
"""Seconds in which a process that asked or answered may still be about to write its line into the audit."""


class Approvalroom:
    """Everything that approvals are made with."""

    __slots__ = (
        *("_boardroom", "approvals", "expire", "has_nested", "home", "hook", "pid", "policy", "program", "real"),
        *("repository", "room", "valid"),
    )

    def __init__(
        self,
        *,
        room: Mailroom,
        boardroom: Callable[[], Boardroom],
        approvals: Approvals,
        policy: Policy,
        real: Callable[[str], str],
        pid: int,
        home: str = "",
        program: Callable[[str], str] | None = None,
        repository: Callable[[str, str], str] | None = None,
        has_nested: Callable[[str], bool] | None = None,
        expire: float = EXPIRE,
        valid: float = VALID,
        hook: float = HOOK,
    ) -> None:
        self.room = room
        self._boardroom = boardroom
        self.approvals = approvals
        self.policy = policy
        self.real = real
        """A path without links."""
        self.pid = pid
        self.home = home
        """What `~` means in a command line."""
        self.program = program
        """The real path of the program that a name means on PATH; without it every program is where it usually is."""
        self.repository = repository
        """Why git in a folder would not use the repository of a worktree as it is; without it, it always would."""
        self.has_nested = has_nested
        """Could there be a repository in a worktree, besides its own?"""
        self.expire = expire
        """Seconds after which a request that nobody answered is denied."""
        self.valid = valid
        """Seconds within which a yes must be used, and for which a no is not asked for again."""
        self.hook = hook
        """Seconds that a permission hook waits for an answer."""

    @property
    def clock(self) -> Clock:
        return self.room.clock

    @property
    def boardroom(self) -> Boardroom:
        """Made when a task is named: most requests name none."""
        return self._boardroom()


def note(room: Approvalroom, approval: Approval, event: str, by: str, how: str, reason: str = "") -> None:
    """Into the audit, and into the history of its task. An audit that cannot be written fails whoever needs it."""
    room.approvals.note(approval.team, [audit_line(room, approval, event, by, how, reason)])
    note_consequences(room, approval, event, by, reason)


def audit_line(room: Approvalroom, approval: Approval, event: str, by: str, how: str, reason: str = "") -> AuditLine:
    return AuditLine(
        room.clock.now(), approval.id, event, by=by, how=how, pid=room.pid, rule=approval.rule, reason=reason
    )


def note_consequences(room: Approvalroom, approval: Approval, event: str, by: str, reason: str = "") -> None:
    """What follows from a line of the audit: the task's history has it too, and letters that ask are settled."""
    if approval.task and event != LEFT:
        _note_on_task(room, approval, event, by, reason)
    if event in CLOSING:
        from atm.approvals.services.settling import settle_letters

        settle_letters(room.room, approval, f"its request is {event}{f' by {by}' if by else ''}")


def _note_on_task(room: Approvalroom, approval: Approval, event: str, by: str, reason: str) -> None:
    from atm.board.services.noting import note_on_task

    what = f"{approval.id} {approval.tool} {approval.command}".strip()
    said = f"{what}: {reason}" if reason else what
    try:
        note_on_task(room.boardroom, approval.team, approval.task, by, f"approval_{event}", note=said)
    except AtmError:
        return  # a task that is gone, or busy, keeps nobody from being answered; the audit has it


def fresh(room: Approvalroom, approval: Approval) -> Approval:
    """As it stands now."""
    return room.approvals.read(approval.team, approval.id) or approval


def may_change(room: Approvalroom, team: str) -> bool:
    """Whether requests of this team may be answered, closed or removed. A completed team is immutable."""
    try:
        return not find_team(room.room, team).completed
    except AtmError:
        return True  # a roster that cannot be read says nothing about the team


def close_expired(room: Approvalroom, approval: Approval) -> Approval:
    """Whose time is over without an answer: noted once, by whoever sees it first."""
    now = room.clock.now()
    if approval.answer is not None or approval.state(now) != EXPIRED or not may_change(room, approval.team):
        return approval
    answer = GivenAnswer(
        EXPIRED, by="", how="its time was over", pid=room.pid, at=now, reason="nobody answered in time"
    )
    if room.approvals.answer(approval, answer):
        note(room, approval, EXPIRED, "", answer.how, answer.reason)
    return fresh(room, approval)
