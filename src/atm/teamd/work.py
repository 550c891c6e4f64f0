"""What the daemon does, as plain functions over the services: each is the work of one loop and runs in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atm.services.sessions.sessionroom import SessionCaller
from atm.teamd.board import BoardLoops
from atm.teamd.crew import CrewLoops
from atm.teamd.delivery import DeliveryLoops
from atm.teamd.mail import MailLoops
from atm.teamd.rounds import Rounds
from atm.teamd.sessions import SessionLoops
from atm.teamd.team import TeamLoops
from atm.teamd.worksync import SyncWork
from atm.wiring.board import build_boardroom
from atm.wiring.checkup import build_files_around
from atm.wiring.crew import build_crewroom
from atm.wiring.delivery import build_channels, build_sessions
from atm.wiring.mail import build_room
from atm.wiring.sessions import build_sessionroom
from atm.wiring.worksync import build_syncroom

if TYPE_CHECKING:
    from atm.config import Settings
    from atm.domain.events import TeamEvent
    from atm.formats.files.layout import Layout
    from atm.ports.board.tasks import Tasks
    from atm.services.crew.crewroom import Crewroom
    from atm.services.sessions.sessionroom import SessionRoom
    from atm.services.worksync.syncroom import SyncRoom


class Work:
    """The loops of every topic over the same rounds."""

    def __init__(self, rounds: Rounds, crewroom: Crewroom, sessionroom: SessionRoom) -> None:
        self.rounds = rounds
        self.crew = CrewLoops(rounds, crewroom)
        self.session = SessionLoops(rounds, sessionroom)
        self.mail = MailLoops(rounds)
        self.delivery = DeliveryLoops(rounds)
        self.board = BoardLoops(rounds)
        self.team = TeamLoops(rounds, self.board.release, self._forget_all_but)
        self.sync = SyncWork(
            lambda: rounds.syncroom,
            rounds.log,
            rounds.ask_again_later,
            lambda: rounds.stall_minutes,
        )

    def use(self, layout: Layout, settings: Settings) -> None:
        """The settings have changed: from the next round on."""
        rounds = self.rounds
        rounds.syncroom = _syncroom(layout, settings, rounds.boardroom.tasks)
        rounds.channels = build_channels(settings)
        self.crew.crewroom = build_crewroom(layout, settings, rounds.boardroom, self.crew.crewroom.environment)
        self.session.sessionroom = _sessionroom(layout, settings, self.crew.crewroom)
        rounds.board_minutes = settings.number("board.remind_minutes")
        rounds.stall_minutes = settings.number("board.stall_minutes")

    def _forget_all_but(self, teams: set[str]) -> None:
        self.mail.forget_all_but(teams)
        self.delivery.forget_all_but(teams)


def build_work(
    layout: Layout,
    settings: Settings,
    environment: Mapping[str, str],
    tasks: Tasks,
    *,
    publish: Callable[[TeamEvent], None],
    log: Callable[..., None],
) -> Work:
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
    crewroom = build_crewroom(layout, settings, rounds.boardroom, environment)
    return Work(rounds, crewroom, _sessionroom(layout, settings, crewroom))


def _sessionroom(layout: Layout, settings: Settings, crewroom: Crewroom) -> SessionRoom:
    """The daemon leads nothing itself; its folder is nobody's."""
    caller = SessionCaller(session="", folder="")
    return build_sessionroom(layout, settings, crewroom, caller, crewroom.environment, is_server=True)


def _syncroom(layout: Layout, settings: Settings, tasks: Tasks) -> SyncRoom:
    room = build_room(layout, settings)
    return build_syncroom(layout, settings, build_boardroom(layout, settings, room, tasks=tasks))
