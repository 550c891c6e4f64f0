"""Joining commits into one, by git alone: no working tree, no index, no branch is touched."""

from __future__ import annotations

from atm.core.work_errors import CommitGone, GitTrouble
from atm.git.adapters.running import LONG, Git, names_in, refusal, text_of
from atm.git.adapters.salvage import commit_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.git.adapters.asking import GitOutput

CLEAN, IN_CONFLICT = 0, 1
"""How `git merge-tree` ends."""


def join(git: Git, commits: Sequence[str], message: str) -> tuple[str, list[str]]:
    """
    The commit, or the files in which they do not go together. Those that others contain are left out; the order decides
    nothing but the first parent.
    """
    known = [git.commit_of(commit) for commit in dict.fromkeys(commits)]
    if not known or not all(known):
        missing = next((name for name, found in zip(dict.fromkeys(commits), known, strict=True) if not found), "")
        raise CommitGone(missing, git.git_dir)
    tips = _independent(git, known)
    made = tips[0]
    for other in tips[1:]:
        tree, conflicts = merge_trees(git, made, other)
        if conflicts:
            return "", conflicts
        made = commit_tree(git, tree, [made, other], message)
    return made, []


def _independent(git: Git, commits: Sequence[str]) -> list[str]:
    """Without those that are part of another, in the order given."""
    kept = {*git.need("merge-base", "--independent", *commits).split()}
    return [commit for commit in dict.fromkeys(commits) if commit in kept]


def merge_trees(git: Git, ours: str, theirs: str) -> tuple[str, list[str]]:
    """The tree of both, or what does not go together."""
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
    done = git.run(*words, seconds=LONG)
    if done.code not in (CLEAN, IN_CONFLICT):
        raise _refused(words, done)
    tree, *files = names_in(text_of(done.out))
    return ("", sorted({*files})) if done.code == IN_CONFLICT else (tree, [])


def _refused(words: Sequence[str], done: GitOutput) -> GitTrouble:
    trouble = refusal(words, done)
    if "usage" in text_of(done.errors):
        return GitTrouble("this git cannot join work without a working tree", "install git 2.38 or newer")
    return trouble
