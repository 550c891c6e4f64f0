"""Panes of a terminal multiplexer: what stands in them, what they show, and a line put into one of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class PaneAddress:
    """Where a pane is: the socket of its server (empty: the default one) and its id there, as `%14`."""

    __slots__ = ("pane", "server")

    def __init__(self, server: str, pane: str) -> None:
        self.server = server
        self.pane = pane

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PaneAddress) and (self.server, self.pane) == (other.server, other.pane)

    def __hash__(self) -> int:
        return hash((self.server, self.pane))

    def __repr__(self) -> str:
        return f"PaneAddress({self.server!r}, {self.pane!r})"


class Pane:
    """What the machine says about a pane. Nothing in here was read off the screen."""

    __slots__ = ("command", "foreground", "id", "in_mode", "is_dead", "is_locked", "is_synchronized", "pid", "width")

    def __init__(
        self,
        *,
        id: str,
        pid: int,
        command: str,
        is_dead: bool = False,
        in_mode: bool = False,
        is_synchronized: bool = False,
        is_locked: bool = False,
        width: int = 80,
        foreground: tuple[str, ...] = (),
    ) -> None:
        self.id = id
        self.pid = pid
        """The process that the pane was opened with: often a shell, with the agent as its child."""
        self.command = command
        """The name of the program in front."""
        self.is_dead = is_dead
        """Its process has ended; only the picture is left."""
        self.in_mode = in_mode
        """The user scrolls or searches in it: keys do not reach the program."""
        self.is_synchronized = is_synchronized
        """Keys pressed here are pressed in the window's other panes too, whatever runs there."""
        self.is_locked = is_locked
        """Its input is switched off."""
        self.width = width
        self.foreground = foreground
        """Command lines of the processes in front, the leader first, as far as the machine tells."""


class Terminals(Protocol):
    """Reaches panes. Never raises for a pane, a server or a multiplexer that is not there."""

    def pane(self, at: PaneAddress) -> Pane | None:
        """None: there is no such pane, no server, or it does not answer."""

    def screen(self, at: PaneAddress) -> str | None:
        """What is visible now; lines that the terminal itself wrapped are whole."""

    def written(self, at: PaneAddress) -> str | None:
        """The same without what is drawn faint: a suggestion in an empty composer is no draft of the user's."""

    def history(self, at: PaneAddress) -> str | None:
        """What is visible and what has scrolled away, as far back as is kept, within bounds."""

    def paste(self, at: PaneAddress, line: str) -> bool:
        """
        Paste one line, as a paste: it is never taken for keys, and nothing is submitted.

        False: certainly nothing was pasted. True: it was, or nobody can tell; look at the screen.
        """

    def press_enter(self, at: PaneAddress) -> bool:
        """False: certainly not pressed."""
