"""Copies of whole teams, to come back to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.roster.formats.backup_manifest import Manifest
else:
    Protocol = object


class Kept:
    """A backup that exists, whole."""

    __slots__ = ("is_final", "name", "path")

    def __init__(self, name: str, path: str, is_final: bool) -> None:
        self.name = name
        self.path = path
        self.is_final = is_final
        """Made when the team was completed: kept for ever."""


class Contents:
    """A backup as it was read: every file, each checked against the manifest."""

    __slots__ = ("files", "manifest", "path")

    def __init__(self, path: str, manifest: Manifest, files: dict[str, bytes]) -> None:
        self.path = path
        self.manifest = manifest
        self.files = files


class Backups(Protocol):
    """A backup exists whole or not at all. Links are never followed, neither when copying nor when reading."""

    def make(self, team: str, at: float, *, final: bool = False, aside: str | None = None) -> Contents:
        """Copy the team, or what was set aside of it. Afterwards only the last few plain ones are kept."""

    def kept(self, team: str) -> list[Kept]:
        """Oldest first."""

    def read(self, team: str, given: str | None) -> Contents:
        """By name, by path, or the newest. Raises NoSuchBackup or DamagedBackup."""

    def discard(self, team: str, path: str) -> None:
        """Remove one backup, and the folder of the team's backups if it was the only one."""

    def covers(self, team: str, aside: str) -> bool:
        """Does the newest backup hold every file of a team that was set aside, to the letter?"""

    def partial(self, team: str) -> list[str]:
        """What killed backups left: names."""

    def sweep(self, team: str) -> None:
        """Remove what killed backups left."""
