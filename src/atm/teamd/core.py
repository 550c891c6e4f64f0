"""The core of the daemon's work: the rooms that all parts share, and the settings in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atm.teamd.part import Core
from atm.teamd.rounds import Rounds
from atm.wiring.board import build_boardroom
from atm.wiring.checkup import build_files_around
from atm.wiring.delivery import build_channels, build_sessions
from atm.wiring.mail import build_room
from atm.wiring.worksync import build_syncroom

if TYPE_CHECKING:
    from atm.board.ports.tasks import Tasks
    from atm.config import Settings
    from atm.events.rules import TeamEvent
    from atm.files.formats.layout import Layout
    from atm.worksync.services.syncroom import SyncRoom


def build_core(
    layout: Layout,
    settings: Settings,
    environment: Mapping[str, str],
    tasks: Tasks,
    *,
    publish: Callable[[TeamEvent], None],
    log: Callable[..., None],
) -> Core:
    rounds = Rounds(
        _syncroom(layout, settings, tasks),
        build_channels(settings),
        publish,
        log,
        settings.number("board.remind_minutes"),
        build_files_around(layout, environment),
        settings.number("board.stall_minutes"),
        build_sessions(layout),
    )
    return Core(rounds=rounds, layout=layout, environment=environment, settings=settings)


def use_settings(core: Core, settings: Settings) -> None:
    """They have changed: the rooms are made anew, and the next rounds use them."""
    rounds = core.rounds
    rounds.syncroom = _syncroom(core.layout, settings, rounds.boardroom.tasks)
    rounds.channels = build_channels(settings)
    rounds.board_minutes = settings.number("board.remind_minutes")
    rounds.stall_minutes = settings.number("board.stall_minutes")
    core.settings = settings


def _syncroom(layout: Layout, settings: Settings, tasks: Tasks) -> SyncRoom:
    room = build_room(layout, settings)
    return build_syncroom(layout, settings, build_boardroom(layout, settings, room, tasks=tasks))
