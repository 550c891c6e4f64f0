"""What is around a team: repositories, settings of Claude Code, shared copies, task lists, Claude Code itself."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.mail.rules.file_access import Scope
else:
    Protocol = object


class Files(Protocol):
    """The files that people refer to, and what settings say about them."""

    def real_file(self, path: str) -> tuple[str, str]:
        """The absolute path as given and the real one, links resolved. Raises FileNotAllowed if it is no file."""

    def root_of(self, folder: str) -> str | None:
        """The real root of the repository around a folder, or the folder itself; None if it does not exist."""

    def scopes(self, root: str, added: str | None) -> list[Scope]:
        """Claude Code's settings for a repository, highest first."""

    def copy(self, path: str, team: str) -> str:
        """A durable copy in the team's share folder, under a name that nothing has yet."""

    def share_folder(self, team: str) -> str: ...


class Drift(Protocol):
    """A log of fields that the formats do not know, each entered once."""

    def note(self, kind: str, names: list[str]) -> None: ...

    def seen(self) -> list[dict[str, str]]: ...
