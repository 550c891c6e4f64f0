"""
`state.json` as a checkpoint: the shape of seed 003 section 1.3, beside what a team's life and its lead keep there.

Only what changed is written. Times and the sequence alone are no change: a team that rests is not written to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.files.formats.json_record import decode_object, to_text
from atm.team.formats.lead_fields import milliseconds, seconds_in, text_in, whole_in, with_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atm.core.plain import Plain

VERSION = "1.0"
MOST_MESSAGES = 50
LONGEST_BODY = 600
"""Characters of a message in the tail: the whole of it is in the ledger. Fifty of them stay within the seed's 50 KB."""


@dataclass(slots=True, kw_only=True)
class Teammate:
    """One of `teammates`."""

    id: str
    index: int
    role: str
    quantum: str
    status: str
    task: str = ""
    context: int | None = None
    heartbeat: float | None = None
    last_message: int = 0
    runtime: str = ""
    session: str = ""
    """The vendor's own id of its conversation."""
    entry: dict[str, Plain] = field(default_factory=dict)
    """Of the roster, from which a lost one is made again."""


@dataclass(slots=True, kw_only=True)
class TaskInProgress:
    """One of `task_queue.in_progress`."""

    id: str
    quantum: str
    owner: str
    needs: Sequence[str]
    created: float | None
    subject: str

    def as_fields(self) -> dict[str, Plain]:
        return {
            "id": self.id,
            "quantum": self.quantum,
            "assigned_to": self.owner,
            "dependencies": [*self.needs],
            "status": "in_progress",
            "created_utc_ms": milliseconds(self.created),
            "description": self.subject,
        }


@dataclass(slots=True, kw_only=True)
class TailMessage:
    """One of `mailbox_tail`."""

    seq: int
    sender: str
    to: str
    at: str
    kind: str
    body: str
    id: str = ""

    def as_fields(self) -> dict[str, Plain]:
        return {
            "seq": self.seq,
            "from": self.sender,
            "to": self.to,
            "timestamp": self.at,
            "type": self.kind,
            "body": self.body[:LONGEST_BODY],
        }


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """Everything that one holds."""

    lead: str = ""
    """The member who leads."""
    teammates: Sequence[Teammate] = ()
    pending: Sequence[str] = ()
    in_progress: Sequence[TaskInProgress] = ()
    completed: Sequence[str] = ()
    open_tasks: Sequence[Mapping[str, Plain]] = ()
    """The files of open tasks, from which a lost board is made again."""
    mailbox_seq: int = 0
    tail: Sequence[TailMessage] = ()
    facts: Mapping[str, str] | None = None
    """None leaves those that stand there."""
    commit: str = ""
    """The last one whose checks passed."""
    metadata: dict[str, Plain] = field(default_factory=dict)


def sequence_in(data: bytes) -> int:
    """Raises NotJson."""
    return whole_in(decode_object(to_text(data)), "checkpoint_sequence")


def created_in(data: bytes) -> float | None:
    """Raises NotJson."""
    return seconds_in(decode_object(to_text(data)), "created_utc_ms")


def commit_in(data: bytes) -> str:
    """The last one that was known to be good. Raises NotJson."""
    return text_in(decode_object(to_text(data)), "git_commit_sha")


def facts_in(data: bytes) -> dict[str, str]:
    """Raises NotJson."""
    found = decode_object(to_text(data)).get("facts_checksums")
    return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}


def with_checkpoint(data: bytes, said: Checkpoint, now: float, created: float) -> bytes:
    """The file after a checkpoint; the same bytes if there is nothing new in it."""
    former = decode_object(to_text(data))
    fields = _fields(said, former)
    if all(former.get(key) == value for key, value in fields.items() if key != "teammates") and _same_people(
        former.get("teammates"), fields["teammates"]
    ):
        return data
    sequence = whole_in(former, "checkpoint_sequence") + 1
    people = fields["teammates"]
    for one in people if isinstance(people, list) else []:
        if isinstance(one, dict):
            one["last_checkpoint_seq"] = sequence
    head: dict[str, Plain] = {"version": VERSION, "checkpoint_sequence": sequence, "updated_utc_ms": milliseconds(now)}
    if seconds_in(former, "created_utc_ms") is None:
        head["created_utc_ms"] = milliseconds(created)
    return with_fields(data, {**head, **fields})


