"""
The eight types of messages (seed 004, messaging.md): what each carries, who makes it, and how it reads as words.

Pure. A type says what a program may do with a message; the text says the same in words, since text is all that most
agents get to see. Whoever grants something does so with the board's own verbs: nothing that grants is sent by hand
(G8).
"""

from __future__ import annotations

from atm.core.errors import BadMessage
from atm.mail.rules.messages import (
    ASSIGNMENT,
    BROADCAST,
    PLAIN,
    PLAN,
    PLAN_ANSWER,
    SENT_BY_HAND,
    SHUTDOWN,
    SHUTDOWN_ANSWER,
    STATUS,
    check_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_VALUE = 2_000
"""Characters of one value. What is longer is told in the text, and its beginning here."""

ANYBODY, BOSSES = "anybody", "the lead or a human"


class MessageType:
    """One of the eight."""

    __slots__ = ("by_hand", "keys", "made_by", "name", "needs", "words")

    def __init__(
        self,
        name: str,
        keys: tuple[str, ...] = (),
        needs: tuple[str, ...] = (),
        words: str = "",
        *,
        by_hand: str = "",
        made_by: str = "",
    ) -> None:
        self.name = name
        self.keys = keys
        """What its metadata may have: only these, each a text."""
        self.needs = needs
        """Those of them without which it says nothing."""
        self.words = words
        """The one under which the text that somebody wrote is kept."""
        self.by_hand = by_hand
        """Who may send it with `--type`; nobody, if this is empty."""
        self.made_by = made_by
        """What makes it otherwise."""


ALL: dict[str, MessageType] = {
    one.name: one
    for one in (
        MessageType(PLAIN, by_hand=ANYBODY),
        MessageType(STATUS, ("state", "task_id", "note", "request_id"), ("state",), "note", by_hand=ANYBODY),
        MessageType(
            SHUTDOWN, ("request_id", "reason"), ("request_id",), "reason", by_hand=BOSSES, made_by="`atm down NAME`"
        ),
        MessageType(
            SHUTDOWN_ANSWER,
            ("approved", "request_id", "reason"),
            ("approved",),
            "reason",
            by_hand=ANYBODY,
            made_by="`atm down --keep REASON`",
        ),
        MessageType(PLAN, ("task_id", "revision"), ("task_id",), made_by="`atm tasks plan submit`"),
        MessageType(
            PLAN_ANSWER,
            ("task_id", "revision", "approved", "feedback"),
            ("task_id", "approved"),
            "feedback",
            made_by="`atm tasks plan approve` and `reject`",
        ),
        MessageType(ASSIGNMENT, ("task_id", "subject", "assigned_by"), ("task_id",), made_by="`atm tasks assign`"),
        MessageType(BROADCAST, made_by="`atm broadcast`, or `atm send '*'`"),
    )
}

YES, NO = "true", "false"
_YES_OR_NO = {"true": YES, "yes": YES, "false": NO, "no": NO}


def read_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """`key=value`, as people and models write metadata."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise BadMessage(f"{pair[:80]!r} is no metadata", "write it as KEY=VALUE")
        if found.setdefault(key.strip(), value) != value:
            raise BadMessage(f"{key.strip()!r} was given twice", "leave one of them out")
    return found


def check_by_hand(type: str, is_boss: bool) -> MessageType:
    """The type, if whoever sends may make one of it by themselves; else BadMessage, which says what makes it."""
    found = ALL.get(type)
    if found is None:
        raise BadMessage(f"there is no message type {type[:80]!r}", f"use one of {', '.join(SENT_BY_HAND)}")
    if not found.by_hand:
        raise BadMessage(f"a {type} is not sent by hand", f"it is made by {found.made_by}")
    if found.by_hand == BOSSES and not is_boss:
        raise BadMessage(f"only {BOSSES} sends a {type}", "ask the lead: `atm send lead TEXT`")
    return found


def checked_metadata(type: str, given: Mapping[str, str], text: str = "") -> dict[str, str]:
    """What a message of this type carries, in the order of the table; the text too, where it has a place there."""
    found = ALL[type]
    unknown = [key for key in given if key not in found.keys]
    if unknown:
        known = f"it has {', '.join(found.keys)}" if found.keys else "it has none"
        raise BadMessage(f"a {type} has no metadata {unknown[0][:80]!r}", known)
    if found.words and text.strip() and found.words not in given:
        given = {**given, found.words: text[:LONGEST_VALUE]}
    missing = [key for key in found.needs if not given.get(key, "").strip()]
    if missing:
        raise BadMessage(f"a {type} needs {missing[0]!r}", f"give it with --meta {missing[0]}=VALUE")
    return {key: _checked(key, given[key]) for key in found.keys if given.get(key)}


def _checked(key: str, value: str) -> str:
    if len(value) > LONGEST_VALUE:
        raise BadMessage(
            f"{key!r} has {len(value):,} characters, more than the {LONGEST_VALUE:,} of metadata",
            "write it as the text of the message",
        )
    check_text(value)
    if key != "approved":
        return value
    if value.strip().lower() not in _YES_OR_NO:
        raise BadMessage(f"'approved' cannot be {value[:80]!r}", "give true or false")
    return _YES_OR_NO[value.strip().lower()]


def in_words(type: str, metadata: Mapping[str, str], text: str = "") -> str:
    """How a message of this type reads for people and models who see nothing but its text."""
    said = text.strip() or metadata.get(ALL[type].words, "")
    if type == STATUS:
        return _headed(f"Status{_of_task(metadata)}: {metadata['state']}", said)
    if type == SHUTDOWN:
        return _headed("You are asked to end.", said)
    if type == SHUTDOWN_ANSWER:
        return _headed("Asked to end: yes, I end." if is_yes(metadata) else "Asked to end: no, not yet.", said)
    return text


def is_yes(metadata: Mapping[str, str]) -> bool:
    """Only a clear yes is one (G8)."""
    return metadata.get("approved") == YES


def shutdown_id(asked_at: float, member: str) -> str:
    """As Claude Code spells them; whoever answers knows it from when they were asked."""
    return f"shutdown-{round(asked_at * 1000)}@{member}"


def _of_task(metadata: Mapping[str, str]) -> str:
    id = metadata.get("task_id", "")
    return f" of #{id.lstrip('#')}" if id else ""


def _headed(head: str, said: str) -> str:
    return f"{head}\n{said}" if said else head
