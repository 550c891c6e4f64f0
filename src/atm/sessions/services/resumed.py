"""What resuming a team tells, step by step and at the end (seed 003 section 2.3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.sessions.services.restoring import HOME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.formats.member_checkpoint import MemberCheckpoint
    from atm.sessions.services.consolidating import Interrupted
    from atm.sessions.services.overview import TeamView

STEPS = ("load", "status", "lead", "probe", "facts", "mailbox", "summary")


@dataclass(slots=True)
class Step:
    """One that was done."""

    name: str
    ms: float
    said: str = ""

    @property
    def number(self) -> int:
        return STEPS.index(self.name) + 1


@dataclass(slots=True, kw_only=True)
class SessionWarning:
    """Something that stops nobody."""

    code: str
    message: str


@dataclass(slots=True, kw_only=True)
class Resumed:
    """What a lead inherits (2.3)."""

    team: str
    id: str = ""
    how: str = ""
    """Empty: nobody was attached, it was only looked at."""
    view: TeamView | None = None
    session: str = ""
    session_old: str = ""
    last_seen: float | None = None
    steps: list[Step] = field(default_factory=list)
    warnings: list[SessionWarning] = field(default_factory=list)
    stale: list[tuple[str, str]] = field(default_factory=list)
    """Facts that changed, and the command that renews each."""
    restored_from: str = HOME
    brought_back: list[str] = field(default_factory=list)
    interrupted: Interrupted | None = None
    checkpoints: dict[str, MemberCheckpoint] = field(default_factory=dict)
    """What each member's work is saved as, by name."""
    resumable: dict[str, bool | None] = field(default_factory=dict)
    messages_since: int = 0
    released: int = 0
    """Messages that had been held, and are delivered now."""
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    rolled_back: dict[str, list[str]] = field(default_factory=dict)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(SessionWarning(code=code, message=message))
