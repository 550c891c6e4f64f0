"""What the machine says of repositories, for teams that are bound to one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.team.rules.repositories import Place, RepositoryHere
else:
    Protocol = object


class Repositories(Protocol):
    """Nothing here is written, and nothing that a repository names is run."""

    def around(self, folder: str) -> RepositoryHere | None:
        """The repository that a folder belongs to; None where there is none."""

    def look(self, folder: str) -> Place:
        """Device and inode of a folder; GONE, or UNREADABLE."""

    def root_commit(self, common_dir: str) -> str | None:
        """The first commit of what is checked out, by first parents. None without commits, and in a shallow clone."""

    def head_commit(self, common_dir: str) -> str | None:
        """The commit that is checked out. None without commits, and if git gives no answer."""

    def find_commit(self, common_dir: str, commit: str) -> str:
        """PRESENT, MISSING, CUT_OFF in a shallow clone that lacks it, or UNKNOWN if git gives no answer."""
