"""How far the reminders of a member have come: what the outbox says, beside what is remembered of the member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atm.domain.worksync.nudges import Ladder, Nudge, ladder
from atm.formats.worksync.outbox import decode_nudge
from atm.ports.files.records import OUTBOX

if TYPE_CHECKING:
    from atm.domain.worksync.statuses import MemberStatus
    from atm.services.worksync.reconcile import Seen
    from atm.services.worksync.syncroom import SyncRoom


def outbox(syncroom: SyncRoom, team: str) -> list[Nudge]:
    """What was planned, and what became of it."""
    return [decode_nudge(id, team, record) for id, record in syncroom.records.read(team, OUTBOX).items()]


def ladder_of(seen: Seen, status: MemberStatus | None, nudges: Sequence[Nudge]) -> Ladder:
    """Of this very member and this very agenda."""
    accepted = status.accepted if status is not None else None
    at = accepted.last_at if accepted is not None and accepted.fingerprint == seen.fingerprint else None
    resumed = status.resumed if status is not None else None
    who, what = seen.agenda.member, seen.fingerprint
    return ladder(nudges, who, what, at, seen.at, joined_at=seen.joined_at, resumed_at=resumed)
