"""
The lead's own checkout, where its team's work is committed because somebody asked: implements `WorkingTree`.

Looking and committing go through the git that runs nothing of the repository's. The user's pre-commit hook and a push
are the user's own programs, run as the user would run them.
"""

from __future__ import annotations

import os
import shutil
import time

from atm.core.untrusted_text import shell_words
from atm.core.work_errors import GitTrouble
from atm.git.adapters.checkouts import find
from atm.git.adapters.commits import HALF_REBASED
from atm.git.adapters.running import LONG, Git, names_in, switched_off, text_of
from atm.sessions.ports.surroundings import TreeStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.ports.programs import Programs
    from atm.board.rules.acceptance import Ran

PRE_COMMIT = 'hook=$(git rev-parse --git-path hooks/pre-commit) && { [ ! -x "$hook" ] || exec "$hook"; }'
PUSH_SECONDS = 600.0
KEPT_INDEX = "atm-index"
"""Beside git's own, while something is staged for a consolidation."""


class LeadsTree:
    """Found anew by each verb: a folder can become another repository."""

    __slots__ = ("_programs",)

    def __init__(self, programs: Programs) -> None:
        self._programs = programs

    def _open(self, folder: str) -> Git:
        place = find(folder, time.sleep) if folder else None
        if place is None or not place.root:
            raise GitTrouble(f"{folder or 'there'} is no working tree of git", "go to one, or name one", folder)
        git_dir = Git(place.root).ask("rev-parse", "--absolute-git-dir")
        return Git(git_dir=git_dir, work_tree=place.root)

    def status(self, folder: str) -> TreeStatus | None:
        place = find(folder, time.sleep) if folder and os.path.isdir(folder) else None
        if place is None or not place.root:
            return None
        git = self._open(folder)
        done = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", seconds=LONG)
        if done.code != 0:
            raise GitTrouble(f"git status: {text_of(done.errors).strip()}", "mend that, and try again", place.root)
        lines = names_in(text_of(done.out))
        return TreeStatus(
            root=place.root,
            branch=place.branch,
            head=place.head,
            staged=[line[3:] for line in lines if line[0] not in " ?"],
            unstaged=[line[3:] for line in lines if line[1] not in " ?"],
            untracked=[line[3:] for line in lines if line.startswith("??")],
            is_half_done=_half_done(git.git_dir),
        )

    def index(self, folder: str) -> str:
        """The file itself: a tree knows nothing of sparse checkouts, and of files that are only meant to be added."""
        git = self._open(folder)
        kept = f"{KEPT_INDEX}-{git.need('write-tree').strip()[:16]}"
        if os.path.exists(f"{git.git_dir}/index"):
            shutil.copy2(f"{git.git_dir}/index", f"{git.git_dir}/{kept}")
        return kept

    def restore_index(self, folder: str, kept: str) -> None:
        git = self._open(folder)
        if not kept.startswith(KEPT_INDEX) or "/" in kept:
            raise GitTrouble(f"{kept!r} is no index that was kept", "see `git status`, and `git restore --staged .`")
        lock = f"{git.git_dir}/index.lock"
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(f"{git.git_dir}/{kept}", lock)
            os.replace(lock, f"{git.git_dir}/index")
        except FileExistsError:
            raise GitTrouble("another git is at the index", "if none runs there, remove the lock", lock) from None
        except FileNotFoundError:
            os.unlink(lock)  # there was no index then, or it was put back before

    def stage_all(self, folder: str) -> None:
        git = self._open(folder)
        off = switched_off(git.settings)
        if off:
            # What a filter should encrypt or shrink must not be committed as it is.
            raise GitTrouble(
                f"the repository has filters that atm does not run: {', '.join(off)}",
                "stage the files yourself with `git add`, then go on with --continue",
                git.work_tree,
            )
        git.need("add", "--all", "--", ".", seconds=LONG)

    def hooks(self, folder: str, seconds: float) -> Ran:
        return self._programs.run(PRE_COMMIT, folder=self._open(folder).work_tree, seconds=seconds)

    def commit(self, folder: str, message: str) -> str:
        git = self._open(folder)
        data = message.replace("\0", "").encode("utf-8", "replace")
        git.need("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-F", "-", stdin=data, seconds=LONG)
        for name in os.listdir(git.git_dir):
            if name.startswith(KEPT_INDEX):
                os.unlink(f"{git.git_dir}/{name}")
        return git.commit_of("HEAD")

    def push(self, folder: str, remote: str) -> Ran:
        root = self._open(folder).work_tree
        return self._programs.run(f"git push -- {shell_words(remote)} HEAD", folder=root, seconds=PUSH_SECONDS)


def _half_done(git_dir: str) -> str:
    if os.path.exists(f"{git_dir}/MERGE_HEAD"):
        return "merge"
    return "rebase" if any(os.path.isdir(f"{git_dir}/{name}") for name in HALF_REBASED) else ""
