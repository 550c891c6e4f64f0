"""What Textual shows: the lines of the screen, and the line that is typed into."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

from atm.ui.tui.lines import BOLD, CHOSEN, DIM
from atm.ui.views.team.signs import BROKEN, MOVING, PROVEN, YOU

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.ui.tui.frame import Screen

    class ScreenKeeper(Protocol):
        """Who has the model, and is told what happens at the terminal."""

        screen_now: Screen

        def pressed(self, key: str) -> None: ...

        def clicked(self, y: int) -> None: ...

        def typed(self, said: str | None) -> None: ...

        def is_typing(self, said: str) -> None: ...

        def redraw(self) -> None: ...


STYLES = {
    "": Style(),
    DIM: Style(color="bright_black"),
    BOLD: Style(bold=True),
    CHOSEN: Style(bold=True),
    YOU: Style(color="bright_yellow"),
    BROKEN: Style(color="red"),
    MOVING: Style(color="blue"),
    PROVEN: Style(color="green"),
}


class ScreenNews(Message):
    """Something was read or done in another thread."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self.work = work


class Canvas(Widget, can_focus=True):
    """The lines of the screen, as they were drawn last."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"

    def __init__(self, top: ScreenKeeper) -> None:
        super().__init__()
        self._top = top

    def render_line(self, y: int) -> Strip:
        lines = self._top.screen_now.lines
        if y >= len(lines):
            return Strip.blank(self.size.width)
        segments = [Segment(said, STYLES.get(meaning, STYLES[""])) for said, meaning in lines[y]]
        return Strip(segments).adjust_cell_length(self.size.width)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._top.pressed(key_of(event))

    def on_click(self, event: events.Click) -> None:
        self._top.clicked(event.y)

    def on_mouse_scroll_down(self) -> None:
        self._top.pressed("down")

    def on_mouse_scroll_up(self) -> None:
        self._top.pressed("up")

    def on_resize(self) -> None:
        self._top.redraw()


class LineEditor(TextArea):
    """The line that is typed into: any script, several lines, whatever is pasted. Enter means it."""

    DEFAULT_CSS = """
    LineEditor { layer: above; display: none; border: none; padding: 0; height: 1; background: $background; }
    LineEditor:focus { border: none; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "leave", priority=True),
        Binding("alt+enter,ctrl+j", "new_line", priority=True),
    ]

    def __init__(self, top: ScreenKeeper) -> None:
        super().__init__(show_line_numbers=False, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False)
        self._top = top

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter" or not self.display:
            event.stop()
            event.prevent_default()
            self._top.pressed(key_of(event))
        else:
            await super()._on_key(event)

    def action_leave(self) -> None:
        self._top.typed(None)

    def action_new_line(self) -> None:
        self.insert("\n")

    def on_text_area_changed(self) -> None:
        self._top.is_typing(self.text)


def key_of(event: events.Key) -> str:
    """The sign that was typed, or the name of the key."""
    sign = event.character
    return sign if sign is not None and event.is_printable and sign != " " else event.key
