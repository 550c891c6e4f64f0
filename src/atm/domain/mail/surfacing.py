"""Putting mail before an agent: the channels, and what is written down before something is shown."""

from __future__ import annotations

INBOX, HOOK, SERVER, PANE, PLUGIN = "inbox", "hook", "server", "pane", "plugin"
"""Channels. The inbox always comes first and is durable; the others put what lies there before its owner."""


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