def _same_people(one: Plain, other: Plain) -> bool:
    """But for the numbers of their checkpoints."""

    def bare(people: Plain) -> list[dict[str, Plain]]:
        found = [each for each in people if isinstance(each, dict)] if isinstance(people, list) else []
        return [{key: value for key, value in each.items() if key != "last_checkpoint_seq"} for each in found]

    return bare(one) == bare(other)


def _fields(said: Checkpoint, former: dict[str, Plain]) -> dict[str, Plain]:
    metadata = former.get("metadata")
    kept = metadata if isinstance(metadata, dict) else {}
    fields: dict[str, Plain] = {
        "lead_member": said.lead,
        "teammate_count": len(said.teammates),
        "teammates": [_teammate(one) for one in said.teammates],
        "task_queue": {
            "pending": [*said.pending],
            "in_progress": [one.as_fields() for one in said.in_progress],
            "completed": [*said.completed],
        },
        "open_tasks": [{**one} for one in said.open_tasks],
        "mailbox_seq": said.mailbox_seq,
        "mailbox_tail": [one.as_fields() for one in said.tail],
        "metadata": {**kept, "N": len(said.teammates), "divergence_detected": False, **said.metadata},
    }
    if said.commit:
        fields["git_commit_sha"] = said.commit
    if said.facts is not None:
        fields["facts_checksums"] = {**said.facts}
    elif "facts_checksums" not in former:
        fields["facts_checksums"] = {}
    return fields


def _teammate(one: Teammate) -> dict[str, Plain]:
    return {
        "id": one.id,
        "index": one.index,
        "role": one.role,
        "quantum": one.quantum,
        "status": one.status,
        "task_claimed": one.task or None,
        "context_usage_percent": one.context,
        "heartbeat_utc_ms": milliseconds(one.heartbeat),
        "last_message_seq": one.last_message,
        "last_checkpoint_seq": 0,
        **({"runtime": one.runtime} if one.runtime else {}),
        **({"vendor_session": one.session} if one.session else {}),
        **({"entry": one.entry} if one.entry else {}),
    }


CHECKPOINTED = ("task_queue", "open_tasks", "mailbox_seq", "mailbox_tail", "teammate_count")


def checkpointed(data: bytes) -> list[Plain]:
    """What two copies of one sequence must agree about. Raises NotJson."""
    fields = decode_object(to_text(data))
    return [fields.get(key) for key in CHECKPOINTED]


def lead_member_in(data: bytes) -> str:
    """Raises NotJson."""
    return text_in(decode_object(to_text(data)), "lead_member")


def teammates_in(data: bytes) -> list[Teammate]:
    """As the last checkpoint has them, for a team whose roster is lost. Raises NotJson."""
    found = decode_object(to_text(data)).get("teammates")
    records = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [
        Teammate(
            id=text_in(one, "id"),
            index=whole_in(one, "index"),
            role=text_in(one, "role"),
            quantum=text_in(one, "quantum"),
            status=text_in(one, "status"),
            task=text_in(one, "task_claimed"),
            runtime=text_in(one, "runtime"),
            session=text_in(one, "vendor_session"),
            entry=entry if isinstance(entry := one.get("entry"), dict) else {},
        )
        for one in records
        if text_in(one, "id")
    ]


def open_tasks_in(data: bytes) -> list[dict[str, Plain]]:
    """Raises NotJson."""
    found = decode_object(to_text(data)).get("open_tasks")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
