"""
Conversations: who wrote to whom, with the receipts of each message and how they are known.

From the ledger, which knows what was read, archived or dropped as well; the newest messages of it. A conversation is
what the same people said to one another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.mail.formats.journal import MESSAGE
from atm.mail.formats.protocol_message import is_idle
from atm.mail.rules.receipts import JOURNEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.mail.formats.journal import Entry
    from atm.mail.rules.receipts import Event

MOST_MESSAGES = 1000
"""The newest: what a face shows; `atm receipts` knows all of them."""


@dataclass(slots=True)
class MailSent:
    """One message, and how far it has come with each of those to whom it went."""

    id: str
    sender: str
    at: str
    text: str
    summary: str
    journeys: dict[str, dict[str, Event]] = field(default_factory=dict)
    """By recipient: the last event of each state."""

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(sorted({self.sender, *self.journeys}, key=str.casefold))

    def stand(self, state: str) -> str:
        """`yes`, `no` or `unneeded`, for all recipients together: no sooner than the last of them."""
        got = [state in journey for journey in self.journeys.values()]
        if got and all(got):
            return "yes"
        later = JOURNEY[JOURNEY.index(state) + 1 :]
        has_gone_on = bool(got) and all(any(one in journey for one in later) for journey in self.journeys.values())
        if state == "queued":
            return "unneeded" if has_gone_on else "no"
        return "unknown" if has_gone_on else "no"


@dataclass(slots=True)
class MailThread:
    """What the same people said to one another, oldest first."""

    people: tuple[str, ...]
    messages: list[MailSent]

    @property
    def key(self) -> str:
        return "\n".join(self.people)

    @property
    def last(self) -> MailSent:
        return self.messages[-1]


def threads_in(entries: Iterable[Entry]) -> list[MailThread]:
    """Newest first. Idle notices are no conversation: the member's state says the same, and says it now."""
    sent: dict[str, MailSent] = {}
    for entry in entries:
        message = entry.message if entry.kind == MESSAGE else None
        for event in entry.events():
            one = sent.get(event.id)
            if one is None and message is not None and not is_idle(None, message.text):
                one = MailSent(event.id, message.sender, message.timestamp, message.text, message.summary or "")
                sent[event.id] = one
            if one is not None:
                one.journeys.setdefault(event.agent, {})[event.state] = event
    found: dict[tuple[str, ...], MailThread] = {}
    for one in sorted(sent.values(), key=lambda one: one.at)[-MOST_MESSAGES:]:
        found.setdefault(one.people, MailThread(one.people, [])).messages.append(one)
    return sorted(found.values(), key=lambda thread: thread.last.at, reverse=True)
