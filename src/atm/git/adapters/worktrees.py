"""Which repository a folder is a worktree of, read from the small files that git keeps about that."""

from __future__ import annotations

import os

LONGEST = 4096


def worktree_of(folder: str) -> str:
    """
    The real path of the repository whose worktree a folder lies in; empty if it lies in none.

    Both sides have to say so, as for git itself: else a repository could claim folders that are not its own.
    """
    root = _checkout(os.path.realpath(folder))
    pointer = _read(f"{root}/.git").partition("gitdir:")[2].strip() if root else ""
    if not pointer:
        return ""  # no repository, or one of its own
    notes = os.path.realpath(os.path.join(root, pointer))
    common, back = _read(f"{notes}/commondir").strip(), _read(f"{notes}/gitdir").strip()
    if not common or os.path.realpath(os.path.join(notes, back)) != os.path.realpath(f"{root}/.git"):
        return ""  # a submodule, or the repository knows nothing of it
    git = os.path.realpath(os.path.join(notes, common)).replace(os.sep, "/")
    return git.removesuffix("/.git")


def _checkout(folder: str) -> str:
    """The nearest folder above with a `.git`."""
    while not os.path.lexists(f"{folder}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def _read(path: str) -> str:
    """Regular files only: the path comes from a roster, and a pipe there would never end."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except OSError:
        return ""
