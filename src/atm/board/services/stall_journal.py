"""
The journal of the stall watch: which alert is about to be sent, and which was, when.

Bounded: a week and two hundred records a team. What it forgets, or loses, the ledger of mail still knows; it is there
to save looking, and so that work-sync can be quiet for a while after an alert. Work-sync only reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.files.formats.times import from_iso, to_iso
from atm.files.ports.records import STALLS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from atm.core.plain import Record
    from atm.files.ports.records import Records

CLAIMED, ALERTED = "claimed", "alerted"

MOST_RECORDS = 200
KEPT_SECONDS = 7 * 24 * 3600.0
COOLDOWN_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class StallNote:
    """One alert: about which task, who holds it, and for whom. Its record lies under the id of its message."""

    message_id: str
    task: str
    member: str
    kind: str
    last_progress: float


def alerted_at(records: Records, team: str, ids: Collection[str]) -> dict[str, float]:
    """Those of these messages that were sent, and when."""
    times = {id: _time_of_alert(record) for id, record in records.read(team, STALLS, ids).items()}
    return {id: at for id, at in times.items() if at is not None}


def claim(records: Records, team: str, notes: Collection[StallNote], now: float) -> list[StallNote]:
    """Enter what is about to be sent. Those that are still to be sent: another process may have been quicker."""
    ours: list[StallNote] = []

    def change(journal: dict[str, Record]) -> dict[str, Record | None]:
        ours[:] = [note for note in notes if _time_of_alert(journal.get(note.message_id, {})) is None]
        new = {note.message_id: _record(note, CLAIMED, now) for note in ours}
        return {**_leaving(journal, new, now), **new} if new else {}

    if notes:
        records.change(team, STALLS, change)
    return ours


def mark(records: Records, team: str, notes: Iterable[StallNote], times: Mapping[str, float], now: float) -> None:
    """Enter what was sent, at the time at which it was. What is too old to be kept is not entered again."""
    new = {
        note.message_id: _record(note, ALERTED, at)
        for note in notes
        if (at := times.get(note.message_id)) is not None and now - at <= KEPT_SECONDS
    }
    if new:
        records.change(team, STALLS, lambda journal: {**_leaving(journal, new, now), **new})


def _record(note: StallNote, state: str, at: float) -> Record:
    return {
        "taskId": note.task,
        "memberName": note.member,
        "kind": note.kind,
        "state": state,
        "lastProgressAt": to_iso(note.last_progress),
        "claimedAt": to_iso(at),
        "alertedAt": to_iso(at) if state == ALERTED else None,
        "messageId": note.message_id,
    }


def _leaving(journal: dict[str, Record], new: Collection[str], now: float) -> dict[str, Record | None]:
    """What leaves the journal: what is a week old, and the oldest where there are too many."""
    ages = {id: now - (from_iso(_word(one, "claimedAt")) or 0.0) for id, one in journal.items() if id not in new}
    young = sorted((id for id, age in ages.items() if age <= KEPT_SECONDS), key=ages.__getitem__)
    staying = set(young[: max(0, MOST_RECORDS - len(new))])
    return {id: None for id in ages if id not in staying}


def recent_alert(
    records: Records, team: str, member: str, task_ids: Collection[str], now: float, seconds: float = COOLDOWN_SECONDS
) -> str:
    """
    Why work-sync should be quiet for now: what the watch said about this member, or one of these tasks, a moment ago.

    Empty if it said nothing. Advice, not a condition: a journal that cannot be read holds nobody back.
    """
    return recent_alert_in(alerts_of(records, team), member, task_ids, now, seconds)


def alerts_of(records: Records, team: str) -> list[Record]:
    """For whoever asks about many members: the journal is read once."""
    try:
        return [*records.read(team, STALLS).values()]
    except AtmError:
        return []


def recent_alert_in(
    alerts: Iterable[Record], member: str, task_ids: Collection[str], now: float, seconds: float = COOLDOWN_SECONDS
) -> str:
    for record in alerts:
        at, task, whose = _time_of_alert(record), _word(record, "taskId"), _word(record, "memberName")
        if at is not None and abs(now - at) < seconds and (same_name(whose, member) or task in task_ids):
            return f"the stall watch wrote about #{task}, held by {whose}, at {to_iso(at)}"
    return ""


def _time_of_alert(record: Record) -> float | None:
    """None if it was not sent yet, or if that record is none of ours."""
    said = _word(record, "alertedAt") if record.get("state") == ALERTED else ""
    return from_iso(said) if said else None


def _word(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
