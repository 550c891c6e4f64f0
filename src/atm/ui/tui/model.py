"""What the screen knows and shows: one value, changed by keys and by what is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.ui.faces.view_names import AGENT, BOARD, OVERVIEW, TABS, TASK, THREAD
from atm.ui.views.team.attention import attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.snapshot.services.happenings import Happening
    from atm.snapshot.services.threads import MailThread
    from atm.ui.faces.deeds import KeyOffer
    from atm.ui.faces.view_names import Target
    from atm.ui.tui.lines import Line
    from atm.ui.views.team.attention import AttentionRow
    from atm.ui.views.team.seen import ApprovalSeen, TeamSeen

ARMED_SECONDS = 2.0
"""How long a key that cannot be taken back waits for its second press."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """A line of a list, drawn only if it is in sight. Without targets it cannot be chosen; lanes have one each."""

    draw: Callable[[int], Line]
    targets: tuple[Target | None, ...] = ()


def fixed(line: Line) -> ListRow:
    """A line that is the same at every width, and cannot be chosen."""
    return ListRow(lambda columns: line)  # noqa: ARG005 - as lists draw


GAP = fixed([])


@dataclass(slots=True)
class Body:
    """What stands between head and foot: a list, and what is told of the chosen row below it or beside it."""

    rows: list[ListRow] = field(default_factory=list)
    about: Callable[[int], list[Line]] | None = None
    """Of the chosen one, so many columns wide."""
    most_below: int = 2
    """Lines for that where there is no room beside the list."""
    must_show: Callable[[int], int] | None = None
    """How many lines of what is told must be in sight before the chosen row may be decided about."""
    is_broad: bool = False
    """It wants the whole width: what is told of the chosen row stands below it on every screen."""
    is_text: bool = False
    """To be read from its first line on: keys move the text, not a choice."""


@dataclass(frozen=True, slots=True)
class Typing:
    """What the line at the bottom is for."""

    kind: str
    """`command`, `filter` or `palette`."""
    asks: str
    offer: KeyOffer | None = None


@dataclass(slots=True)
class Page:
    """What a command printed, for a pane: the screen shows what the command shows."""

    command: tuple[str, ...]
    lines: list[str]
    at: float
    trouble: str = ""


@dataclass(slots=True)
class Read:
    """What was read besides the snapshot; None for what was not read yet."""

    threads: list[MailThread] | None = None
    approvals: list[ApprovalSeen] | None = None
    merges: list[dict[str, str]] | None = None
    runs: list[dict[str, str]] | None = None
    sessions: list[dict[str, str]] | None = None
    happenings: list[Happening] | None = None
    daemon: str | None = None
    pages: dict[tuple[str, ...], Page] = field(default_factory=dict)


@dataclass(slots=True)
class Model:
    """The screen at one moment."""

    team: str = ""
    teams: list[str] = field(default_factory=list)
    seen: TeamSeen | None = None
    seen_at: float = 0.0
    trouble: str = ""
    """Why what is seen is old; empty while it is live."""
    now: float = 0.0
    read: Read = field(default_factory=Read)

    view: str = OVERVIEW
    came_from: list[str] = field(default_factory=list)
    chosen: dict[str, Target] = field(default_factory=dict)
    place: dict[str, int] = field(default_factory=dict)
    """Where the chosen row was, for when it is gone; the first line of a text."""
    top: dict[str, int] = field(default_factory=dict)
    """The first row in sight of each list."""
    tab: dict[str, int] = field(default_factory=dict)
    agent: str = ""
    task: str = ""
    thread: str = ""

    filter: str = ""
    typing: Typing | None = None
    typed: str = ""
    armed: str = ""
    armed_until: float = 0.0
    notice: str = ""
    notice_meaning: str = ""
    is_peeking: bool = False
    is_busy: str = ""
    """The command that runs just now."""
    ascii: bool = False
    columns: int = 80
    """Of the screen, as it was last drawn."""
    _rows: tuple[TeamSeen, float, list[AttentionRow]] | None = None
    is_whole: bool = False
    """Is what the chosen row is about in sight as a whole, as it was last drawn?"""

    @property
    def part(self) -> str:
        """The tab of this view that is open."""
        tabs = TABS.get(self.view, ("",))
        return tabs[self.tab.get(self.view, 0) % len(tabs)]

    @property
    def target(self) -> Target | None:
        """What keys are about: what is open, or the chosen row."""
        opened = {AGENT: ("member", self.agent), TASK: ("task", self.task), THREAD: ("thread", self.thread)}
        if self.view == BOARD and self.part == "graph":
            return None  # nothing is chosen where nothing is marked
        return opened.get(self.view) or self.chosen.get(self.view)

    def attention(self) -> list[AttentionRow]:
        """Who must act, as of now; composed once for a drawing."""
        if self.seen is None:
            return []
        if self._rows is None or self._rows[0] is not self.seen or self._rows[1] != self.now:
            self._rows = self.seen, self.now, attention(self.seen, self.now)
        return self._rows[2]

    @property
    def chosen_agent(self) -> str:
        """The agent that the chosen row is about; empty if it is about none."""
        if self.target is None or self.seen is None:
            return ""
        kind, id = self.target
        if kind in ("member", "inbox"):
            return id
        if kind == "approval":
            return next((one.requester for one in self.seen.approvals if one.id == id), "")
        task = self.seen.task(id) if kind in ("task", "merge") else None
        return (task.owner or "") if task is not None else ""

    def open(self, view: str) -> None:
        if view != self.view:
            self.came_from = [*self.came_from[-20:], self.view]
        self.view, self.is_peeking = view, False

    def back(self) -> None:
        self.view = self.came_from.pop() if self.came_from else OVERVIEW
        self.is_peeking = False

    def say(self, text: str, meaning: str = "") -> None:
        self.notice, self.notice_meaning = text, meaning
