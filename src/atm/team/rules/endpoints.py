"""
Endpoints: how an agent that runs can be reached beyond its inbox, as it said itself when its session began.

A claim of the past, like a heartbeat: the session may have ended and the pane may show something else by now.
Whoever uses one looks first.
"""

from __future__ import annotations

MOST_UNCONFIRMED = 200


class Endpoint:
    """Where one member's session runs."""

    __slots__ = (
        "at",
        "boot",
        "host",
        "life",
        "pane",
        "pane_command",
        "pane_pid",
        "server",
        "session",
        "unconfirmed",
        "url",
        "url_pid",
        "vendor",
        "wakes_itself",
    )

    def __init__(
        self,
        *,
        vendor: str,
        session: str,
        at: float,
        host: str = "",
        boot: str = "",
        server: str = "",
        pane: str = "",
        pane_pid: int | None = None,
        pane_command: str = "",
        url: str = "",
        url_pid: int | None = None,
        wakes_itself: bool = False,
        life: str = "",
        unconfirmed: list[str] | None = None,
    ) -> None:
        self.vendor = vendor
        """Whose hooks call us; empty for a bare terminal program that a person registered."""
        self.session = session
        self.at = at
        self.host = host
        self.boot = boot
        self.server = server
        """The socket of the tmux server, and the pane on it."""
        self.pane = pane
        self.pane_pid = pane_pid
        self.pane_command = pane_command
        self.url = url
        """The agent's own server, where its vendor has one."""
        self.url_pid = url_pid
        """The process that was seen to listen there: the agent's own. Another one there is another agent."""
        self.wakes_itself = wakes_itself
        """A plugin inside the program looks after mail while the agent is idle: nobody else need wake it."""
        self.life = life
        """Of the member in its team, when it was written. To a namesake of another life it says nothing (D26)."""
        self.unconfirmed = unconfirmed or []
        """Messages that were put into its context; its next sign of life shows that it went on with them."""

    @property
    def has_hooks(self) -> bool:
        return bool(self.vendor)

    def is_on(self, host: str, boot: str) -> bool:
        """Is it of this machine, since it was last started? A pane of another one means nothing here."""
        return self.host == host and (self.boot == boot or not self.boot or not boot)
