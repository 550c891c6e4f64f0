"""
Resolutions that are remembered by git's own `rerere`: a conflict that somebody resolved once is resolved the same way
when it comes again.

The memory is ours, beside the repository: a `rr-cache` in the user's git folder would switch `rerere` on for them too.
Where they have it on, git uses theirs as well, by itself.
"""

from __future__ import annotations

import os

from atm.git.adapters.changes import write_private
from atm.git.adapters.running import LONG, Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OPEN_ONES = "MERGE_RR"
"""Where git notes which conflicts it is told of: of one merge at a time, so each worktree keeps its own."""

ON = {"rerere.enabled": "true", "rerere.autoUpdate": "false", "gc.rerereResolved": "365", "gc.rerereUnresolved": "60"}


class ConflictMemory:
    """Of one repository."""

    def __init__(self, folder: str, common: str, sleep: Callable[[float], None]) -> None:
        self._folder = folder
        self._common = common
        self._sleep = sleep

    def recall(self, notes: str, work_tree: str) -> None:
        """Put in what is known, and note what is not, for `learn`."""
        self._forget_open()
        self._run(notes, work_tree)
        _copy(f"{self._folder}/{OPEN_ONES}", f"{notes}/atm-{OPEN_ONES}")

    def learn(self, notes: str, work_tree: str) -> None:
        self._forget_open()
        if os.path.isfile(f"{notes}/atm-{OPEN_ONES}"):
            _copy(f"{notes}/atm-{OPEN_ONES}", f"{self._folder}/{OPEN_ONES}")
            self._run(notes, work_tree)

    def _run(self, notes: str, work_tree: str) -> None:
        """What goes wrong here costs a repeated question and nothing else."""
        facts = {"GIT_INDEX_FILE": f"{notes}/index", "GIT_OBJECT_DIRECTORY": f"{self._common}/objects"}
        git = Git(git_dir=self._folder, work_tree=work_tree, more=ON, sleep=self._sleep)
        git.run("rerere", facts=facts, seconds=LONG)

    def _forget_open(self) -> None:
        write_private(f"{self._folder}/HEAD", b"ref: refs/heads/none\n")
        try:
            os.unlink(f"{self._folder}/{OPEN_ONES}")
        except FileNotFoundError:
            return


def _copy(source: str, target: str) -> None:
    try:
        with open(source, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        data = b""
    write_private(target, data)
