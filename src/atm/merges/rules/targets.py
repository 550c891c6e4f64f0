"""
Which branch finished work may be merged into: one of the user's, never one that atm works with.

Pure. What git itself says about a name (`git check-ref-format --branch`) comes on top, in `git/adapters/merging.py`.
"""

from __future__ import annotations

from atm.core.errors import RequestError
from atm.crew.rules.refs import CHECKPOINTS, SALVAGE, WORK

OURS = (WORK, CHECKPOINTS, SALVAGE.removeprefix("refs/"))
"""Namespaces that agents, checkpoints and salvaged work use; atm writes and removes branches there by itself."""

OUTSIDE = ("refs", "heads", "tags", "remotes", "worktree", "main-worktree")
"""First parts of a name that git takes for a place of its own, so that the name means two things."""

OF_GIT = ("stash", "AUTO_MERGE", "BISECT_EXPECTED_REV", "MERGE_AUTOSTASH", "NOTES_MERGE_PARTIAL", "NOTES_MERGE_REF")
"""Names that git gives to references of its own, besides the many that end in `HEAD`."""

REMEDY = "choose another with --into"


def check_target(branch: str) -> str:
    """Raises RequestError for a name that is no branch of the user's; else the name."""
    parts = branch.casefold().split("/")
    if not branch.strip() or not branch.isprintable():
        raise RequestError("an empty or unprintable name is no branch", REMEDY)
    if branch.startswith("-"):
        raise RequestError(f"{branch!r} is no name for a branch: git would take it for an option", REMEDY)
    if branch in ("@", "HEAD") or branch.endswith("/HEAD") or "@{" in branch:
        raise RequestError(f"{branch!r} is no name for a branch: git means another commit by it at each moment", REMEDY)
    if parts[0] in OUTSIDE or branch in OF_GIT or _is_head(branch):
        raise RequestError(f"{branch!r} is no name for a branch: git would look for it outside of branches", REMEDY)
    if any(f"{'/'.join(parts)}/".startswith(f"{ours}/") for ours in OURS):
        raise RequestError(f"{branch!r} is in a place where atm keeps branches of agents", REMEDY)
    if ".." in branch or any(part in ("", ".") or part.startswith(".") for part in branch.split("/")):
        raise RequestError(f"{branch!r} is no name for a branch: git would not find it where it is written", REMEDY)
    return branch


def _is_head(branch: str) -> bool:
    """`FETCH_HEAD`, `ORIG_HEAD` and their like: git reads a file of that name before it looks at branches."""
    return branch.endswith("_HEAD") and branch.replace("_", "").isalpha() and branch.isascii() and branch.isupper()
