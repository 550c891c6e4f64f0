"""Plugins that do their work."""
# ruff: noqa: ARG002 - the contract gives every method more than these need

from __future__ import annotations

import asyncio

from tests.teamd.bad_plugins.base import Quiet

from atm.teamd.plugins.api import Cancel, Capability, PluginContext


class Listener(Quiet):
    """Logs every event it hears."""

    capabilities = (Capability.EVENT_LISTENER,)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        async for event in ctx.events:
            ctx.log("info", f"heard {event.kind}", subject=event.subject, count=event.detail.get("count"))


class SlowListener(Quiet):
    """Hears nothing until mail for `go` arrives."""

    capabilities = (Capability.EVENT_LISTENER,)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        while not (await ctx.mail.unread("crew", "bob")).count:
            await asyncio.sleep(0.02)
        heard = dropped = 0
        async for event in ctx.events:
            heard += 1
            if event.kind == "events.dropped":
                dropped += int(str(event.detail["count"]))
            ctx.log("info", f"so far {heard} {dropped}", last=event.subject)


class Bridge(Quiet):
    """Plays `remote`, and answers every letter to it."""

    capabilities = (Capability.ADVERTISE_MEMBERS, Capability.INTERCEPT_SEND, Capability.INJECT_MESSAGES)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await ctx.roster.add("crew", "remote")
        async for letter in ctx.mail.outgoing():
            await ctx.mail.send(letter.sender, letter.team, f"echo {letter.text}", sender=letter.to)
            await letter.done(f"echoed to {letter.sender}")


class Player(Quiet):
    """Plays the members that its section names, and says what its context is."""

    capabilities = (Capability.ADVERTISE_MEMBERS,)

    async def init(self, ctx: PluginContext) -> None:
        names = ctx.config.get("members", ())
        for name in names if isinstance(names, tuple) else ():
            await ctx.roster.add("crew", str(name))
        root, repo = ctx.system.root, ctx.system.repo
        ctx.log(
            "info",
            "context",
            root=root,
            repo=repo.path if repo else None,
            folder=ctx.temp_dir,
            greeting=ctx.config.get("greeting"),
        )


class Reader(Quiet):
    """Says which teams it sees, whenever something happens."""

    capabilities = (Capability.EVENT_LISTENER,)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        async for event in ctx.events:
            ctx.log("info", f"heard {event.kind} of {event.team}", sees=", ".join(await ctx.roster.teams()))
