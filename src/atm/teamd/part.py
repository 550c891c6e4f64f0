"""
A part of the daemon: what one topic does there. Its loops, what wakes them, what it answers, how it is.

One file in `teamd/parts` for each; a file that is put there is found (`PART`), and nothing else need know of it. What a
part does not say is nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from atm.config import Settings
    from atm.core.plain import Plain
    from atm.daemon.formats.control_line import Request
    from atm.events.adapters.tree_watch import Touched
    from atm.events.rules import TeamEvent
    from atm.files.formats.layout import Layout
    from atm.teamd.rounds import Rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPlan:
    """One loop: what it does, how often, and how long a round may take, in seconds."""

    name: str
    work: Callable[[], int | None]
    period: float
    bound: float = 60.0
    gathering: float = 0.0
    """Between what wakes it and its work, so that a busy team does not keep it running all the time."""


@dataclass(slots=True, kw_only=True)
class Core:
    """What all parts share."""

    rounds: Rounds
    layout: Layout
    environment: Mapping[str, str]
    settings: Settings
    """Those in force; `use` is called when they are others."""


class DaemonPart:
    """What one topic does in the daemon."""

    name: ClassVar[str] = ""
    wakes: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Which of its loops a changed file wakes, by the kind of file."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def loops(self) -> Sequence[LoopPlan]:
        return ()

    def use(self) -> None:
        """The settings have changed: from the next round on."""

    def touch(self, touched: Touched) -> None:
        """A file has changed. Called in the daemon's own thread, as the next two are."""

    def hear(self, event: TeamEvent) -> Sequence[str]:  # noqa: ARG002 - most hear nothing
        """Something has happened: its loops that this wakes."""
        return ()

    def missed_some(self) -> None:
        """More happened than could be heard."""

    def answers(self) -> Mapping[str, Callable[[Request], Plain]]:
        """What it answers to clients, each in a thread of its own."""
        return {}

    def facts(self) -> Plain:
        """How it is, for `atm daemon status`; None if there is nothing to say."""
        return None

    def finish(self) -> None:
        """The daemon ends: the last thing to be done."""

    def forget_all_but(self, teams: set[str]) -> None:
        """A machine that makes a team for every branch runs for months."""


def find_parts() -> list[type[DaemonPart]]:
    """Those that lie in `teamd/parts`, by name."""
    from atm.teamd import parts

    names = sorted(module.name for module in pkgutil.iter_modules(parts.__path__))
    found: list[type[DaemonPart]] = []
    for name in names:
        part = getattr(importlib.import_module(f"{parts.__name__}.{name}"), "PART", None)
        if part is not None:
            found.append(part)
    return found
