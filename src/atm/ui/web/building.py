"""The page, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.ui.web.app import WebApp
from atm.ui.web.doors import Doors
from atm.ui.web.gate import WebGate
from atm.ui.web.reading import PageReader
from atm.wiring.crew import build_crewroom
from atm.wiring.snapshot import build_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.ui.cli.session import Session


def build_reader(session: Session) -> PageReader:
    session.do_without_bad_settings()
    parts = session.layout, session.settings, session.boardroom, session.environment
    return PageReader(session, build_snapshots(*parts), build_crewroom(*parts))


def build_page(session: Session, port: int, touched: Callable[[], None]) -> tuple[WebApp, Doors, WebGate]:
    """Nothing of it is open before a server gets the gate."""
    room = session.room
    doors = Doors(room.clock, room.chance)
    app = WebApp(build_reader(session), doors, port, room.chance.new_id()[:8])
    return app, doors, WebGate(app.asgi(), port, doors, touched)
