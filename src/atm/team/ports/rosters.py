"""Rosters: who is in a team, as the team's file says."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.files.ports.undertaking import Undertaking
    from atm.team.rules.team import Team
else:
    Protocol = object


class Rosters(Protocol):
    """Teams and their members."""

    def teams(self) -> list[str]: ...

    def find(self, team: str) -> str | None:
        """The team's name as it is spelled on disk, or None."""

    def load(self, team: str) -> Team:
        """Raises NoSuchTeam or UnreadableFile."""

    def create(self, team: str, content: bytes) -> bool:
        """False if the team exists."""

    def change(self, team: str, change: Callable[[bytes], bytes]) -> None: ...

    def is_completed(self, team: str) -> bool:
        """Is the team marked as done? One small look; `load` says it too."""

    def is_lead_away(self, team: str) -> bool:
        """Has a daemon that lives marked it so? `load` says it too."""

    def undertaking(self, team: str, verb: str, name: str, detail: str = "") -> Undertaking:
        """A change of several files, written down while it is made."""

    def abandoned(self, team: str) -> list[dict[str, str]]:
        """Undertakings that were cut off: each {verb, name, detail}."""
