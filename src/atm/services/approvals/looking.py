"""What waits for an answer, what was answered, and tidying up."""

from __future__ import annotations

from atm.domain.approvals.requests import WAITING
from atm.services.approvals.approvalroom import close_expired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.approvals.requests import Approval
    from atm.services.approvals.approvalroom import Approvalroom

KEEP_DAYS = 30
DAY = 86_400.0


def requests_of(room: Approvalroom, team: str, *, all: bool = False) -> list[Approval]:
    """Those that wait; with `all` the others too. Oldest first."""
    found = [close_expired(room, one) for one in room.approvals.all(team)]
    now = room.clock.now()
    return [one for one in found if all or (one.state(now) == WAITING and not one.problem)]


def tidy(room: Approvalroom, team: str) -> int:
    """Requests that were closed a month ago go; the audit stays. How many."""
    now = room.clock.now()
    old = [
        one for one in room.approvals.all(team) if one.state(now) != WAITING and now - one.expires_at > KEEP_DAYS * DAY
    ]
    for one in old:
        room.approvals.remove(one)
    return len(old)
