"""What all of them share: a name from the class, and a life that does nothing wrong."""
# ruff: noqa: ARG002 - the contract gives every method more than these need

from __future__ import annotations

from atm.teamd.plugins.api import Cancel, Capability, PluginContext, PluginMetadata


class Quiet:
    """Does nothing until it is asked to end."""

    capabilities: tuple[Capability, ...] = ()

    def metadata(self) -> PluginMetadata:
        return PluginMetadata(type(self).__name__.lower(), "1.0", "for tests", self.capabilities)

    async def init(self, ctx: PluginContext) -> None:
        self.ctx = ctx

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await cancel.wait()

    async def shutdown(self) -> None:
        return
