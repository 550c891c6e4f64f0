"""Notices that a turn is over of which no hook tells: what the agent's program notes, or its screen, says so."""

from __future__ import annotations

from atm.core.identifiers import derived_id
from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.rules.stillness import BUSY, IDLE_SESSION, Stillness, looked_at
from atm.delivery.services.idle_notices import goes_idle
from atm.team.services.endpoints import endpoint_of
from atm.team.services.presence import last_beat
from atm.vendors.known import get
from atm.vendors.panes import rests
from atm.vendors.screen import BY_NOTE, BY_SCREEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.delivery.ports.agent_sessions import AgentSessions
    from atm.delivery.ports.terminals import Terminals
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.endpoints import Endpoint
    from atm.team.rules.team import Team


class TurnWatch:
    """What was seen of each agent that counts as busy, from one round to the next."""

    def __init__(self, sessions: AgentSessions | None) -> None:
        self._sessions = sessions
        self._terminals: Terminals | None = None
        self._still: dict[tuple[str, str], Stillness] = {}
        self._statuses: dict[str, str] | None = None

    def begin_round(self, terminals: Terminals | None) -> None:
        """What programs note is read once for everybody, if at all. Without `terminals` no screen is looked at."""
        self._terminals = terminals
        self._statuses = None

    def look(self, room: Mailroom, team: Team, name: str) -> bool:
        """Look at one member; is it idle now, and was it not before?"""
        key, former = (team.name, name), self._still.pop((team.name, name), None)
        endpoint = endpoint_of(room, team, name)
        last = last_beat(room.presence, team, name, room.clock.now())
        if team.completed or endpoint is None or last is None or last.state not in BUSY:
            return False
        if not endpoint.is_on(room.presence.host, room.presence.boot):
            return False
        source, mark = self._mark(endpoint)
        now = room.clock.monotonic()
        still = looked_at(former, mark, last.at, now)
        if still is None:
            return False
        if still.is_over(now):
            goes_idle(room, team, name, source, pid=last.pid)  # which may have ended since
            return True
        self._still[key] = still
        return False

    def forget_all_but(self, teams: set[str]) -> None:
        for key in [key for key in list(self._still) if key[0] not in teams]:
            self._still.pop(key, None)

    def _mark(self, endpoint: Endpoint) -> tuple[str, str]:
        """The source of the heartbeat, and what was seen."""
        vendor = get(endpoint.vendor)
        ends = vendor.screen.turn_ends if vendor is not None and vendor.screen is not None else ""
        if ends == BY_NOTE and endpoint.session:
            mark = IDLE_SESSION if self._status(endpoint.session) == IDLE_SESSION else ""
            return f"{endpoint.vendor} session note", mark
        if ends == BY_SCREEN and endpoint.pane:
            return f"{endpoint.vendor} screen", self._screen(endpoint)
        return "", ""

    def _status(self, session: str) -> str:
        if self._statuses is None:
            self._statuses = self._sessions.statuses() if self._sessions is not None else {}
        return self._statuses.get(session, "")

    def _screen(self, endpoint: Endpoint) -> str:
        """A mark of all of it, if it shows a composer and nothing that runs; of the very process that registered."""
        at, terminals = PaneAddress(endpoint.server, endpoint.pane), self._terminals
        screen = terminals.screen(at) if terminals is not None else None
        if terminals is None or screen is None or not rests(screen):
            return ""
        pane = terminals.pane(at)
        is_it = pane is not None and not pane.is_dead and endpoint.pane_pid in (None, pane.pid)
        return derived_id(screen) if is_it else ""
