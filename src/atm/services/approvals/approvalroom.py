"""The ports that asking and answering need, in one hand; and what the audit is told."""

from __future__ import annotations

from atm.domain.approvals.requests import APPROVED, CANCELLED, DENIED, EXPIRED, LEFT, GivenAnswer
from atm.domain.errors import AtmError
from atm.formats.approvals.records import AuditLine

CLOSING = (APPROVED, DENIED, EXPIRED, CANCELLED)
"""Events after which nobody needs to answer any more."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.domain.approvals.policy import Policy
    from atm.domain.approvals.requests import Approval
    from atm.ports.approvals import Approvals
    from atm.ports.files.clock import Clock
    from atm.services.board.boardroom import Boardroom
    from atm.services.mail.mailroom import Mailroom

EXPIRE, VALID, HOOK = 1800.0, 600.0, 20.0


class Approvalroom:
    """Everything that approvals are made with."""

    __slots__ = ("_boardroom", "approvals", "expire", "home", "hook", "pid", "policy", "real", "room", "valid")

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
    now = room.clock.now()
    line = AuditLine(now, approval.id, event, by=by, how=how, pid=room.pid, rule=approval.rule, reason=reason)
    room.approvals.note(approval.team, [line])
    if approval.task and event != LEFT:
        _note_on_task(room, approval, event, by, reason)
    if event in CLOSING:
        from atm.services.approvals.settling import settle_letters

        settle_letters(room.room, approval, f"its request is {event}{f' by {by}' if by else ''}")


def _note_on_task(room: Approvalroom, approval: Approval, event: str, by: str, reason: str) -> None:
    from atm.services.board.noting import note_on_task

    what = f"{approval.id} {approval.tool} {approval.command}".strip()
    said = f"{what}: {reason}" if reason else what
    try:
        note_on_task(room.boardroom, approval.team, approval.task, by, f"approval_{event}", note=said)
    except AtmError:
        return  # a task that is gone, or busy, keeps nobody from being answered; the audit has it


def fresh(room: Approvalroom, approval: Approval) -> Approval:
    """As it stands now."""
    return room.approvals.read(approval.team, approval.id) or approval


def close_expired(room: Approvalroom, approval: Approval) -> Approval:
    """Whose time is over without an answer: noted once, by whoever sees it first."""
    now = room.clock.now()
    if approval.answer is not None or approval.state(now) != EXPIRED:
        return approval
    answer = GivenAnswer(
        EXPIRED, by="", how="its time was over", pid=room.pid, at=now, reason="nobody answered in time"
    )
    if room.approvals.answer(approval, answer):
        note(room, approval, EXPIRED, "", answer.how, answer.reason)
    return fresh(room, approval)
