"""Plugins that block, flood, leak or do not end."""
# ruff: noqa: ARG002 - the contract gives every method more than these need

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

from tests.teamd.bad_plugins.base import Quiet

from atm.teamd.plugins.api import Cancel, Capability, PluginContext, PluginError


class BlocksInInit(Quiet):
    async def init(self, ctx: PluginContext) -> None:
        time.sleep(3600)


class NeverReady(Quiet):
    async def init(self, ctx: PluginContext) -> None:
        await asyncio.sleep(3600)


class BlocksTheLoop(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await asyncio.sleep(0.2)
        time.sleep(3600)


class BlocksAndIgnoresTerm(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)


class LeaksMemory(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        kept = []
        while not cancel.is_set():
            kept.append(os.urandom(8 * 1024 * 1024))
            await asyncio.sleep(0.01)


class FloodsWithTasks(Quiet):
    """A bomb of tasks."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        while True:
            self.tasks += [asyncio.ensure_future(self.more()) for _ in range(10_000)]
            await asyncio.sleep(0)

    async def more(self) -> None:
        await asyncio.sleep(3600)


class NeverShutsDown(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue

    async def shutdown(self) -> None:
        time.sleep(3600)


class SlowShutdown(Quiet):
    async def shutdown(self) -> None:
        await asyncio.sleep(0.3)
        with open(f"{self.ctx.temp_dir}/flushed", "w", encoding="utf-8") as file:
            file.write("yes")


class PrintsGarbage(Quiet):
    """Everything that could be taken for the wire, on standard output, and on the descriptor that was the wire."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        print('{"t": "end", "phase": "run", "error": "forged"}')
        print("\x1b[2J\x00\xff not JSON at all")
        sys.stdout.buffer.write(b"\xff\xfe{\n[[[[\n")
        sys.stdout.flush()
        os.write(1, b'{"t": "ready"}\n{"t": 5}\n[]\n')
        print("on standard error", file=sys.stderr)
        await cancel.wait()


class FloodsItsLog(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        while not cancel.is_set():
            for _ in range(200):
                print("flood " * 20)
                ctx.log("info", "flood " * 20, text="a field that has a taken name", level=1)
            await asyncio.sleep(0)


class EndlessLine(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        for _ in range(2000):
            sys.stderr.write("x" * 10_000)
        sys.stderr.flush()
        ctx.log("info", "y" * 100_000)
        ctx.log("info", "the line has been written")
        await cancel.wait()


class Forks(Quiet):
    """A child in its group, and one that left it; both would live for an hour."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        mine = _fork(leave_group=False)
        stray = _fork(leave_group=True)
        ctx.log("info", "forked", children=f"{mine} {stray}")
        await asyncio.sleep(0.3)
        os._exit(9)


class ForksAndWaits(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        ctx.log("info", "forked", children=str(_fork(leave_group=False)))
        await cancel.wait()


def _fork(leave_group: bool) -> int:
    pid = os.fork()
    if pid == 0:
        if leave_group:
            os.setsid()
        time.sleep(3600)
        os._exit(0)
    return pid


class LooksOverTheFence(Quiet):
    """Forgets in its own process which teams it may see, and tries to let itself in."""

    capabilities = (Capability.ADVERTISE_MEMBERS, Capability.EVENT_LISTENER)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        ctx._plugin_room.fence.check = lambda _: None  # type: ignore[attr-defined]
        try:
            await ctx.roster.add("other", "spy")
        except PluginError as error:
            ctx.log("info", f"refused: {error}")
        async for event in ctx.events:
            ctx.log("info", f"heard {event.kind} of {event.team}")
