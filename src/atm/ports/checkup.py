"""What a check-up looks at on the machine, beyond what mail itself uses."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


@dataclass(frozen=True, slots=True)
class FoundLock:
    """A lock beside a shared file. `owner` is alive, dead or unknown, and says who as far as that is known."""

    path: str
    kind: str
    age: float
    owner: str
    who: str
    empty: bool
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class HeldLock:
    """One of our own processes at work, or the last words of one that was killed."""

    target: str
    pid: int
    since: str
    alive: bool

    @property
    def inbox_owner(self) -> tuple[str, str] | None:
        """(team, member) if the target is an inbox."""
        parts = self.target.split("/")
        if len(parts) < 3 or parts[-2] != "inboxes":
            return None
        return parts[-3], parts[-1].removesuffix(".json")


@dataclass(frozen=True, slots=True)
class LoosePath:
    """A file or folder with the wrong mode."""

    path: str
    mode: int
    should_be: int
    why: str


class FilesAround(Protocol):
    """The files around the mail."""

    def locks(self, team: str) -> list[FoundLock]: ...

    def held(self) -> list[HeldLock]: ...

    def leftovers(self, team: str) -> list[str]:
        """Temporary files of ours whose process is gone."""

    def loose_paths(self, teams: list[str]) -> list[LoosePath]: ...

    def other_home(self) -> str | None:
        """Another folder with teams in it, which agents without our environment would use."""

    def unsafe_names(self, team: str) -> list[str]:
        """Members and inboxes whose names could lead out of their folder: nobody to us, so the user must be told."""

    def unknown_team_fields(self, team: str) -> list[str]: ...

    def break_lock(self, path: str) -> bool: ...

    def remove(self, path: str) -> None: ...

    def tighten(self, path: LoosePath) -> None: ...
