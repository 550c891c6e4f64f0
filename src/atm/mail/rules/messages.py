"""
What a message may say, and how atm dresses it: summary, call to action, request marker.

Pure text rules; the bytes of an inbox row are the business of `mail.formats.inbox`.
"""

from __future__ import annotations

from atm.core.errors import BadMessage

LARGEST_TEXT = 1024 * 1024
"""Bytes of UTF-8. Larger things are passed as file references, never as mail."""

SUMMARY_LENGTH = 100
DEFAULT_CALL_TO_ACTION = "PENDING ACTION - execute when online"
REQUEST_MARKER = "Request-ID: "
ACK_MARKER = "Please acknowledge: atm ack "
URGENT_MARK = "[URGENT] "
"""In the text itself, because that is all that every vendor's agent gets to see."""


INFO = "info"
INTENTS = (INFO, "question", "challenge", "resolution")
"""What a message can be meant as (seed 003). In rows `kind`; `type` is Claude Code's."""

PLAIN, STATUS, SHUTDOWN, SHUTDOWN_ANSWER = "text", "status_update", "shutdown_request", "shutdown_response"
PLAN, PLAN_ANSWER, ASSIGNMENT, BROADCAST = "plan_submission", "plan_approval", "task_assignment", "broadcast"
TYPES = (PLAIN, STATUS, SHUTDOWN, SHUTDOWN_ANSWER, PLAN, PLAN_ANSWER, ASSIGNMENT, BROADCAST)
"""What a message can be (seed 004); what each of them has is in `message_types`. In rows of our teams `messageKind`."""

_STRIPPED = "\ufeff \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200C))
)
"""What some reader may strip before it parses."""

SENT_BY_HAND = (PLAIN, STATUS, SHUTDOWN, SHUTDOWN_ANSWER)
"""Those that may be asked for by name; the others are made by the verbs that mean them."""


class Message:
    """
    One inbox row as the rules see it. `raw` is the row as it lies in the file and stays the truth.

    `id` is None for rows of programs that give none; `key` identifies the row all the same (D5).
    """

    __slots__ = (
        "color",
        "id",
        "intent",
        "kind",
        "metadata",
        "raw",
        "read",
        "sender",
        "summary",
        "text",
        "timestamp",
        "type",
        "understood",
        "unknown",
    )

    def __init__(
        self,
        *,
        id: str | None,
        sender: str,
        text: str,
        timestamp: str,
        read: bool,
        summary: str | None = None,
        color: str | None = None,
        kind: str = "message",
        intent: str = INFO,
        type: str = PLAIN,
        metadata: dict[str, str] | None = None,
        raw: str = "",
        unknown: tuple[str, ...] = (),
        understood: bool = True,
    ) -> None:
        self.id = id
        self.sender = sender
        self.text = text
        self.timestamp = timestamp
        self.read = read
        self.summary = summary
        self.color = color
        self.kind = kind
        self.intent = intent
        """What it is meant as: one of INTENTS."""
        self.type = type
        """What its row says that it is: one of TYPES. Claude Code says it in the text; `typed` knows both."""
        self.metadata = metadata or {}
        self.raw = raw
        self.unknown = unknown
        self.understood = understood
        """False for a row that is not a message: it keeps its place, and is shown to nobody."""

    @property
    def key(self) -> object:
        if not self.understood:
            return ("not a message", self.raw)
        return self.id if self.id is not None else (self.sender, self.timestamp, self.text)

    def __repr__(self) -> str:
        return f"Message({self.id!r}, from={self.sender!r}, read={self.read}, {self.text[:40]!r})"


def check_text(text: str) -> str:
    """Return the text if it can be sent, or raise."""
    if not text.strip():
        raise BadMessage("the message is blank", "write something, or pass it with --stdin")
    if "\0" in text:
        raise BadMessage("the message contains a NUL character", "send binary data with --file")
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST_TEXT:
        raise BadMessage(
            f"the message is {size:,} bytes, more than the {LARGEST_TEXT:,} that an inbox row may hold",
            "put it in a file and send a reference with --file",
        )
    return text


def summarize(text: str, length: int = SUMMARY_LENGTH) -> str:
    """The first words of a text, cut at a word."""
    line = " ".join(text.split(None, length)[:length])
    if len(line) <= length:
        return line
    cut = line.rfind(" ", 0, length - 2)
    return line[: cut if cut > 0 else length - 3].rstrip() + "..."


def object_in(text: str) -> str:
    """The text without what some reader may strip before it parses, if an object begins there; else nothing."""
    bare = text.strip(_STRIPPED)
    return bare if bare.startswith("{") else ""


def with_call_to_action(text: str, action: str) -> str:
    """Tag a text for a recipient who is away; an empty action means that the user opted out."""
    return f"[{action}] {text}" if action else text


def with_request_marker(text: str, request_id: str) -> str:
    return f"{text}\n\n{REQUEST_MARKER}{request_id}"


def with_ack_request(text: str, message_id: str, minutes: float) -> str:
    """Tell the recipient how to acknowledge, and that the lead will be told otherwise."""
    return f"{text}\n\n{ACK_MARKER}{message_id}  (within {minutes:g} min, or the lead is told)"


def answers_request(message: Message, request_id: str) -> bool:
    """A reply carries the id of the request anywhere in its text."""
    return request_id in message.text


def defuse(text: str) -> str:
    """
    Break what could end a frame, or begin another one, inside a text: `</teammate-message>`, `<system-reminder>`.

    Claude Code shows mail to the model inside such an element without escaping it: a text that closes the element
    could go on in the user's voice (D22).
    """
    if "<" not in text:
        return text
    from atm.core.untrusted_text import without_frames

    return without_frames(text)
