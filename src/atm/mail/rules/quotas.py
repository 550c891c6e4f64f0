"""
What makes mail wait: how much of one sender may lie with one recipient, unread in the inbox and then as much again in
the spool; and a lead who is away.

Pure: what waits is counted elsewhere. Without a bound one member buries another, who then reads nothing at all; so
whoever goes on sending is queued first, and told no in the end. What must get through has a reserve of its own: a
flooded agent can still be stopped.
"""

from __future__ import annotations

from atm.core.errors import InboxFull
from atm.mail.rules.messages import URGENT_MARK
from atm.team.rules.team import HUMAN, is_boss, is_human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.team.rules.team import Team

INBOX_FULL = "inbox-full"
"""The reason of a spooled message that waits until its recipient has read."""

STILL_WAITS = "earlier mail for this recipient still waits"

LEAD_AWAY = "lead-away"
"""Why mail of teammates waits that have lost their lead (zombies, seed 003)."""

MOST_ROWS, MOST_BYTES = 1000, 4 << 20
RESERVE_ROWS, RESERVE_BYTES = 50, 1 << 20
"""What urgent mail, and mail of people, may have beyond that."""

LARGEST_INBOX = 32 << 20
"""Bytes of an inbox that a hook or a send still goes through. A hook has three seconds for everything it does."""

LARGEST_FOREIGN = 16 << 20
"""The same where another program laid it out in its own way, so that all of it must be decoded."""

NOTICES = ("atm", "system")
"""What signs the notices of atm itself: reminders, escalations, nudges."""

OUTSIDERS = ""
"""The purse of all who are not on the team: a name costs nothing, so each new one must not bring a quota along."""


class Backlog:
    """Messages that wait, and the bytes of their rows."""

    __slots__ = ("rows", "size")

    def __init__(self, rows: int = 0, size: int = 0) -> None:
        self.rows = rows
        self.size = size

    def add(self, size: int) -> None:
        self.rows += 1
        self.size += size


class Quota:
    """The most that may wait; 0 is no limit."""

    __slots__ = ("rows", "size")

    def __init__(self, rows: int = MOST_ROWS, size: int = MOST_BYTES) -> None:
        self.rows = rows
        self.size = size

    @property
    def with_reserve(self) -> Quota:
        return Quota(self.rows and self.rows + RESERVE_ROWS, self.size and self.size + RESERVE_BYTES)

    def takes(self, waiting: Backlog, size: int) -> bool:
        """Is there room for one more? For the first always, however large: or it could never be delivered."""
        if not waiting.rows:
            return True
        fits = not self.size or waiting.size + size <= self.size
        return fits and (not self.rows or waiting.rows < self.rows)


class Allowance:
    """What the sender of one message may have waiting with its recipient, and whose mail counts as the sender's."""

    __slots__ = ("_agent", "_known", "_quota", "_sender", "_team", "is_urgent", "size")

    def __init__(self, quota: Quota, team: Team, agent: str, message: Message) -> None:
        self._quota = quota
        self._team = team
        self._agent = agent
        self._sender = message.sender
        self._known: set[str] | None = None
        self.is_urgent = message.text.startswith(URGENT_MARK)
        self.size = len(message.raw.encode("utf-8", "surrogateescape"))

    @property
    def team(self) -> Team:
        return self._team

    @property
    def has_reserve(self) -> bool:
        return self.is_urgent or is_human(self._team, self._sender)

    @property
    def quota(self) -> Quota:
        return self._quota.with_reserve if self.has_reserve else self._quota

    @property
    def purse(self) -> str:
        """Whose room the message takes: its sender's, or that of all who are not on the team."""
        return self._purse_of(self._sender)

    def counts(self, sender: str) -> bool:
        return self._purse_of(sender) == self.purse

    def covers(self, rows: int, size: int) -> bool:
        """Would there be room even if all these rows were unread and the sender's own? Then nothing is counted."""
        fits = not self._quota.size or size + self.size <= self._quota.size
        return fits and (not self._quota.rows or rows < self._quota.rows)

    def takes(self, waiting: Backlog) -> bool:
        return self.quota.takes(waiting, self.size)

    def _purse_of(self, sender: str) -> str:
        if self._known is None:
            self._known = {name.casefold() for name in (*self._team.names, HUMAN, *NOTICES)}
        name = sender.casefold()
        return name if name in self._known else OUTSIDERS

    def refusal(self, spooled: Backlog | None = None) -> InboxFull:
        """The no that a sender is told; with what waits in the spool, if that is full too."""
        what = f"the inbox of {self._agent}@{self._team.name} is full: it has not read what {self._sender} sent before"
        if spooled is not None:
            what += f", and {spooled.rows} more ({in_words(spooled.size)}) wait in the spool"
        return InboxFull(
            what, "wait until it has read; send large things with --file, and what cannot wait with --urgent"
        )


def in_words(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / (1 << 20):.1f} MB" if size >= 1 << 20 else f"{-(-size // 1024)} KB"


def is_held(team: Team, agent: str, message: Message) -> bool:
    """
    Does this wait until the team's lead is back? What teammates say to one another does; what is urgent, for a person,
    from the lead or from nobody in the team does not.
    """
    if not team.lead_is_away or message.text.startswith(URGENT_MARK) or is_human(team, agent):
        return False
    return team.member(message.sender) is not None and not is_boss(team, message.sender)
