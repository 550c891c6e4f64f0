"""How far the reminders of a member have come: what the outbox says, beside what is remembered of the member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atm.files.ports.records import OUTBOX
from atm.worksync.formats.outbox import decode_nudge
from atm.worksync.rules.nudges import Ladder, Nudge, ladder

if TYPE_CHECKING:
    from atm.worksync.rules.statuses import MemberStatus
    from atm.worksync.services.reconcile import Seen
    from atm.worksync.services.syncroom import SyncRoom


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
