"""What merging needs of a machine: where the queue is kept, and what git does for it."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from atm.crew.ports.worktrees import JoinedWork, Repository, Saved, Worktree
    from atm.merges.rules.items import MergeQueue
    from atm.merges.rules.radar import Collision
else:
    Protocol = object


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePiece:
    """The work of one task, for git."""

    base: str
    head: str
    agent: str
    message: str
    """Of the commit, where one is made for it."""
    strategy: str


class Merges(Protocol):
    """The queues of all teams. One has one writer: who holds it."""

    def hold(self, team: str, seconds: float = 0.3) -> AbstractContextManager[object]:
        """For as long as somebody merges. Raises MergeActive if another does; dies with its process."""

    def is_held(self, team: str) -> bool: ...

    def read(self, team: str) -> MergeQueue | None:
        """None if there is none yet. Raises UnreadableFile."""

    def write(self, queue: MergeQueue) -> None:
        """Durable before it returns."""

    def note_collisions(self, team: str, found: Sequence[Collision]) -> None:
        """What the radar saw last, for whoever looks at the team."""

    def collisions(self, team: str) -> list[Collision]: ...


class MergeGit(Protocol):
    """
    What git does for the queue. No working tree, index, stash or hook of the user's is used or touched; the one
    exception is `land` on a branch that is checked out and clean.
    """

    def head(self, repository: Repository, branch: str) -> str:
        """Empty if there is no such branch."""

    def open_target(self, repository: Repository, branch: str, base: str) -> str:
        """
        The commit of the target, which is made from `base` if it is not there. One that is there gets what `base` has
        beyond it. Raises GitTrouble if these do not go together.
        """

    def combine(self, repository: Repository, piece: MergePiece, onto: str) -> JoinedWork:
        """A commit with a task's own changes on top of another, or the files in which these do not go together."""

    def land(self, repository: Repository, branch: str, commit: str, former: str) -> bool:
        """
        Move a branch on, if it is still at `former`; False if somebody moved it. Raises RequestError if it is checked
        out somewhere and not clean.
        """

    def contains(self, repository: Repository, branch: str, commit: str) -> bool: ...

    def changed(self, repository: Repository, base: str, head: str) -> list[str]:
        """Paths that differ."""

    def diff(
        self, repository: Repository, base: str, head: str, paths: Sequence[str] = (), context: int = 3
    ) -> str: ...

    def would_conflict(self, repository: Repository, base: str, onto: str, head: str) -> list[str]:
        """Files in which what came after `base` does not go together with another commit. Nothing is kept."""

    def side(self, repository: Repository, piece: MergePiece, onto: str) -> str:
        """What a worktree is made from in which `begin` merges the piece: the target, as that piece sees it."""

    def begin(self, place: Worktree, head: str) -> list[str]:
        """
        Begin the merge there. Paths that are in conflict still, after everything is put in that was resolved the same
        way before.
        """

    def preview(self, place: Worktree, path: str) -> str:
        """A file as it lies there; empty if it is no text."""

    def settle(self, place: Worktree, head: str) -> list[str]:
        """What is resolved there is staged, and remembered for the next time. Paths that are not resolved."""

    def seal(self, repository: Repository, piece: MergePiece, onto: str, resolved: str) -> str:
        """The commit of a piece on the target with the files of another commit, in which somebody resolved it."""

    def same_in(self, repository: Repository, one: str, other: str, paths: Sequence[str]) -> list[str]:
        """Which of these paths are the same in both."""

    def stand(self, place: Worktree, commit: str) -> None:
        """A worktree in which nobody works, made to be exactly this commit. What git ignores stays: caches."""

    def keep(self, repository: Repository, team: str, task: str, commit: str, why: str) -> Saved:
        """A commit under a salvage ref; the same one once."""


class MergeWorker(Protocol):
    """A process that works a queue off, beside whoever wants that."""

    def start(self, team: str, folder: str) -> None:
        """Unless it runs."""

    def is_running(self) -> bool: ...

    def trouble(self) -> str:
        """Why it ended the last time without doing its work; empty if it did, or runs."""

    def stop(self) -> None:
        """Now. What it was at is gone on with by the next one."""
