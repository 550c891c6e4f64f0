"""What the verbs of sessions work with, and who asks."""

from __future__ import annotations

from dataclasses import dataclass

from atm.sessions.rules.policy import SessionPolicy
from atm.team.rules.lead_session import LeadSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.crew.services.crewroom import Crewroom
    from atm.files.ports.clock import Clock
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.sessions.ports.checkpoints import GitCheckpoints
    from atm.sessions.ports.surroundings import (
        Facts,
        FactSource,
        MemberCheckpoints,
        Transcripts,
        WorkingTree,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCaller:
    """The session that a command is given in."""

    session: str
    folder: str
    pid: int = 0
    began: str = ""
    boot: str = ""
    """The terminal, where a person sits at one."""


@dataclass(slots=True, kw_only=True)
class SessionRoom:
    """Ports, policy, and who asks."""

    crew: Crewroom
    git: GitCheckpoints
    members: MemberCheckpoints
    facts: Facts
    fact_sources: Sequence[FactSource]
    transcripts: Transcripts
    tree: WorkingTree
    caller: SessionCaller
    policy: SessionPolicy

    @property
    def boardroom(self) -> FullBoardroom:
        return self.crew.boardroom

    @property
    def room(self) -> Teamroom:
        return self.crew.room

    @property
    def clock(self) -> Clock:
        return self.crew.clock

    def as_lead(self) -> LeadSession:
        """The caller as the lead of a team, from now on."""
        caller = self.caller
        return LeadSession(
            session=caller.session,
            last_seen=self.clock.now(),
            pid=caller.pid,
            began=caller.began,
            boot=caller.boot,
            folder=caller.folder,
            common=self.git.repository(caller.folder) if caller.folder else "",
        )
