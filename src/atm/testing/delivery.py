"""Twins of `delivery.ports.terminals.Terminals` and `delivery.ports.agent_sessions.AgentSessions`, in memory."""

from __future__ import annotations

from collections.abc import Callable

from atm.delivery.ports.terminals import Pane, PaneAddress
from atm.vendors.panes import runs_what_is_typed

DIALOG = ("Do you want to proceed?", "❯ 1. Yes", "  2. No, and tell Claude what to do differently (esc)")
RULE = "─" * 40


class MemoryPane:
    """
    One pane: a program with a composer that submits on Enter, unless told otherwise.

    What can be told: `dialog` (rows over the composer; they eat every key), `swallows_pastes`, `swallowed_enters` (so
    many), `lag` (looks until a change is to be seen), `suggestion` (drawn faint in the empty composer), `shows_chips`
    (a paste is not shown in words), `on_paste` and `on_enter` (something happens just after). With a shell as its
    command, Enter runs what was typed: `ran`.
    """

    def __init__(self, id: str = "%0", pid: int = 100, command: str = "claude") -> None:
        self.id = id
        self.pid = pid
        self.command = command
        self.is_dead = self.in_mode = self.is_synchronized = self.is_locked = False
        self.foreground: tuple[str, ...] = ()
        self.dialog: tuple[str, ...] = ()
        self.swallows_pastes = False
        self.swallowed_enters = 0
        self.lag = 0
        self.suggestion = ""
        self.shows_chips = False
        self.on_paste: Callable[[MemoryPane], None] | None = None
        self.on_enter: Callable[[MemoryPane], None] | None = None
        self.above: list[str] = []
        self.composer = ""
        self.submitted: list[str] = []
        self.eaten: list[str] = []
        self.ran: list[str] = []
        self.pastes = self.enters = 0
        self._frames: list[str] = []

    @property
    def takes_keys(self) -> bool:
        is_open = not (self.is_dead or self.in_mode or self.is_synchronized or self.is_locked)
        return is_open and not runs_what_is_typed(self.command)

    def type(self, text: str) -> None:
        """As a human would."""
        self.composer += text

    def take_paste(self, line: str) -> None:
        self.pastes += 1
        before = self._draw(faint=True)
        if self.dialog:
            self.eaten.append(line)
        elif not self.swallows_pastes:
            self.composer += "[Pasted text #1]" if self.shows_chips else line
        self._delay(before)
        if self.on_paste:
            self.on_paste(self)

    def take_enter(self) -> None:
        self.enters += 1
        before = self._draw(faint=True)
        if self.swallowed_enters:
            self.swallowed_enters -= 1
        elif self.dialog:
            self.eaten.append("\r")
        elif self.composer:
            self._submit()
        self._delay(before)
        if self.on_enter:
            self.on_enter(self)

    def look(self, *, faint: bool) -> str:
        return self._frames.pop() if self._frames else self._draw(faint=faint)

    def _submit(self) -> None:
        (self.ran if runs_what_is_typed(self.command) else self.submitted).append(self.composer)
        self.above.append(f"> {self.composer}")
        self.composer = ""

    def _delay(self, before: str) -> None:
        self._frames = [before] * self.lag

    def _draw(self, *, faint: bool) -> str:
        if runs_what_is_typed(self.command):
            return "\n".join([*self.above, f"$ {self.composer}", ""])
        if self.dialog:
            return "\n".join([*self.above, RULE, *self.dialog, ""])
        text = self.composer or (self.suggestion if faint else " " * len(self.suggestion))
        return "\n".join([*self.above, RULE, f"> {text}", RULE, "  ? for shortcuts", ""])


class MemoryTerminals:
    """Panes by their addresses. A server that is gone has none."""

    def __init__(self) -> None:
        self.panes: dict[PaneAddress, MemoryPane] = {}
        self.refuses = False
        """The multiplexer says no to whatever is put into a pane."""

    def open(self, at: PaneAddress, command: str = "claude", pid: int = 100) -> MemoryPane:
        self.panes[at] = MemoryPane(at.pane, pid, command)
        return self.panes[at]

    def pane(self, at: PaneAddress) -> Pane | None:
        found = self.panes.get(at)
        if found is None:
            return None
        return Pane(
            id=found.id,
            pid=found.pid,
            command=found.command,
            is_dead=found.is_dead,
            in_mode=found.in_mode,
            is_synchronized=found.is_synchronized,
            is_locked=found.is_locked,
            foreground=found.foreground,
        )

    def screen(self, at: PaneAddress) -> str | None:
        found = self.panes.get(at)
        return None if found is None else found.look(faint=True)

    def written(self, at: PaneAddress) -> str | None:
        found = self.panes.get(at)
        return None if found is None else found.look(faint=False)

    def history(self, at: PaneAddress) -> str | None:
        return self.screen(at)

    def paste(self, at: PaneAddress, line: str) -> bool:
        found = self.panes.get(at)
        if found is None or self.refuses or not found.takes_keys:
            return False
        found.take_paste(line)
        return True

    def press_enter(self, at: PaneAddress) -> bool:
        found = self.panes.get(at)
        if found is None or self.refuses or not found.takes_keys:
            return False
        found.take_enter()
        return True


class MemorySessions:
    """Sessions that say of themselves what a test wants. One that has ended says nothing."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self.looks = 0

    def note(self, session: str, status: str) -> None:
        self.said[session] = status

    def end(self, session: str) -> None:
        self.said.pop(session, None)

    def statuses(self) -> dict[str, str]:
        self.looks += 1
        return dict(self.said)
