"""Checkpoints in git: on a branch of their own, in the repository that a team's lead works in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol
else:
    Protocol = object


class CheckpointCommit:
    """One of them."""

    __slots__ = ("at", "commit", "text")

    def __init__(self, commit: str, at: float, text: str) -> None:
        self.commit = commit
        self.at = at
        """Whole seconds since 1970, by the clock of whoever wrote it."""
        self.text = text
        """The first line of its message."""


class GitCheckpoints(Protocol):
    """
    Branch `atm/checkpoints/{team}` (names that git refuses are encoded, `crew.rules.refs`). Written with plumbing: the
    user's index, working tree, HEAD, stash, other refs and hooks are never touched, in whatever state the repository
    is. Nothing is ever pushed or fetched.
    """

    def repository(self, folder: str) -> str:
        """The git folder that all worktrees of a folder's repository share; empty where there is none."""

    def commit(self, common: str, team: str, files: Mapping[str, bytes], text: str) -> str:
        """
        These files (names such as `state.json`), and no others, in the folder `.claude/teams/{team}` of the tree. The
        new commit; empty if the last one has exactly that. Raises GitTrouble (also if another writer of the branch was
        quicker three times in a row), WriteRefused where the disk does not take it, and BadName for a name that cannot
        stand in a tree.
        """

    def latest(self, common: str, team: str) -> dict[str, bytes] | None:
        """The files of the last commit; None if there is no such branch, or nothing of that on it."""

    def commits(self, common: str, team: str, most: int) -> list[CheckpointCommit]:
        """The last ones, newest first, by first parents."""

    def thin(self, common: str, team: str, keep: Callable[[list[CheckpointCommit]], list[CheckpointCommit]]) -> int:
        """
        Write the branch anew with only those that `keep` picks (newest first, the newest always among them), each with
        its tree, time, author and message; how many are gone. All after the first gap get new ids, the newest too.
        Nothing changes, and 0 is returned, if somebody wrote to it meanwhile. Raises GitTrouble.
        """

    def on_remotes(self, common: str, team: str) -> list[str]:
        """Names of remotes that are known to have the branch, by remote-tracking refs: it holds mail."""
