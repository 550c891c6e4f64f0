"""
Structured messages: a JSON object as a string in a row's `text`.

We read every kind and both spellings of their fields. We never send the ones that grant something: a
permission answer that did not come from the person asked would be forged consent (G8).
"""

from __future__ import annotations

from atm.core.errors import BadMessage
from atm.files.formats.json_record import NotJson, decode_object
from atm.mail.rules.messages import object_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.mail.rules.messages import Message

IDLE = "idle_notification"

KINDS = frozenset(
    (
        *("task_assignment", IDLE, "shutdown_request", "shutdown_approved", "shutdown_rejected"),
        *("shutdown_response", "plan_approval_request", "plan_approval_response", "permission_request"),
        *("permission_response", "sandbox_permission_request", "sandbox_permission_response"),
        *("mode_set_request", "team_permission_update", "task_completed", "teammate_terminated"),
        *("join_request", "join_approved", "join_rejected"),
    )
)

NEVER_SENT = frozenset(
    (
        *("permission_request", "permission_response", "sandbox_permission_request"),
        *("sandbox_permission_response", "mode_set_request", "team_permission_update"),
        "plan_approval_response",
    )
)

_SPELLINGS = {
    "request_id": ("request_id", "requestId"),
    "approved": ("approved", "approve"),
    "tool_name": ("tool_name", "toolName"),
    "agent_id": ("agent_id", "agentId", "workerId", "workerName"),
    "task_id": ("taskId", "task_id"),
}


class ProtocolMessage:
    """A recognised structured message. Ask for fields by our spelling; any known one answers."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, fields: dict[str, Plain]) -> None:
        self.kind = kind
        self.fields = fields

    def get(self, name: str) -> Plain:
        for spelling in _SPELLINGS.get(name, (name,)):
            if spelling in self.fields:
                return self.fields[spelling]
        return None


def parse(text: str) -> ProtocolMessage | None:
    """The structured message in a text, or None: an unknown `type` is plain text."""
    bare = object_in(text)
    if not bare:
        return None
    try:
        fields = decode_object(bare)
    except NotJson:
        return None
    kind = fields.get("type")
    return ProtocolMessage(kind, fields) if isinstance(kind, str) and kind in KINDS else None


def idle_sender(message: Message) -> str | None:
    """Who says in this row that it is idle; by type, never by words in the text."""
    return message.sender if is_idle(message.kind, message.text) else None


def is_idle(kind: Plain, text: str) -> bool:
    """Does a row of this type and text say that its sender is idle?"""
    if kind == IDLE:
        return True
    parsed = parse(text) if IDLE in text else None
    return parsed is not None and parsed.kind == IDLE


def _kind_in_doubt(text: str) -> str | None:
    """An object that we cannot read, others perhaps can: if it names a grant, it counts as one (G8)."""
    if not object_in(text):
        return None
    return next((kind for kind in sorted(NEVER_SENT) if f'"{kind}"' in text), None)


def check_may_be_sent(text: str) -> str:
    """Return the text unless it would be taken for a grant that nobody gave."""
    parsed = parse(text)
    kind = parsed.kind if parsed is not None else _kind_in_doubt(text)
    if kind in NEVER_SENT:
        raise BadMessage(
            f"the text is a {kind!r} protocol message, which atm never sends",
            "Claude Code would take it for somebody's consent; write it as a sentence instead",
        )
    return text
