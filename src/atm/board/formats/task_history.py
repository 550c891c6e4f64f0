"""
Lines of `tasks.jsonl`: everything that ever happened to a task, also after Claude Code deleted its file.

Each line is an event, its number, its task, and how the task stood afterwards.
"""

from __future__ import annotations

from atm.board.rules.tasks import LONGEST_NUMBER, MOST_NUMBERS, Card
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from atm.core.plain import Plain, Record

OBSERVED, VANISHED = "observed", "vanished"
"""What we did not do but found: another program changed the task, or its file is gone."""


SHOWN_BY = ("review", "plan", "needs", "failures", "work", "merged")
"""What else decides how a task is shown."""


class Past:
    """One line, as it was read."""

    __slots__ = ("after", "event", "seq", "task")

    def __init__(self, seq: int, task: str, event: Record, after: dict[str, Plain]) -> None:
        self.seq = seq
        self.task = task
        self.event = event
        self.after = after

    def word(self, key: str) -> str:
        value = self.event.get(key)
        return value if isinstance(value, str) else ""


class PastLine:
    """One line, before it has its number."""

    __slots__ = ("_after", "_event", "_task")

    def __init__(self, card: Card, event: Record) -> None:
        self._task = card.id
        self._event = event
        self._after: dict[str, Plain] = _after(card)

    def numbered(self, seq: int) -> bytes:
        said = {key: value for key, value in self._event.items() if key not in ("seq", "task", "after")}
        return to_bytes(encode({"seq": seq, "task": self._task, **said, "after": self._after}) + "\n")


def state_of(card: Card) -> dict[str, Plain]:
    """What a change of a task is judged by; the subject because the file may be gone one day."""
    return {"status": card.status, "owner": card.owner, "outcome": card.outcome, "subject": card.subject}


def _after(card: Card) -> dict[str, Plain]:
    """With what else a replay must know to show its state; what is not set is left out."""
    more: dict[str, Plain] = {key: getattr(card, key) for key in SHOWN_BY}
    return {**state_of(card), **{key: value for key, value in more.items() if value}}


def card_then(one: Past, blocked_by: Sequence[str] = ()) -> Card:
    """A task as it was after an event. Lines of earlier versions say less of it."""
    words = {key: value for key, value in one.after.items() if isinstance(value, str)}
    failures = one.after.get("failures")
    return Card(
        int(one.task) if one.task.isascii() and one.task.isdecimal() and len(one.task) <= LONGEST_NUMBER else 0,
        words.get("subject", ""),
        status=words.get("status", ""),
        owner=words.get("owner", ""),
        outcome=words.get("outcome", ""),
        blocked_by=blocked_by,
        failures=failures if isinstance(failures, int) else 0,
        review=words.get("review", ""),
        plan=words.get("plan", ""),
        needs=words.get("needs", ""),
        work=words.get("work", ""),
        merged=words.get("merged", ""),
    )


def decode_past(data: bytes) -> tuple[list[Past], int]:
    """All readable lines, and how many were not."""
    found, torn = [], 0
    for line in data.split(b"\n"):
        if line.strip():
            past = _past(line)
            torn += past is None
            found += [past] if past else []
    return found, torn


def _past(line: bytes) -> Past | None:
    try:
        record = decode_object(to_text(line))
    except NotJson:
        return None
    seq, task, after = record.pop("seq", None), record.pop("task", None), record.pop("after", None)
    if not isinstance(seq, int) or not isinstance(task, str):
        return None
    return Past(seq, task, {**record}, {**after} if isinstance(after, dict) else {})


def gone_in(past: Iterable[Past]) -> dict[int, tuple[Card, bool]]:
    """Every task of the history as it was last; and whether the history says that its file is gone."""
    found: dict[int, tuple[Card, bool]] = {}
    for one in past:
        if one.task.isascii() and one.task.isdecimal() and int(one.task) <= MOST_NUMBERS:
            words = {key: value for key, value in one.after.items() if isinstance(value, str)}
            card = Card(
                int(one.task),
                words.get("subject", ""),
                status=words.get("status", ""),
                owner=words.get("owner", ""),
                outcome=words.get("outcome", ""),
            )
            found[card.number] = (card, one.word("type") == VANISHED)
    return found
