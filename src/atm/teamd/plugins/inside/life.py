"""
The life of a plugin in its own process: context, `init`, beats, `run`, `shutdown`, each within bounds.

One thread listens to the host beside the event loop, so that a plugin which blocks its loop still ends when the
daemon is gone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from atm.config import Settings
from atm.core.errors import AtmError
from atm.events.rules import event_from
from atm.plugins.rules.health import INIT, RUN
from atm.teamd.places import load_places
from atm.teamd.plugins import wire as wire_words
from atm.teamd.plugins.api import Cancel, Plugin, PluginError, PluginMetadata
from atm.teamd.plugins.inside.context import Context, EventStream
from atm.teamd.plugins.inside.folder import folder_of
from atm.teamd.plugins.inside.room import PluginRoom
from atm.teamd.plugins.inside.synthetic_members import retire
from atm.teamd.plugins.order import PluginOrder
from atm.teamd.plugins.process_care import MARK, kill_strays
from atm.teamd.plugins.report import LogLines, describe_error
from atm.teamd.plugins.sight import Fence, Workplaces, scope_of
from atm.teamd.plugins.wire import LineWriter, decode_line
from atm.wiring.board import build_boardroom, build_tasks
from atm.wiring.mail import build_room
from atm.wiring.setup import build_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

T = TypeVar("T")

SECONDS_TO_FINISH_WRITING, SECONDS_TO_NOTE = 5.0, 30.0


class HostBook:
    """Whom the plugin plays is written down by the host, which outlives it."""

    def __init__(self, wire: LineWriter) -> None:
        self._wire = wire
        self._next = 0
        self._asked: dict[int, asyncio.Future[None]] = {}

    async def enter(self, team: str, name: str) -> None:
        self._next += 1
        noted = asyncio.get_running_loop().create_future()
        self._asked[self._next] = noted
        self._wire.send(wire_words.ENTER, id=self._next, team=team, name=name)
        await asyncio.wait_for(noted, SECONDS_TO_NOTE)

    async def strike(self, team: str, name: str) -> None:
        self._wire.send(wire_words.STRIKE, team=team, name=name)

    def noted(self, number: Plain, error: str) -> None:
        waiting = self._asked.pop(number, None) if isinstance(number, int) else None
        if waiting is None or waiting.done():
            return
        if error:
            waiting.set_exception(PluginError(error, "see the daemon's log"))
        else:
            waiting.set_result(None)


class Life:
    """One run of one plugin, from its context to its end."""

    def __init__(self, plugin: Plugin, metadata: PluginMetadata, order: PluginOrder, wire: LineWriter) -> None:
        self._plugin = plugin
        self._order = order
        self._wire = wire
        self._capabilities = frozenset(metadata.capabilities)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="atm-services")
        self._log = LogLines(wire)
        self._cancel = Cancel()
        self._book = HostBook(wire)
        self._events = EventStream(self._cancel, lambda count: wire.send(wire_words.TOOK, n=count))
        self._plugin_room: PluginRoom | None = None
        self.is_orphaned = False
        self.phase = INIT

    async def live(self, lines: Iterator[bytes]) -> BaseException | None:
        """Until the plugin has ended; what it failed with, if it did."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, lines), daemon=True, name="atm-host").start()
        if os.name != "nt":
            loop.add_signal_handler(signal.SIGTERM, self._end)
        beats = asyncio.create_task(self._beat())
        failure: BaseException | None = None
        try:
            await self._work()
        except Exception as error:  # noqa: BLE001 - the edge of a plugin: whatever it was is told to the host
            failure = error
        await self._shut_down()
        beats.cancel()
        await self._leave_nothing_behind()
        return failure

    async def _work(self) -> None:
        context = await self._call(self._context)
        await self._bounded(self._plugin.init(context), patience=0.0)
        if self._cancel.is_set():
            return
        self.phase = RUN
        self._wire.send(wire_words.READY)
        await self._bounded(self._plugin.run(context, self._cancel), patience=self._order.stop_within)
        if not self._cancel.is_set():
            raise PluginError("run() ended by itself", "let it work until `cancel` is set")

    async def _bounded(self, work: Awaitable[None], patience: float) -> None:
        """Wait for a part of the plugin; when it shall end, not much longer."""
        task = asyncio.ensure_future(work)
        asked = asyncio.ensure_future(self._cancel.wait())
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await asyncio.wait({task}, timeout=patience)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)
        asked.cancel()
        if not self._cancel.is_set():
            task.result()
        elif task.done() and not task.cancelled() and (error := task.exception()) is not None:
            self._log("warn", f"it failed while it ended: {describe_error(error)}", {})

    async def _shut_down(self) -> None:
        self._end()
        if self.phase == INIT:
            return  # what was never made is not closed
        task = asyncio.ensure_future(self._plugin.shutdown())
        await asyncio.wait({task}, timeout=self._order.stop_within)
        if not task.done():
            task.cancel()
            self._log("warn", f"shutdown() took longer than {self._order.stop_within:g} s", {})
        elif not task.cancelled() and (error := task.exception()) is not None:
            self._log("warn", f"shutdown() failed: {describe_error(error)}", {})

    async def _leave_nothing_behind(self) -> None:
        """A write that is under way is finished; without a host we take our members away ourselves."""
        last = self._call(self._retire_all) if self.is_orphaned else self._call(lambda: None)
        await asyncio.wait({asyncio.ensure_future(last)}, timeout=SECONDS_TO_FINISH_WRITING)

    def _retire_all(self) -> None:
        plugin_room = self._plugin_room
        if plugin_room is None:
            return
        for team, name in sorted(plugin_room.own):
            try:
                retire(plugin_room.room, team, name, plugin_room.plugin, keep_inbox=True, farewell=plugin_room.farewell)
            except AtmError:
                continue  # the next daemon finds it in its book

    async def _beat(self) -> None:
        while True:
            self._wire.send(wire_words.BEAT)
            await asyncio.sleep(self._order.beat_every)

    # The host's side.

    def _listen(self, loop: asyncio.AbstractEventLoop, lines: Iterator[bytes]) -> None:
        """In a thread of its own, for as long as there is a host."""
        for line in lines:
            decoded = decode_line(line)
            if decoded is not None:
                _soon(loop, partial(self._hear, *decoded))
        _soon(loop, self._lose_host)
        time.sleep(2 * self._order.stop_within + SECONDS_TO_FINISH_WRITING + 2)
        end_everything()

    def _hear(self, kind: str, fields: Mapping[str, Plain]) -> None:
        if kind == wire_words.STOP:
            self._end()
        elif kind == wire_words.NOTED:
            self._book.noted(fields.get("id"), wire_words.text_of(fields, "error"))
        elif kind == wire_words.MAIL and self._plugin_room is not None:
            self._plugin_room.hint.set()
        elif kind == wire_words.EVENT:
            given = fields.get("event")
            event = event_from(given) if isinstance(given, dict) else None
            if event is not None:
                self._events.put(event)

    def _lose_host(self) -> None:
        self.is_orphaned = True
        self._end()

    def _end(self) -> None:
        self._cancel.set()
        self._events.wake()
        if self._plugin_room is not None:
            self._plugin_room.hint.set()

    # What the plugin is given.

    async def _call(self, service: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, service)

    def _context(self) -> Context:
        order = self._order
        layout, settings = order.layout, settings_of(order)
        room = build_room(layout, settings)
        self._plugin_room = PluginRoom(
            plugin=order.name,
            place=order.repo or "",
            capabilities=self._capabilities,
            fence=Fence(scope_of(order.name, order.repo, order.config), Workplaces(room.rosters, time.monotonic)),
            room=room,
            tasks=build_tasks(layout),
            call=self._call,
            book=self._book,
            log=self._log,
            cancel=self._cancel,
            farewell=lambda team, name: _release(order, settings, team, name),
            look_every=order.look_every,
        )
        system = build_context(layout, settings, os.environ, order.root)
        folder = folder_of(layout, order.name, order.repo)
        return Context(self._plugin_room, system=system, config=order.config, folder=folder, events=self._events)


def _release(order: PluginOrder, settings: Settings, team: str, name: str) -> None:
    from atm.board.services.leaving import release_all

    release_all(build_boardroom(order.layout, settings, build_room(order.layout, settings)), team, "", name)


def settings_of(order: PluginOrder) -> Settings:
    """The settings of the place that the plugin works in; defaults if that is gone by now."""
    places, _ = load_places(order.layout, os.environ)
    found = next((place for place in places if place.repo == order.repo), None)
    return found.settings if found is not None else Settings({}, [], None, order.root)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        return  # the loop has ended, and we with it in a moment


def end_everything() -> None:
    """This process and what it started, at once: there is no host any more that would."""
    kill_strays(os.environ.get(MARK, ""))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
