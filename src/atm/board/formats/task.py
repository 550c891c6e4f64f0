"""
Task files `tasks/{list}/{N}.json`, in Claude Code's shape. Ours goes under `metadata.atm` alone (D23).

A change replaces the spans it is about; whatever else stands in the file stays to the letter.
"""

from __future__ import annotations

from atm.board.rules.reviews import kept_events
from atm.board.rules.tasks import (
    COMPLETED,
    IN_PROGRESS,
    MAX_RETRIES,
    MOST_EVENTS,
    PENDING,
    REVIEW,
    STATUSES,
    Card,
    Change,
    Task,
)
from atm.core.names import same_name
from atm.core.plain import dicts_in
from atm.files.formats.json_record import RawObject, decode_object, encode, indent, to_bytes, to_text

__all__ = ["STATUSES", "apply", "decode_task", "detached", "new_task", "task_number"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record

OURS = "atm"


def decode_task(data: bytes, number: int | None = None) -> Task:
    """Read a task. Raises NotJson if the file is not an object; missing fields are empty. The file's name counts."""
    raw = to_text(data)
    record = decode_object(raw)
    metadata = record.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    own = found.get(OURS)
    ours: dict[str, Plain] = {**own} if isinstance(own, dict) else {}
    id = _word(record, "id")
    named = int(id) if id.isascii() and id.isdecimal() and len(id) < 16 else 0
    card = _card(named if number is None else number, record, ours, found.get("_internal") is True)
    return Task(card, description=_word(record, "description"), own=ours, raw=raw)


def _card(number: int, record: dict[str, Plain], own: dict[str, Plain], is_hidden: bool) -> Card:
    status, owner = _word(record, "status") or PENDING, _word(record, "owner")
    claim, review, plan, question = (_part(own, key) for key in ("claim", "review", "plan", "clarification"))
    work = _part(own, "work")
    commit = _word(work, "commit")
    is_in_force = status == IN_PROGRESS and bool(owner) and same_name(_word(claim, "by"), owner)
    events = own.get("events")
    last = events[-1] if isinstance(events, list) and events else None
    return Card(
        number=number,
        subject=_word(record, "subject"),
        status=status,
        owner=owner,
        blocked_by=_ids(record, "blockedBy"),
        blocks=_ids(record, "blocks"),
        priority=_word(own, "priority") or "normal",
        outcome=_word(own, "outcome") if status == IN_PROGRESS and not owner else "",
        claim_id=_word(claim, "id") if is_in_force else "",
        claimed_at=_word(claim, "at") if is_in_force else "",
        failures=_whole(own, "failures", 0),
        max_retries=_whole(own, "maxRetries", MAX_RETRIES),
        review=_word(review, "state") if status == IN_PROGRESS else "",
        reviewer=_word(review, "reviewer") if _word(review, "state") == REVIEW else _word(own, "reviewer"),
        needs=_word(question, "needs"),
        plan=_word(plan, "state"),
        files=_words(own.get("files")),
        is_hidden=is_hidden,
        last_event=_word(last, "id") if isinstance(last, dict) else "",
        problem="" if isinstance(record.get("metadata"), dict | None) else "its metadata is no object",
        key=_word(own, "key"),
        runtime=_word(own, "runtime"),
        source=_word(own, "source"),
        work=commit if status == COMPLETED and commit != _word(work, "base") else "",
        merged=_word(work, "merged") if status == COMPLETED else "",
    )


def new_task(
    number: int, *, subject: str, description: str, owner: str, blocked_by: list[str], blocks: list[str], own: Record
) -> bytes:
    """The file of a task that we add, laid out as Claude Code lays it out."""
    record: dict[str, Plain] = {"id": str(number), "subject": subject, "description": description, "status": PENDING}
    if owner:
        record["owner"] = owner
    record |= {"blocks": [*blocks], "blockedBy": [*blocked_by], "metadata": {OURS: own}}
    return to_bytes(indent(record) + "\n")


def apply(raw: str, change: Change) -> str:
    """The file after a change. Raises NotJson where `metadata` is no object: there is no place for ours."""
    record = RawObject(raw)
    for key, value in change.fields.items():
        if value or key in record:
            record = record.with_raw(key, encode(value))
    for key in dict.fromkeys((*change.add, *change.drop)):
        ids = [id for id in _list(record.get(key)) if id not in change.drop.get(key, ())]
        record = record.with_raw(key, encode(list(dict.fromkeys((*ids, *change.add.get(key, ()))))))
    if change.own or change.event is not None:
        record = record.with_raw("metadata", _with_ours(record, change))
    return record.text


def _with_ours(record: RawObject, change: Change) -> str:
    metadata = record.raw("metadata")
    inner = RawObject("{}" if metadata in (None, "null") else metadata or "")
    own = inner.get(OURS)
    merged: dict[str, Plain] = {**own} if isinstance(own, dict) else {}
    for key, value in change.own.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    if change.event is not None:
        events = merged.get("events")
        merged["events"] = [*kept_events([*dicts_in(events), change.event], MOST_EVENTS)]
    return inner.with_raw(OURS, indent(merged, "    ")).text


def detached(data: bytes) -> bytes:
    """A task that comes back from a backup: nobody works on it any more."""
    task = decode_task(data)
    if not task.is_claimed:
        return data
    return to_bytes(apply(task.raw, Change(fields={"status": PENDING, "owner": ""}, own={"claim": None})))


def change_to_record(change: Change) -> dict[str, Plain]:
    """A change as plain data, for the note of what is being written."""
    return {
        "fields": {**change.fields},
        "own": change.own,
        "add": {key: [*ids] for key, ids in change.add.items()},
        "drop": {key: [*ids] for key, ids in change.drop.items()},
        "event": change.event,
    }


def change_from_record(record: dict[str, Plain]) -> Change:
    fields, own, event = record.get("fields"), record.get("own"), record.get("event")
    return Change(
        {**event} if isinstance(event, dict) else None,
        fields={key: str(value) for key, value in fields.items()} if isinstance(fields, dict) else {},
        own={**own} if isinstance(own, dict) else {},
        add=_lists(record.get("add")),
        drop=_lists(record.get("drop")),
    )


def task_number(file_name: str) -> int | None:
    """The N of `N.json`; other files in the folder are locks and marks."""
    stem, dot, suffix = file_name.partition(".")
    is_number = dot and suffix == "json" and stem.isascii() and stem.isdecimal() and len(stem) < 16
    return int(stem) if is_number and str(int(stem)) == stem else None


def task_mark(data: bytes) -> int:
    """What `.highwatermark` says; 0 if that is no number."""
    text = data.decode("ascii", "replace").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0


def _word(record: dict[str, Plain], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _whole(record: dict[str, Plain], key: str, default: int) -> int:
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _part(own: dict[str, Plain], key: str) -> dict[str, Plain]:
    value = own.get(key)
    return value if isinstance(value, dict) else {}


def _words(value: Plain) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _ids(record: dict[str, Plain], key: str) -> list[str]:
    """Each once, as another program may have written one twice."""
    return list(dict.fromkeys(_list(record.get(key))))


def _list(value: Plain) -> list[str]:
    return [str(item) for item in value if isinstance(item, str | int)] if isinstance(value, list) else []


def _lists(value: Plain) -> dict[str, list[str]]:
    return {key: _list(item) for key, item in value.items()} if isinstance(value, dict) else {}
