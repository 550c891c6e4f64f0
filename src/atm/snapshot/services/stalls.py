"""Tasks whose holder was told that they show no progress, and that have shown none since."""

from __future__ import annotations

from atm.board.rules.stalls import last_progress
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.files.formats.times import from_iso, to_iso
from atm.files.ports.records import STALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.ports.tasks import Tasks
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain, Record
    from atm.files.ports.records import Records


def stalled_in(records: Records, tasks: Tasks, team: str, board: Board, now: float) -> list[Plain]:
    """By task, with the time of the last progress. Only tasks about which somebody was told are looked at."""
    told: dict[str, Record] = {}
    for record in records.read(team, STALLS).values():
        told[str(record.get("taskId"))] = record
    rows: list[Plain] = []
    for id, record in sorted(told.items()):
        card = board.cards.get(int(id)) if id.isdecimal() else None
        since = _still_stalled(tasks, team, card, record, now) if card is not None else None
        if card is not None and since is not None:
            rows.append({"task": id, "member": card.owner, "since": to_iso(since), "told": record.get("kind")})
    return rows


def _still_stalled(tasks: Tasks, team: str, card: Card, record: Mapping[str, Plain], now: float) -> float | None:
    """The last progress, if there was none after what the alert speaks of."""
    known = from_iso(str(record.get("lastProgressAt")))
    if known is None or not card.is_claimed or not same_name(card.owner, str(record.get("memberName"))):
        return None
    try:
        since = last_progress(tasks.read(team, card.id), card.owner, from_iso, now)
    except AtmError:
        return None  # it is gone, or no task any more: the board says so
    return since if since is not None and since <= known + 1 else None
