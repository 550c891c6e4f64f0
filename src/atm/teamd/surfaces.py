"""
Surfaces that live in the daemon, such as the MCP server: handed in from above, because `teamd` does not know `ui`.

One that cannot be started, or does not stop in time, is said in the log and keeps the daemon from nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from atm.board.ports.tasks import Tasks
    from atm.core.plain import Plain
    from atm.daemon.formats.control_line import Request
    from atm.files.formats.layout import Layout
    from atm.teamd.events.hub import Hub
    from atm.teamd.loops import Door

START_SECONDS = 5.0
STOP_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class DaemonFacts:
    """What a surface gets of the daemon that carries it."""

    layout: Layout
    environment: Mapping[str, str]
    folder: str
    """Where its sockets may lie: a path short enough for one, readable by nobody else."""
    hub: Hub
    log: Callable[..., None]
    tasks: Tasks | None = None
    """The boards as the daemon keeps them; None where each connection reads for itself."""
    door: Door | None = None
    """Which its work passes together with the daemon's own."""


def file_at(path: str) -> tuple[int, int] | None:
    """Which file lies there: how whoever made a socket sees that it is gone, or another one."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Surface(Protocol):
    """Something that people or programs reach the daemon through."""

    name: str

    async def start(self, facts: DaemonFacts) -> None:
        """Be ready to be reached; whatever takes long comes later. Called before the daemon says that it is there."""

    async def stop(self) -> None: ...

    async def keep_reachable(self) -> None:
        """Asked now and then: if its socket was removed, make it again."""

    def facts(self) -> dict[str, Any]:
        """For `atm daemon status`."""


@runtime_checkable
class AskedSurface(Surface, Protocol):
    """One that can be asked through the daemon's own socket."""

    requests: tuple[str, ...]

    async def answer(self, request: Request) -> Plain: ...


class Surfaces:
    """All of them."""

    def __init__(self, surfaces: Sequence[Surface], log: Callable[..., None]) -> None:
        self._surfaces = surfaces
        self.answers = {do: one.answer for one in surfaces if isinstance(one, AskedSurface) for do in one.requests}
        self._log = log

    async def start(self, facts: DaemonFacts) -> None:
        for surface in self._surfaces:
            try:
                await asyncio.wait_for(surface.start(facts), START_SECONDS)
            except Exception as error:  # noqa: BLE001 - mail and tasks do not need it
                self._log("error", surface.name, f"it could not be started: {type(error).__name__}: {error}")

    async def stop(self) -> None:
        """Within a bound, all at once."""
        if not self._surfaces:
            return
        stopping = {surface.name: asyncio.ensure_future(surface.stop()) for surface in self._surfaces}
        await asyncio.wait(stopping.values(), timeout=STOP_SECONDS)
        for name, task in stopping.items():
            if not task.done():
                task.cancel()
                self._log("warn", name, f"it did not stop within {STOP_SECONDS:g} s")
            elif not task.cancelled() and (error := task.exception()) is not None:
                self._log("error", name, f"it did not stop well: {type(error).__name__}: {error}")

    async def keep_reachable(self) -> None:
        for surface in self._surfaces:
            try:
                await asyncio.wait_for(surface.keep_reachable(), START_SECONDS)
            except Exception as error:  # noqa: BLE001 - asked again soon, and the others are asked too
                self._log("error", surface.name, f"it cannot be reached: {type(error).__name__}: {error}")

    def facts(self) -> list[dict[str, Any]]:
        return [{"name": surface.name, **surface.facts()} for surface in self._surfaces]
