"""
Completing the history: events that are in files but not in it, and what other programs did without telling.

A killed process may have written a task and not the line about it; Claude Code writes no lines at all. So every turn
first looks at the tasks of which nothing proves that the history knows how they came to be as they are.
"""

from __future__ import annotations

from atm.board.formats.task import decode_task
from atm.board.formats.task_history import OBSERVED, VANISHED, PastLine, state_of
from atm.core.errors import AtmError
from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson, encode
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.adapters.board_scan import Scan
    from atm.board.adapters.task_folder import TaskFolder
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain, Record


def catch_up(store: TaskFolder, team: str, folder: str, scan: Scan) -> None:
    """Under the list's lock. A history that cannot be read or written now is completed by a later turn."""
    unproven = sorted(scan.unproven)
    if not unproven:
        return
    known: dict[str, dict[str, Plain]] = {}
    ids: set[str] = set()
    try:
        for past in store.past(team)[0]:
            known[past.task] = {**past.after, "type": past.event.get("type")}
            ids.add(past.word("id"))
        now = to_iso(store.clock.now())
        lines = []
        for number in unproven:
            events = _events(store, folder, number)
            lines += _missing(scan, number, events, known.get(str(number), {}), ids, now)
        if lines:
            store.remember_past(team, lines)
    except AtmError:
        return
    for number in unproven:
        row = scan.changed.get(number) or scan.former(number)
        if row is not None:
            row.is_proven = True
            scan.put(row)


def _missing(
    scan: Scan, number: int, events: list[Record], known: dict[str, Plain], ids: set[str], now: str
) -> list[PastLine]:
    gone = scan.gone.get(number)
    card = gone or scan.cards[number]
    was_gone = known.get("type") == VANISHED
    if gone is not None:
        return [] if was_gone else [PastLine(card, _seen(VANISHED, card, now))]
    lines = [PastLine(card, event) for event in events if isinstance(id := event.get("id"), str) and id not in ids]
    is_told = known and not was_gone and {key: known.get(key) for key in state_of(card)} == state_of(card)
    return lines if lines or is_told else [PastLine(card, _seen(OBSERVED, card, now))]


def _events(store: TaskFolder, folder: str, number: int) -> list[Record]:
    try:
        return decode_task(read_whole(store.disk, f"{folder}/{number}.json"), number).events
    except (OSError, NotJson):
        return []


def _seen(kind: str, card: Card, now: str) -> Record:
    from zlib import crc32

    mark = crc32(encode([*state_of(card).values(), card.last_event]).encode("utf-8", "surrogatepass"))
    facts: Record = {"to": card.outcome or card.status, "owner": card.owner}
    return {"id": f"{kind}-{card.id}-{mark:08x}-{now}", "type": kind, "at": now, "actor": "", **facts}
