"""Plugins that fail."""
# ruff: noqa: ARG002 - the contract gives every method more than these need

from __future__ import annotations

import os
import sys

from tests.teamd.bad_plugins.base import Quiet

from atm.teamd.plugins.api import Cancel, Capability, PluginContext, PluginMetadata, Unsuitable


class RaisesInInit(Quiet):
    async def init(self, ctx: PluginContext) -> None:
        raise ValueError("no such server \x1b[31m in init")


class RaisesInRun(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        raise KeyError("what run was looking for")


class ReturnsAtOnce(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        return


class OsExit(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        os._exit(7)


class SysExit(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        sys.exit("I leave")


class KillsItself(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        os.abort()


class Undeclared(Quiet):
    """Uses what it did not declare."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await ctx.mail.send("ann", "crew", "I may not do that")


class NotHere(Quiet):
    async def init(self, ctx: PluginContext) -> None:
        if ctx.system.repo is None:
            raise Unsuitable("it needs a git repository")


class OtherName(Quiet):
    def metadata(self) -> PluginMetadata:
        return PluginMetadata("somebody-else", "1.0", "lies about its name")


class OddCapability(Quiet):
    capabilities = ("everything",)  # type: ignore[assignment]


class UnspeakableError(Quiet):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise RuntimeError("not even that")

        raise Unspeakable


class FailsOnce(Quiet):
    """Fails in its first run; a file remembers."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        mark = f"{ctx.temp_dir}/has-failed"
        if not os.path.exists(mark):
            with open(mark, "w", encoding="utf-8") as file:
                file.write("yes")
            raise RuntimeError("the first time")
        await cancel.wait()


class FailsAfterAdding(Quiet):
    capabilities = (Capability.ADVERTISE_MEMBERS,)

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await ctx.roster.add("crew", "ghost")
        os._exit(3)


no_plugin_at_all = 42
