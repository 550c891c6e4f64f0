"""Messages that programs write to each other, as sentences for people. JSON shows them as they are."""

from __future__ import annotations

from atm.core.untrusted_text import many_lines, one_line
from atm.mail.formats.protocol_message import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.protocol_message import ProtocolMessage

SENTENCES = {
    "task_assignment": "You have a new task: #{task_id} {subject}",
    "task_completed": "#{task_id} {subject} is completed",
    "idle_notification": "I am idle",
    "shutdown_request": "Please finish what you are at and end: {reason}",
    "shutdown_approved": "I have finished, and end",
    "shutdown_rejected": "I do not end yet: {reason}",
    "plan_approval_request": "Please approve my plan",
    "teammate_terminated": "{message}",
}
"""What a kind of message says. Those that grant something are shown field by field: a person must see what exactly."""


def sentence(text: str) -> list[str] | None:
    """The lines of a structured message in words; None for what is said in words already. Harmless."""
    found = parse(text)
    if found is None:
        return None
    said = SENTENCES.get(found.kind)
    if said is None:
        return [f"{one_line(key)}: {one_line(str(value))}" for key, value in found.fields.items() if key != "type"]
    words = one_line(said.format_map(_Words(found))).rstrip(": ")
    more = found.get("description") or found.get("plan") or ""
    return [words, *(many_lines(more).split("\n") if isinstance(more, str) and more.strip() else [])]


def in_one_line(text: str) -> str:
    """How a message begins, for lists."""
    said = sentence(text)
    return one_line(text if said is None else " ".join(said))


def in_words(text: str) -> str:
    """A message for people: what a program says in sentences, and what a member wrote as it is."""
    said = sentence(text)
    return text if said is None else "\n".join(said)


class _Words(dict[str, str]):
    """The fields of a message, in whatever spelling; what is missing is nothing."""

    def __init__(self, message: ProtocolMessage) -> None:
        super().__init__()
        self._message = message

    def __missing__(self, name: str) -> str:
        value = self._message.get(name)
        return "" if value is None else str(value)
