"""Putting mail before an agent: the channels, and what is written down before something is shown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message

INBOX, HOOK, SERVER, PANE, PLUGIN, READ = "inbox", "hook", "server", "pane", "plugin", "read"
"""Channels. The inbox always comes first and is durable; the others put what lies there before its owner."""

GLANCED = 50
"""Messages that a hook looks at: as many as fit into a context, and few enough to be searched for in the ledger."""


class Glance:
    """Some unread messages of an inbox, in their order, and how many more there are."""

    __slots__ = ("is_whole", "left", "messages", "size")

    def __init__(self, messages: list[Message], left: int = 0, size: int = 0, *, is_whole: bool = True) -> None:
        self.messages = messages
        self.left = left
        """Unread messages that were not decoded."""
        self.size = size
        """Bytes of the inbox."""
        self.is_whole = is_whole
        """False if it was too large to go through: then these are urgent messages near its end, and `left` is 0."""


class ShowingNote:
    """What a process is about to show: the keys of the rows, and through what."""

    __slots__ = ("at", "channel", "keys", "where")

    def __init__(self, *, keys: list[object], channel: str, at: float, where: str = "") -> None:
        self.keys = keys
        """Ids; for rows without one (sender, time, text)."""
        self.channel = channel
        self.at = at
        self.where = where
        """The pane, the session: whatever helps to find out later whether it was shown."""


def half_shown_in_words(member: str, team: str, note: ShowingNote) -> str:
    """What a check-up says of a note that nobody came back to."""
    count = "a message" if len(note.keys) == 1 else f"{len(note.keys)} messages"
    how = f"a process was killed while it showed {count} to {member!r} in team {team!r} ({note.channel or 'unknown'})"
    return f"{how}: it may have been seen, and counts as unread with the next `atm read` or hook"
