"""
Task files `tasks/{list}/{N}.json`, in Claude Code's shape. Ours go under `metadata.atm` alone (D23).

Mail only counts tasks for `atm status`; the board builds on the same codec.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.formats.json_record import RawObject, encode, to_bytes, to_text

PENDING, IN_PROGRESS, COMPLETED = "pending", "in_progress", "completed"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED)


@dataclass(frozen=True, slots=True)
class Task:
    """One task as its file says; `raw` keeps what we do not know."""

    id: str
    subject: str
    description: str
    status: str
    owner: str
    blocks: tuple[str, ...]
    blocked_by: tuple[str, ...]
    raw: str


def decode_task(data: bytes) -> Task:
    """Read a task. Raises NotJson if the file is not an object; missing fields are empty."""
    record = RawObject(to_text(data))
    return Task(
        id=_text(record, "id"),
        subject=_text(record, "subject"),
        description=_text(record, "description"),
        status=_text(record, "status") or PENDING,
        owner=_text(record, "owner"),
        blocks=_ids(record, "blocks"),
        blocked_by=_ids(record, "blockedBy"),
        raw=record.text,
    )


def encode_task(task: Task, *, status: str | None = None, owner: str | None = None) -> bytes:
    """The task's file with some fields set and every other character kept."""
    record = RawObject(task.raw)
    for key, value in (("status", status), ("owner", owner)):
        if value is not None:
            record = record.with_raw(key, encode(value))
    return to_bytes(record.text)


def task_number(file_name: str) -> int | None:
    """The N of `N.json`; other files in the folder are locks and marks."""
    stem, dot, suffix = file_name.partition(".")
    return int(stem) if dot and suffix == "json" and stem.isascii() and stem.isdecimal() else None


def _text(record: RawObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _ids(record: RawObject, key: str) -> tuple[str, ...]:
    value = record.get(key)
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
