"""What a check-up looks at on the machine, beyond what mail itself uses."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from atm.setup.rules.installation import Installation
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


@dataclass(frozen=True, slots=True)
class HomeTrial:
    """What came of making a file in a folder of ours, or in the one that it would be made in."""

    path: str
    problem: str = ""
    why: str = ""
    """`full`, `read-only`, `foreign` (another's), `shut` (ours, without the right), or nothing that we know."""
    owner: str = ""
    """Whose it should be."""


@dataclass(frozen=True, slots=True)
class RoomLeft:
    """What a file system that we use has left; `inodes` is None where it does not count them."""

    path: str
    free: int
    inodes: int | None


@dataclass(frozen=True, slots=True)
class HomeOwner:
    """Whose home it is: usually of whoever asks, unless that is root."""

    uid: int
    name: str
    is_asking_as_root: bool = False


@dataclass(frozen=True, slots=True)
class Belonging:
    """Something that lies where our files lie."""

    path: str
    kind: str
    """`file`, `folder`, `link` or `other`."""
    uid: int
    owner: str
    mtime: float
    is_usable: bool
    """Can the owner of the home read and write it?"""
    is_shared: bool = False
    """Does it lie where other programs and other users may work too?"""
    should_be: str = ""
    """`file` or `folder`, where we know."""


@dataclass(frozen=True, slots=True)
class DaemonSeen:
    """The daemon of this home from outside; `pid` is 0 if none runs."""

    pid: int = 0
    answers: bool = False
    version: str = ""
    socket: str = ""
    problems: tuple[str, ...] = ()


class FilesAround(Protocol):
    """The files around the mail."""

    def installation(self) -> Installation:
        """How this atm was installed, for findings that advise a newer one or another part of it."""

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

    def team_folder(self, team: str) -> list[str]:
        """The names in a team's own folder."""

    def missing_home(self) -> str:
        """The home that the environment names, if there is no such folder; else nothing."""

    def write_trials(self) -> list[HomeTrial]:
        """Make and remove a file in each of our folders."""

    def room_left(self) -> list[RoomLeft]:
        """Of each file system that we use."""

    def home_owner(self) -> HomeOwner: ...

    def roots(self) -> tuple[str, ...]:
        """The folders in which everything lies."""

    def belongings(self, teams: list[str]) -> Iterator[Belonging]:
        """Everything that lies there, up to a bound; links are not followed. What cannot be looked into is passed."""

    def break_lock(self, path: str) -> bool: ...

    def remove(self, path: str) -> None: ...

    def touch(self, path: str) -> None:
        """Changed now."""

    def tighten(self, path: LoosePath) -> None:
        """Give it the mode that it should have, if it is still what was found."""
