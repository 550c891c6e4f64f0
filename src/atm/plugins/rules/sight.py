"""
Which teams a plugin may see: hear of, look at, write to.

A plugin of the machine's place, which the user enabled in their own settings, sees every team. One of a repository's
place sees the teams that work in that repository: a repository is somebody's text, and a plugin that this text enables
has no business with the rest of the machine. `teams = [...]` in its section narrows either, and widens neither.

Pure: who works where was looked up before. It is a fence against mistakes and against the settings of repositories,
not against hostile code: a plugin runs as the user, and could open any file.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.names import same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ALL_TEAMS = "all teams"


@dataclass(frozen=True, slots=True)
class PluginScope:
    """Whose eyes: one plugin in one place."""

    plugin: str
    place: str = "machine"
    """As lists and events call it."""
    repo: str | None = None
    """The real path of the place's repository; None for the whole machine."""
    only: tuple[str, ...] | None = None
    """What its section says in `teams`; None if it does not say."""

    @property
    def is_everything(self) -> bool:
        return self.repo is None and self.only is None


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where one member works, all links followed; empty if the roster does not say."""

    folder: str
    worktree_of: str = ""
    """The repository whose worktree the folder lies in."""
    played_by: str = ""
    """The plugin that plays this member."""


def may_see(scope: PluginScope, team: str, workplaces: Iterable[Workplace]) -> bool:
    """
    May a plugin see a team whose members work in these places?

    A member that the plugin plays itself does not count: it could let itself in.
    """
    if scope.only is not None and not any(same_name(team, name) for name in scope.only):
        return False
    if scope.repo is None:
        return True
    return any(one.played_by != scope.plugin and _works_in(one, scope.repo) for one in workplaces)


def may_hear(scope: PluginScope, team: str, about: object, workplaces: Iterable[Workplace]) -> bool:
    """
    May it hear of an event of this team? Of the whole machine's, which have no team, a repository's plugin hears those
    that are about its own place.
    """
    if team:
        return may_see(scope, team, workplaces)
    return scope.repo is None or about == scope.place


def _works_in(member: Workplace, repo: str) -> bool:
    folder, inside = member.folder, repo.rstrip("/") + "/"
    return bool(folder) and (folder == repo or folder.startswith(inside) or member.worktree_of == repo)


def names_in(setting: object) -> tuple[str, ...] | None:
    """`teams` of a section: a list, or one name. What is neither names no team: a slip of the pen must not widen."""
    if setting is None:
        return None
    listed = setting if isinstance(setting, list | tuple) else (setting,)
    return tuple(name for name in listed if isinstance(name, str) and name)


def sight_in_words(scope: PluginScope) -> str:
    """For people, before they say yes: what it will see."""
    named = "" if scope.only is None else ", ".join(scope.only) or "none"
    if scope.repo is None:
        return f"it sees these teams alone: {named}" if named else f"it sees {ALL_TEAMS}"
    told = f"it sees the teams of which somebody works in {scope.repo} or a worktree of it, and no others"
    return f"{told}; of these only: {named}" if named else told
