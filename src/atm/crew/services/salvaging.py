"""Salvage: finding what was saved before something was taken away, and bringing it back or letting it go."""

from __future__ import annotations

from atm.core.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.worktrees import Saved, Worktrees

SHORTEST = 4
"""Characters of an id that say which one is meant."""


class NoSuchSalvage(RequestError):
    """Nothing that was saved has that id, or several begin with it."""

    code = "no-such-salvage"


def saved_around(worktrees: Worktrees, folder: str, team: str = "") -> list[Saved]:
    """What was saved in the repository that a folder belongs to, newest first."""
    repository = worktrees.repository(folder)
    if repository is None:
        raise RequestError(f"{folder} belongs to no git repository", "go to the repository of the work", folder)
    return worktrees.saved(repository.common, team)


def find_saved(saved: list[Saved], id: str) -> Saved:
    """By the beginning of its id or its commit, or by its whole ref."""
    wanted = id.strip()
    if len(wanted) < SHORTEST:
        raise NoSuchSalvage(f"{id!r} is too short for an id", f"give at least {SHORTEST} characters of it")
    found = [one for one in saved if one.ref == wanted or _begins(one, wanted.lower())]
    if not found:
        raise NoSuchSalvage(f"nothing that was saved here begins with {id!r}", "see `atm salvage list`")
    if len(found) > 1:
        refs = ", ".join(one.ref for one in found[:5])
        raise NoSuchSalvage(f"{len(found)} begin with {id!r}: {refs}", "give more of the id, or the whole ref")
    return found[0]


def _begins(one: Saved, wanted: str) -> bool:
    return one.id.startswith(wanted) or one.commit.startswith(wanted)


def restore_saved(worktrees: Worktrees, saved: Saved, folder: str) -> list[str]:
    """Its files into a new or empty folder; their paths. It stays saved."""
    return worktrees.restore(saved, folder)


def drop_saved(worktrees: Worktrees, saved: Saved) -> None:
    """Let it go: from now on nothing leads to it."""
    worktrees.drop(saved)
