"""Who is at the other end of a connection, and the services as they may use them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from atm.team.services.registry import find_team
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.board.ports.tasks import Tasks
    from atm.board.ports.workplaces import AgentPlaces
    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team


class Caller:
    """Bound to a connection when it is made; nothing that is said over the connection changes it."""

    def __init__(
        self, layout: Layout, settings: Settings, *, team: str, member: str, role: str, source: str, has_daemon: bool
    ) -> None:
        self.layout = layout
        self.settings = settings
        self.team = team
        """Empty if the launcher named none and there is not exactly one."""
        self.member = member
        """Empty for an observer without a name."""
        self.role = role
        self.source = source
        """How the identity is known: `environment`, `token` or `nobody`."""
        self.pid: int | None = None
        """The process at the other end, where the system tells it; None for a bearer of a token."""
        self.folder = ""
        """Where the client works; empty if nobody said."""
        self.joined_at: float | None = None
        """When the member joined, as the roster said when the connection was made."""
        self.tasks: Tasks | None = None
        """The boards as the server keeps them for everybody, if it does."""
        self.has_daemon = has_daemon
        """Is this the daemon's own server? Without one, reports are noted and validated later."""
        self._read = threading.local()
        """The roster that this thread read when its call began."""

    @cached_property
    def room(self) -> Teamroom:
        made = build_room(self.layout, self.settings)
        made.acting_pid = self.pid
        made.has_keeper = self.has_daemon
        return made

    @cached_property
    def boardroom(self) -> FullBoardroom:
        """An agent may have nothing but these tools, and whoever runs them runs outside of what fences it in."""
        return build_boardroom(
            *(self.layout, self.settings, self.room),
            runs_repo_hooks=False,
            is_server=True,
            tasks=self.tasks,
            workplaces=self._workplaces,
            stands_in=self.folder,
        )

    def question_before(self, team: str, member: str) -> str:
        """What the program of this recipient asks a person in its window; only agents that atm started can be seen."""
        from atm.wiring.crew import build_agent_records, question_of

        return question_of(build_agent_records(self.layout).read(team, member))

    def _workplaces(self) -> AgentPlaces:
        from atm.wiring.crew import build_workplaces

        return build_workplaces(self.layout)

    def roster(self) -> Team:
        """Read afresh: people join and leave while a connection lasts. What was read as the call began counts once."""
        read: Team | None = self._read.__dict__.pop("team", None)
        return read if read is not None else find_team(self.room, self.team)

    @contextmanager
    def having_read(self, team: Team | None) -> Iterator[None]:
        """For one call, in its thread: the role was settled by this roster a moment ago."""
        self._read.__dict__["team"] = team
        try:
            yield
        finally:
            self._read.__dict__.clear()
