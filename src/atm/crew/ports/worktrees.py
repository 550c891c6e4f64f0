"""Worktrees: a checkout of its own for every claim, outside the user's, and what is saved before one is taken away."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol
else:
    Protocol = object


class Repository:
    """The repository that a folder belongs to."""

    __slots__ = ("branch", "common", "head", "key", "notes", "root")

    def __init__(
        self, *, root: str, common: str, key: str, head: str = "", branch: str = "", notes: Sequence[str] = ()
    ) -> None:
        self.root = root
        """The working tree that the folder lies in; empty for a bare one."""
        self.common = common
        """Its git folder, shared by all its worktrees."""
        self.key = key
        """Short and stable: part of the paths of its worktrees."""
        self.head = head
        """The commit that is checked out; empty if there is none yet."""
        self.branch = branch
        """Empty if no branch is checked out."""
        self.notes = [*notes]
        """What somebody who works in a copy should know: a dirty tree, missing sub-modules, a sparse checkout."""


@dataclass(slots=True, eq=False, kw_only=True)
class Worktree:
    """One checkout of ours."""

    path: str
    branch: str
    """The short name: `atm/work/{team}/{task}-{agent}`."""
    base: str
    """The commit that it began with."""
    common: str
    """The git folder of the repository."""


class JoinedWork:
    """What came of joining commits."""

    __slots__ = ("commit", "conflicts")

    def __init__(self, commit: str, conflicts: Sequence[str] = ()) -> None:
        self.commit = commit
        """Empty if they do not go together."""
        self.conflicts = [*conflicts]
        """Files in which they do not."""


class Saved:
    """Work that was saved before something was taken away."""

    __slots__ = ("commit", "common", "dirty", "id", "ref", "untracked", "why")

    def __init__(
        self, *, id: str, ref: str, commit: str, common: str, why: str, dirty: Sequence[str], untracked: Sequence[str]
    ) -> None:
        self.id = id
        """Short; what `atm salvage show` takes."""
        self.ref = ref
        """`refs/atm/salvage/{team}/{task}/{time}`."""
        self.commit = commit
        self.common = common
        self.why = why
        self.dirty = [*dirty]
        """Paths that were changed and not committed."""
        self.untracked = [*untracked]


class Worktrees(Protocol):
    """What git does for us. Nothing here touches the user's working tree, index, stash, HEAD or checked-out branch."""

    def repository(self, folder: str) -> Repository | None:
        """None where there is no repository, or git is not there. Raises AtmError for one that cannot be used."""

    def make(
        self, repository: Repository, team: str, task: str, agent: str, base: str = "", ignored: Sequence[str] = ()
    ) -> Worktree:
        """
        A worktree on a new branch, from `base` (default: the commit that is checked out). `ignored`: patterns of files
        that are neither committed nor saved there, beside those that the repository ignores.

        One that is there already for these names is taken over as it is, if it is whole. A branch of that name with
        commits of its own is never reset: it gets a number. Raises AtmError, and leaves nothing half made behind.
        """

    def go_on(self, worktree: Worktree, work: Saved | Worktree | str) -> None:
        """
        In a new worktree, go on with the work of another life (or with a commit): with its commits, and with files of
        it that were saved, which lie there as changes. What it began with stays the base. Raises AtmError where
        something is in the way.
        """

    def join(self, repository: Repository, commits: Sequence[str], message: str) -> JoinedWork:
        """One commit with all of these in it, made without any working tree; always the same for the same ones."""

    def touched(self, worktree: Worktree) -> list[str]:
        """Paths that are not as it began: in commits, changed or new."""

    def now(self, worktree: Worktree) -> str:
        """All that is there as one commit, under no ref: its head, if nothing is dirty. Empty if it is gone."""

    def diff(self, worktree: Worktree) -> str:
        """Everything that was done in it since it began, committed or not. Empty if it is gone."""

    def commit(self, worktree: Worktree, author: str, message: str) -> str:
        """All that is dirty there, as one commit by that author; the commit that is its head now."""

    def save(self, worktree: Worktree, team: str, task: str, why: str, *, branch: bool = False) -> Saved | None:
        """
        Dirty, untracked and unmerged work under a salvage ref. None if there is nothing that is not elsewhere: a clean
        tree whose head is the base. (A head beyond the base on a kept branch is elsewhere.) Also of the user's own
        checkout, which is only looked at. With `branch` also what is on its own branch alone.
        """

    def remove(self, worktree: Worktree, *, branch: bool) -> None:
        """Take it away, also if half of it is gone; and its branch, if asked. The caller has saved it before."""

    def discard(self, worktree: Worktree) -> None:
        """Take away one in which nobody has worked, and its branch. Nothing is saved: the caller knows why."""

    def left(self, team: str) -> list[Worktree]:
        """All worktrees of a team that are there, of every repository and pattern that atm ever used."""

    def unused(self, team: str) -> list[Worktree]:
        """Branches of a team that have no worktree: work that was done, and is to be merged or was forgotten."""

    def follow(self, team: str, before: str, after: str) -> None:
        """The repository of a team's worktrees moved: its git folder is at `after` now. Raises AtmError."""

    def saved(self, common: str, team: str = "") -> list[Saved]:
        """What was saved in a repository, newest first."""

    def show(self, saved: Saved) -> str:
        """What is in it, as `git diff` would show it."""

    def restore(self, saved: Saved, folder: str) -> list[str]:
        """Write its files into a new or empty folder; their paths."""

    def drop(self, saved: Saved) -> None:
        """Forget it. The commit goes with git's own clean-up, later."""
