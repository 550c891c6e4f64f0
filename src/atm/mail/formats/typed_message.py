"""
What type a row is of, wherever that is written: in our own fields, or in its text as Claude Code does.

Of Claude Code's kinds each that means one of the eight types is read as it; all others stay what they are, text.
"""

from __future__ import annotations

from atm.files.formats.json_record import encode
from atm.mail.formats.protocol_message import IDLE, parse
from atm.mail.rules.message_types import LONGEST_VALUE, NO, YES
from atm.mail.rules.messages import ASSIGNMENT, PLAIN, PLAN, PLAN_ANSWER, SHUTDOWN, SHUTDOWN_ANSWER, STATUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain
    from atm.mail.formats.protocol_message import ProtocolMessage
    from atm.mail.rules.messages import Message

_CLAUDES = {
    "task_assignment": ASSIGNMENT,
    "shutdown_request": SHUTDOWN,
    "shutdown_approved": SHUTDOWN_ANSWER,
    "shutdown_rejected": SHUTDOWN_ANSWER,
    "shutdown_response": SHUTDOWN_ANSWER,
    "plan_approval_request": PLAN,
    "plan_approval_response": PLAN_ANSWER,
    "task_completed": STATUS,
    IDLE: STATUS,
}

_FIELDS = {
    ASSIGNMENT: (("task_id", "task_id"), ("subject", "subject"), ("assigned_by", "assignedBy")),
    SHUTDOWN: (("request_id", "request_id"), ("reason", "reason")),
    SHUTDOWN_ANSWER: (("request_id", "request_id"), ("reason", "reason"), ("reason", "content")),
    PLAN: (("request_id", "request_id"),),
    PLAN_ANSWER: (("request_id", "request_id"), ("feedback", "feedback")),
    STATUS: (("task_id", "task_id"), ("task_id", "completedTaskId"), ("note", "failureReason"), ("note", "summary")),
}
"""For each type: the name of a piece of metadata, and what Claude Code calls it. The first that is there counts."""


class TypedMessage:
    """A message, what type it is of, and what it carries. Whether to believe its `sender` is the reader's question."""

    __slots__ = ("is_doubted", "message", "metadata", "type")

    def __init__(self, message: Message, type: str, metadata: dict[str, str], *, is_doubted: bool = False) -> None:
        self.message = message
        self.type = type
        self.metadata = metadata
        self.is_doubted = is_doubted
        """May somebody have acted on it before, who did not come to the end?"""

    @property
    def key(self) -> object:
        """What tells it from all others: its id, where it has one."""
        return self.message.key

    @property
    def sender(self) -> str:
        return self.message.sender

    @property
    def text(self) -> str:
        return self.message.text

    def __repr__(self) -> str:
        return f"TypedMessage({self.type!r}, {self.metadata!r}, {self.message!r})"


def typed(message: Message, *, is_doubted: bool = False) -> TypedMessage:
    """What a row is, by our fields or else by Claude Code's."""
    if message.type != PLAIN:
        return TypedMessage(message, message.type, message.metadata, is_doubted=is_doubted)
    said = parse(message.text)
    type = _CLAUDES.get(said.kind) if said is not None else None
    if said is None or type is None:
        return TypedMessage(message, PLAIN, {}, is_doubted=is_doubted)
    return TypedMessage(message, type, _metadata_in(said, type), is_doubted=is_doubted)


def type_of(message: Message) -> str:
    return typed(message).type


def _metadata_in(said: ProtocolMessage, type: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, theirs in _FIELDS[type]:
        value = said.get(theirs)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            found.setdefault(name, str(value)[:LONGEST_VALUE])
    if type in (SHUTDOWN_ANSWER, PLAN_ANSWER):
        is_yes = said.kind == "shutdown_approved" or (
            said.kind in ("shutdown_response", "plan_approval_response") and said.get("approved") is True
        )
        found["approved"] = YES if is_yes else NO
    if type == STATUS:
        found["state"] = _state_in(said)
    return found


def _state_in(said: ProtocolMessage) -> str:
    if said.kind != IDLE:
        return "completed"
    reason = said.get("idleReason")
    return "failed" if reason == "failed" or said.get("failureReason") else "idle"


def claudes_text(type: str, metadata: Mapping[str, str], sender: str, timestamp: str) -> str | None:
    """The text by which Claude Code understands this type in a team of its own; None where it has no word for it."""
    said: dict[str, Plain]
    if type == SHUTDOWN:
        said = {"type": "shutdown_request"}
    elif type == SHUTDOWN_ANSWER:
        said = {"type": "shutdown_approved" if metadata.get("approved") == YES else "shutdown_rejected"}
    else:
        return None
    said |= {"requestId": metadata.get("request_id", ""), "from": sender}
    if metadata.get("reason"):
        said["reason"] = metadata["reason"]
    return encode({**said, "timestamp": timestamp})
