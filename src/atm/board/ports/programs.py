"""Programs of the user's that we run: acceptance checks and hooks. Always with an end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.board.rules.acceptance import Ran
    from atm.core.plain import Plain
else:
    Protocol = object


class Programs(Protocol):
    """Runs commands, looks for files, asks git."""

    def run(
        self,
        command: str,
        *,
        folder: str,
        seconds: float,
        stdin: bytes = b"",
        facts: dict[str, str] | None = None,
        meanwhile: Callable[[], None] | None = None,
        every: float = 30.0,
    ) -> Ran:
        """
        Run a shell command, with `facts` in its environment; stopped, with all its children, after so many seconds.

        `meanwhile` is called about `every` so many seconds, so that whoever waits is not taken for dead.
        """

    def find(self, folder: str, pattern: str) -> Ran:
        """Is there a file like that under a folder? Code 0 if so."""

    def commit_of(self, folder: str, name: str) -> str:
        """The commit that a name stands for in the repository there; empty if none does."""

    def is_reachable(self, folder: str, commit: str, branch: str) -> Ran:
        """Is a commit part of a branch? Code 0 if so."""

    def here(self) -> str:
        """The folder that we are in."""

    def stands_in(self, folder: str) -> bool:
        """Are we in this folder, or below it in the same repository?"""

    def log(self, record: dict[str, Plain]) -> None:
        """What a hook did, in the hooks' own log. If that cannot be written, nobody is stopped by it."""
