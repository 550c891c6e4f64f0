"""
The daemon: one for each home, always there, and nothing is lost when it is not.

It holds the seat, listens on the socket, watches the files, runs the loops and carries the plugins. Everything that
matters is on disk: a daemon that is killed at any point is started again and goes on. It stops in order: no new round
begins, the spool is drained once more, plugins shut down, and what was left after ten seconds is said.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from atm import __version__
from atm.core.work_errors import DaemonRunning
from atm.daemon.adapters.process_facts import memory
from atm.daemon.adapters.seat import RunningDaemon, Seat, take_seat
from atm.daemon.formats.control_line import BadLine
from atm.events.adapters.tree_watch import Touched, TreeWatch
from atm.events.rules import SETTINGS_RELOADED, TeamEvent
from atm.events.services import TeamEvents
from atm.files.formats.times import to_iso
from atm.teamd.control import Control
from atm.teamd.core import build_core, use_settings
from atm.teamd.events.hub import Hub, Listener
from atm.teamd.events.watcher import Watcher
from atm.teamd.loops import STUCK, Door, Loop, in_thread
from atm.teamd.part import find_parts
from atm.teamd.places import Place, load_places
from atm.teamd.plugins.host.host import PluginHost
from atm.teamd.surfaces import DaemonFacts, Surface, Surfaces
from atm.teamd.telemetry import Telemetry
from atm.wiring.board import build_tasks
from atm.wiring.daemon import build_log
from atm.wiring.events import build_news

if TYPE_CHECKING:
    from atm.config import Settings
    from atm.core.plain import Plain
    from atm.daemon.formats.control_line import Request
    from atm.files.formats.layout import Layout

STOP_SECONDS = 10.0
SEAT_SECONDS = 5.0
PLUGIN_SECONDS, SECONDS_TO_KILL = 5.0, 4.0


class Daemon:
    """One run of it."""

    def __init__(self, layout: Layout, environment: Mapping[str, str], surfaces: Sequence[Surface] = ()) -> None:
        self._layout = layout
        self._environment = environment
        self._telemetry = Telemetry(environment)
        self._log_file = build_log(layout, also=self._telemetry.log)
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._began = time.monotonic()
        self._problems: list[str] = []
        self._places: list[Place] = []
        self._hub = Hub()
        self._news = build_news()
        self._tasks = build_tasks(layout, news=self._news)
        """Of all who are served here: what one connection has read of a board the others need not."""
        self._core = build_core(
            *(layout, self._load_settings(), environment, self._tasks),
            publish=self._hub.publish_from_thread,
            log=self.log,
        )
        self._core.rounds.ask_again = lambda loop, seconds: self._loops[loop].again_in(seconds)
        self._parts = [kind(self._core) for kind in find_parts()]
        self._core.rounds.forgetting = [part.forget_all_but for part in self._parts]
        self._answers = {verb: answer for part in self._parts for verb, answer in part.answers().items()}
        self._door = Door()
        self._loops = {
            plan.name: Loop(
                plan.name,
                plan.work,
                period=plan.period,
                bound=plan.bound,
                gathering=plan.gathering,
                door=self._door,
                observe=self._telemetry.round,
            )
            for part in self._parts
            for plan in part.loops()
        }
        tree = TreeWatch(layout, self._watched_settings())
        events = TeamEvents(self._core.rounds.room, self._core.rounds.boardroom.tasks)
        self._watcher = Watcher(
            *(tree, events, self._hub.publish, self._react, self.log), self._hub.is_ready.set, door=self._door
        )
        self._plugins = PluginHost(
            self._places, layout=layout, environment=environment, log=self.log, publish=self._hub.publish
        )
        self._surfaces = Surfaces(surfaces, self.log)

    def log(self, level: str, source: str, text: str, **fields: Any) -> None:
        self._log_file.write(level, source, text, **fields)

    # From start to end.

    async def run(self) -> list[str]:
        """Until a signal or a client stops it; what could not be finished."""
        seat = self._sit_down()
        try:
            control = Control(seat.socket, self._answer, self._hub)
            await control.start()
            await self._surfaces.start(self._facts(seat))
            self._listen_to_signals()  # before any client can know that there is a daemon to end
            seat.announce(__version__, to_iso(self._core.rounds.room.clock.now()))
            self.log("info", "daemon", "started", version=__version__, socket=seat.socket)
            left = await self._serve(control, seat)
            self.log("warn" if left else "info", "daemon", f"stopped; left: {', '.join(left) or 'nothing'}")
            seat.say_left(left)
            return left
        finally:
            self._telemetry.close()
            self._news.close()
            seat.leave()

    def _sit_down(self) -> Seat:
        seat = take_seat(self._layout)
        if isinstance(seat, Seat):
            return seat
        who = f"process {seat.pid}, since {seat.since}" if isinstance(seat, RunningDaemon) else "it is just starting"
        raise DaemonRunning(
            f"a daemon runs for this home already: {who}", "see `atm daemon status`", self._layout.daemon
        )

    def _facts(self, seat: Seat) -> DaemonFacts:
        return DaemonFacts(
            layout=self._layout,
            environment=self._environment,
            folder=os.path.dirname(seat.socket),
            hub=self._hub,
            log=self.log,
            tasks=self._tasks,
            door=self._door,
        )

    async def _keep_seat(self, seat: Seat, control: Control) -> None:
        """If the user removes our folder, another daemon may take the seat: never two for one home, so we go."""
        while seat.is_ours():
            await self._stay_reachable(seat, control)
            await asyncio.sleep(SEAT_SECONDS)
        self.log("error", "daemon", f"{self._layout.daemon} was removed; giving way")
        self._stop.set()

    async def _stay_reachable(self, seat: Seat, control: Control) -> None:
        """What was cleared away is made again: whoever clears /tmp, or one file too many, must not make us deaf."""
        try:
            for path in filter(None, (await control.keep_reachable(), seat.keep_announced())):
                self.log("warn", "daemon", f"{path} was removed; made again")
        except OSError as error:  # something else lies there, or the disk is full: tried again
            self.log("error", "daemon", f"{seat.socket} cannot be made again: {error}")
        await self._surfaces.keep_reachable()
        for trouble in self._core.rounds.room.troubles.news():
            self.log("warn", "daemon", trouble)

    async def _serve(self, control: Control, seat: Seat) -> list[str]:
        # Beside everything else: clearing up after former plugins may have to wait for another process's lock.
        starting = asyncio.ensure_future(self._start_plugins())
        forwarding = asyncio.ensure_future(self._forward())
        tasks = {
            **{name: asyncio.ensure_future(self._run_loop(loop)) for name, loop in self._loops.items()},
            "watch": asyncio.ensure_future(self._supervised("watch", lambda: self._watcher.run(self._stop))),
            "settings": asyncio.ensure_future(self._supervised("settings", self._follow_settings)),
        }
        keeping = asyncio.ensure_future(self._keep_seat(seat, control))
        await self._stop.wait()
        keeping.cancel()
        end = time.monotonic() + STOP_SECONDS
        forwarding.cancel()
        await control.stop()
        await self._surfaces.stop()
        last_drain = in_thread(self._finish_parts)
        killed = await self._stop_plugins(starting)
        await asyncio.wait([last_drain], timeout=max(0.1, end - time.monotonic()))
        await asyncio.wait(tasks.values(), timeout=max(0.1, end - time.monotonic()))
        left = [name for name, task in tasks.items() if not task.done()]
        left += [] if last_drain.done() else ["the last drain of the spool"]
        left += [name for name, loop in self._loops.items() if loop.health.state == STUCK and name not in left]
        self._watcher.tree.close()
        for task in tasks.values():
            task.cancel()
        return [*left, *(f"plugin {name} (killed)" for name in killed)]

    def _finish_parts(self) -> None:
        for part in self._parts:
            part.finish()

    async def _start_plugins(self) -> None:
        try:
            await self._plugins.start()
        except Exception as error:  # noqa: BLE001 - the daemon has other work than plugins
            self.log("error", "plugins", f"{type(error).__name__}: {error}")

    async def _stop_plugins(self, starting: asyncio.Task[None]) -> list[str]:
        """Within a bound, also while they are still being started."""
        starting.cancel()
        await asyncio.wait([starting])
        stopping = asyncio.ensure_future(self._plugins.stop(PLUGIN_SECONDS))
        await asyncio.wait([stopping], timeout=PLUGIN_SECONDS + SECONDS_TO_KILL)
        if stopping.done():
            return stopping.result()
        stopping.cancel()
        return ["not all could be asked"]

    async def _run_loop(self, loop: Loop) -> None:
        await loop.run(
            self._stop, lambda level, text: self.log(level, loop.name, text), self._core.rounds.room.chance.fraction
        )

    async def _supervised(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """A part that fails is started again, ever more slowly; the others go on."""
        pause = 1.0
        while not self._stop.is_set():
            try:
                await run()
            except Exception as error:  # noqa: BLE001 - this is the place where parts are contained
                self.log("error", name, f"{type(error).__name__}: {error}")
                await asyncio.sleep(pause)
                pause = min(60.0, pause * 2)

    async def _forward(self) -> None:
        """Plugins hear what everybody hears."""
        listener = Listener()
        self._hub.listen(listener)
        while True:
            event = await listener.next()
            self._telemetry.event(event)
            if listener.dropped:
                listener.dropped = 0
                for part in self._parts:
                    part.missed_some()
            for name in [name for part in self._parts for name in part.hear(event)]:
                self._loops[name].wake()
            self._plugins.publish(event)

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)

    # What changed files lead to.

    def _react(self, touched: Touched) -> None:
        self._core.rounds.touched(touched)
        for part in self._parts:
            part.touch(touched)
            for name in part.wakes.get(touched.kind, ()):
                self._loops[name].wake()
        if touched.kind == "settings":
            self._reload.set()

    # Settings.

    def _load_settings(self) -> Settings:
        self._places, self._problems = load_places(self._layout, self._environment, self._places)
        for problem in self._problems:
            self.log("warn", "settings", problem)
        settings = self._places[0].settings
        if problem := self._telemetry.use(settings.text("daemon.telemetry")):
            self.log("warn", "telemetry", problem)
        return settings

    def _watched_settings(self) -> list[str]:
        return [self._layout.settings, self._layout.daemon_settings, *(p.root for p in self._places if p.repo)]

    async def _follow_settings(self) -> None:
        """A settings file that is wrong changes nothing: what held before holds on, and `status` says so."""
        while not self._stop.is_set():
            waits = [asyncio.ensure_future(event.wait()) for event in (self._reload, self._stop)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for waiting in waits:
                waiting.cancel()
            if self._reload.is_set():
                self._reload.clear()
                await self._take_over_settings()

    async def _take_over_settings(self) -> None:
        settings = self._load_settings()
        use_settings(self._core, settings)
        for part in self._parts:
            part.use()
        self._watcher.tree.watch_settings_of(self._watched_settings())
        await self._plugins.reload(self._places)
        self.log("info", "settings", "read again", problems=len(self._problems))
        self._hub.publish(TeamEvent(SETTINGS_RELOADED, "", "settings", self._core.rounds.room.clock.now(), {}))

    # What it is asked.

    async def _answer(self, request: Request) -> Plain:
        match request.do:
            case "ping":
                return {"pid": os.getpid(), "version": __version__}
            case "status":
                return self._status()
            case "plugins":
                return [*self._plugins.states()]
            case "reload":
                self._reload.set()
                return {"reloading": True}
            case "wake":
                return self._wake(request)
            case "stop":
                self._stop.set()
                return {"stopping": True}
        if request.do in self._surfaces.answers:
            return await self._surfaces.answers[request.do](request)
        answer = self._answers.get(request.do)
        if answer is not None:
            return await in_thread(lambda: answer(request))  # type: ignore[no-any-return]
        raise BadLine("unknown-request", f"the daemon does not know {request.do!r}", request.id)

    def _wake(self, request: Request) -> Plain:
        name = request.text("loop")
        loop = self._loops.get(name)
        if loop is None:
            raise BadLine("bad-request", f"there is no loop {name!r}; there are {', '.join(self._loops)}", request.id)
        loop.wake()
        return {"woken": name}

    def _status(self) -> Plain:
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptime": round(time.monotonic() - self._began, 1),
            "memory": memory(os.getpid()),
            "home": self._layout.claude_root,
            "watch": "native events" if self._watcher.tree.native else "looks once a second",
            "events": self._hub.published,
            "listeners": self._hub.listeners,
            "loops": [loop.facts() for loop in self._loops.values()],
            **{part.name: facts for part in self._parts if (facts := part.facts()) is not None},
            "plugins": [*self._plugins.states()],
            "surfaces": [*self._surfaces.facts()],
            "places": [place.name for place in self._places],
            "problems": [*self._problems, *filter(None, [self._telemetry.problem])],
            "log_dropped": self._log_file.dropped,
            "telemetry": self._telemetry.stats(),
        }


def run_daemon(layout: Layout, environment: Mapping[str, str], surfaces: Sequence[Surface] = ()) -> list[str]:
    """Run it in this process until it is stopped; what could not be finished."""

    async def run() -> list[str]:
        return await Daemon(layout, environment, surfaces).run()

    # A thread that computes gives way after half a millisecond instead of five: whoever calls a tool waits for loops
    # that react to what the call itself wrote.
    sys.setswitchinterval(0.0005)
    with asyncio.Runner() as runner:
        return runner.run(run())
