"""
The screen in a terminal: keys in, lines out. Everything that is drawn and decided is in pure functions beside it.

Two threads read: one follows the team, one fetches what a view needs and runs what a key asked for. The terminal
belongs to the app alone; commands run beside it, with their output caught.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.geometry import Region

from atm.core.untrusted_text import one_line, shell_word
from atm.ui.faces.commands import run_atm
from atm.ui.tui.frame import SMALL, WIDE, Screen, draw
from atm.ui.tui.keys import Wish, choose, press, submit
from atm.ui.tui.model import Model
from atm.ui.tui.needs import pages_needed, parts_needed
from atm.ui.tui.widgets import Canvas, LineEditor, ScreenNews
from atm.ui.views.team.signs import BROKEN, PROVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.files.ports.clock import Clock
    from atm.ui.tui.reading import Fetched, TeamLook, TeamReader

LEAST_BETWEEN = 0.25
"""Seconds between two drawings that nobody asked for with a key."""
TICK = 1.0
"""Seconds: ages and time left are told in these."""
REST = 5.0
REREAD = 2.0
"""Seconds after which what an agent says is asked for again."""


class Top(App[int]):
    """`atm top`."""

    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { layers: below above; overflow: hidden; }"
    BINDINGS: ClassVar = [Binding("ctrl+c,ctrl+q", "leave", priority=True)]

    def __init__(
        self, open_reader: Callable[[], TeamReader], clock: Clock, environment: Mapping[str, str], model: Model
    ) -> None:
        super().__init__(ansi_color=True)
        self.model = model
        self._open_reader = open_reader
        """Called once the screen stands: what reads a team takes as long to load as Textual itself."""
        self._reader: TeamReader | None = None
        self._clock = clock
        self._environment = environment
        self.screen_now = Screen([], draw(model, 80, 24).body, 0, 0)
        self._canvas = Canvas(self)
        self._editor = LineEditor(self)
        self._over = threading.Event()
        self._opening = threading.Lock()
        self._watched = ""
        self._watcher: threading.Thread | None = None
        self._drawn_at = 0.0
        self._is_waiting = False
        self._asked: dict[object, float] = {}
        """What was asked for since the team changed last, and when."""
        self._hands = ThreadPoolExecutor(max_workers=2, thread_name_prefix="atm-top")

    def compose(self) -> ComposeResult:
        yield self._canvas
        yield self._editor

    def on_mount(self) -> None:
        self._canvas.focus()
        for name in ("SIGHUP", "SIGTERM", "SIGINT"):  # a terminal that is closed ends the screen, too
            with suppress(AttributeError, NotImplementedError, ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(
                    getattr(signal, name), self.exit, 128 + getattr(signal, name)
                )
        self.set_interval(TICK, self._tick)
        self.call_after_refresh(self._follow, self.model.team)

    def on_unmount(self) -> None:
        """What was begun is finished: a message is sent or not, and nobody is left behind."""
        self._over.set()
        self._hands.shutdown(wait=True, cancel_futures=True)
        if self._watcher is not None:
            self._watcher.join()

    def on_screen_news(self, news: ScreenNews) -> None:
        news.work()

    def action_leave(self) -> None:
        self.exit(0)

    # What is seen.

    def _follow(self, team: str) -> None:
        self._watched = team
        self.model.team, self.model.seen, self.model.trouble = team, None, ""

        def go_on() -> bool:
            return not self._over.is_set() and self._watched == team

        def told(look: TeamLook) -> None:
            if go_on():
                self._tell(partial(self._looked, look))

        def watch() -> None:
            try:
                self.reader.watch(team, go_on, told)
            except Exception as error:  # noqa: BLE001 - ending in silence would leave an old picture that looks live
                self._tell(partial(self._lost, f"nothing is read any more: {error}"))

        self._watcher = threading.Thread(target=watch, name="atm-top-watch", daemon=True)
        self._watcher.start()

    @property
    def reader(self) -> TeamReader:
        """For threads that read."""
        with self._opening:
            if self._reader is None:
                self._reader = self._open_reader()
        return self._reader

    def _lost(self, why: str) -> None:
        self.model.trouble = why
        self.redraw_soon()

    def _looked(self, look: TeamLook) -> None:
        model = self.model
        is_same = model.seen is not None and look.seen is not None and model.seen.version == look.seen.version
        is_same = is_same and (model.trouble, model.teams) == (look.trouble, look.teams)
        model.trouble = look.trouble
        if look.teams or not look.trouble:
            model.teams = look.teams
        if look.seen is not None:
            is_other = model.seen is None or model.seen.version != look.seen.version
            model.seen, model.seen_at = look.seen, look.at
            if is_other:
                self._asked.clear()  # what was read belongs to what was
        if not is_same:
            self.redraw_soon()

    def _tick(self) -> None:
        """Every second while somebody has to be quick; else ages may be a few seconds behind."""
        model = self.model
        if model.armed and self._clock.now() > model.armed_until:
            model.say(f"{model.armed} is forgotten, and nothing was done: press it twice within 2 s")
            model.armed = ""
            self.redraw()
        is_urgent = bool(model.armed or (model.seen is not None and model.seen.approvals))
        if is_urgent or monotonic() - self._drawn_at >= REST:
            self.redraw()

    def redraw_soon(self) -> None:
        """Not more often than four times a second, however fast things change."""
        rest = LEAST_BETWEEN - (monotonic() - self._drawn_at)
        if rest <= 0:
            self.redraw()
        elif not self._is_waiting:
            self._is_waiting = True
            self.set_timer(rest, self.redraw)

    def redraw(self) -> None:
        self._is_waiting, self._drawn_at = False, monotonic()
        self.model.now = self._clock.now()
        size = self.size
        before = self.screen_now.lines
        self.screen_now = draw(self.model, size.width, size.height)
        changed = [y for y, line in enumerate(self.screen_now.lines) if y >= len(before) or before[y] != line]
        if changed:
            self._canvas.refresh(*(Region(0, y, size.width, 1) for y in changed))
        self._place_editor()
        self._fetch()

    def _fetch(self) -> None:
        """What the view needs and was not asked for lately."""
        model, now = self.model, monotonic()
        if model.seen is None:
            return
        for part in parts_needed(model):
            if part not in self._asked:
                self._asked[part] = now
                self._hands.submit(self._bring, partial(self._read, model.team, part))
        for page in pages_needed(model, is_wide=self.size.width >= WIDE):
            asked = self._asked.get(page)
            if asked is None or (page[0] == "peek" and now - asked > REREAD):
                self._asked[page] = now
                self._hands.submit(self._bring, partial(self._page, model.team, page))

    def _read(self, team: str, part: str) -> Fetched:
        return self.reader.read(team, part)

    def _page(self, team: str, command: tuple[str, ...]) -> Fetched:
        return self.reader.page(team, command)

    def _bring(self, read: Callable[[], Fetched]) -> None:
        try:
            found = read()
        except Exception as error:  # noqa: BLE001 - what one view needs; the others are there all the same
            self._tell(partial(self.model.say, f"cannot be shown: {error}", BROKEN))
        else:
            self._tell(partial(self._found, found))

    def _tell(self, work: Callable[[], None]) -> None:
        """From another thread. Nobody waits for it to be heard: the app may just be ending."""
        self.post_message(ScreenNews(work))

    def _found(self, found: Fetched) -> None:
        if found.page is not None:
            self.model.read.pages[found.page.command] = found.page
        elif isinstance(found.value, str) and found.part != "daemon":
            self.model.say(found.value, BROKEN)
        else:
            setattr(self.model.read, found.part, found.value)
        self.redraw_soon()

    # What is pressed.

    def pressed(self, key: str) -> None:
        """Whoever types fast is ahead of the focus: a key goes where the line stands that was asked for."""
        if self.model.typing is not None:
            if key == "enter":
                self.typed(self._editor.text)
            elif len(key) == 1 or key == "space":
                self._editor.insert(" " if key == "space" else key)
            return
        self.model.now = self._clock.now()
        self._carry_out(press(self.model, key, self.screen_now.body))
        self.redraw()

    def clicked(self, y: int) -> None:
        model, body = self.model, self.screen_now.body
        at = model.top.get(model.view, 0) + y - (2 if self.size.height >= SMALL else 1)
        target = body.rows[at].targets[0] if 0 <= at < len(body.rows) and len(body.rows[at].targets) == 1 else None
        if target is not None and not body.is_text:
            choose(model, target)
            self.redraw()

    def typed(self, said: str | None) -> None:
        """The line is over: meant, or left."""
        if said is None:
            self.model.typing, self.model.typed = None, ""
        else:
            self._carry_out(submit(self.model, said))
        self._editor.text = ""
        self._canvas.focus()
        self.redraw()

    def is_typing(self, said: str) -> None:
        if self.model.typing is not None and self.model.typed != said:
            self.model.typed = said
            if self.model.typing.kind == "filter":
                self.model.filter = said.strip()
            self.redraw()

    def _place_editor(self) -> None:
        typing, editor = self.model.typing, self._editor
        if typing is None:
            editor.display = False
            return
        if not editor.display:
            editor.display = True
            editor.text = self.model.typed
            editor.placeholder = typing.asks
            editor.focus()
            editor.move_cursor(editor.document.end)
        editor.styles.height = self.screen_now.typing_lines
        editor.styles.width = max(4, self.size.width - 3)
        editor.styles.offset = (3, self.screen_now.typing_at)

    # What is done.

    def _carry_out(self, wishes: list[Wish]) -> None:
        for wish in wishes:
            if wish.kind == "quit":
                self.exit(0)
            elif wish.kind == "look":
                self.model.read = type(self.model.read)()
                self.model.open("overview")
                self._follow(wish.words[0])
            elif wish.kind == "read":
                self._asked.clear()
            elif wish.in_terminal:
                self._sit_down(wish)
            else:
                self.model.is_busy = f"atm {' '.join(map(shell_word, wish.words))}"
                self._hands.submit(self._run, wish)

    def _run(self, wish: Wish) -> None:
        terminal = _own_terminal()
        try:
            code, out, err = run_atm(self._environment, [*wish.words], terminal)
        finally:
            if terminal != subprocess.DEVNULL:
                os.close(terminal)
        self._tell(partial(self._done, code, out, err))

    def _done(self, code: int, out: str, err: str) -> None:
        model = self.model
        model.is_busy = ""
        said = next((line for line in (err if code else out or err).splitlines() if line.strip()), "done")
        fix = next((line.strip() for line in err.splitlines() if line.strip().startswith("fix:")), "") if code else ""
        model.say(one_line(f"{said.strip()}  {fix}".strip()), BROKEN if code not in (0, 3) else PROVEN)
        self._asked.clear()
        self.redraw()

    def _sit_down(self, wish: Wish) -> None:
        """The terminal is lent to another program, and comes back as it was."""
        import sys

        with self.suspend():
            subprocess.run([sys.executable, "-m", "atm", *wish.words], check=False)
        self.redraw()


def _own_terminal() -> int:
    """What a command says of who is at it: this terminal. Nobody reads from it."""
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return subprocess.DEVNULL
