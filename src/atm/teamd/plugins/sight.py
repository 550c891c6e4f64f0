"""
The fence around a plugin: the rule of `plugins.rules.sight` over rosters as they are now.

Rosters change while plugins run, so each question reads the roster again, which costs one `stat` while it is the same
(0033). Where a folder really lies is remembered for a few seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_words
from atm.git.adapters.worktrees import worktree_of
from atm.plugins.rules.sight import PluginScope, Workplace, may_hear, may_see, names_in
from atm.team.ports.rosters import Rosters
from atm.team.rules.team import Team
from atm.teamd.plugins.api import PluginError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.events.rules import TeamEvent

REMEMBERED_FOR = 10.0
"""Seconds. Folders rarely become links or worktrees while somebody works in them."""

MOST_REMEMBERED = 10_000

BACKEND = "plugin:"


class Workplaces:
    """Who works where, by the rosters."""

    def __init__(self, rosters: Rosters, monotonic: Callable[[], float]) -> None:
        self.rosters = rosters
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, str, str]] = {}

    def of(self, team: str) -> tuple[Workplace, ...]:
        """Raises AtmError for a team that is not there or cannot be read."""
        return self.of_roster(self.rosters.load(team))

    def of_roster(self, roster: Team) -> tuple[Workplace, ...]:
        """Each workplace once, however many share it."""
        found = {(member.cwd, _player(member.backend)) for member in roster.members if member.cwd}
        return tuple(Workplace(*self._real(cwd), played_by) for cwd, played_by in found)

    def _real(self, cwd: str) -> tuple[str, str]:
        now = self._monotonic()
        known = self._known.get(cwd)
        if known is None or now - known[0] > REMEMBERED_FOR:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[cwd] = (now, *_look(cwd))
        return known[1:]


def _player(backend: str) -> str:
    return backend.removeprefix(BACKEND) if backend.startswith(BACKEND) else ""


def _look(cwd: str) -> tuple[str, str]:
    """What is no absolute path says nothing: it would be taken from wherever the daemon was started."""
    try:
        return (real_path(cwd), worktree_of(cwd)) if os.path.isabs(cwd) else ("", "")
    except (OSError, ValueError):
        return "", ""


def real_path(path: str) -> str:
    return os.path.realpath(path).replace(os.sep, "/")


def scope_of(plugin: str, repo: str | None, config: Mapping[str, object]) -> PluginScope:
    """What a plugin with this section may see in this place."""
    only = names_in(config.get("teams"))
    return PluginScope(plugin, only=only) if repo is None else PluginScope(plugin, repo, real_path(repo), only)


class Fence:
    """What one plugin may see."""

    def __init__(self, scope: PluginScope, workplaces: Workplaces) -> None:
        self.scope = scope
        self._workplaces = workplaces

    def sees(self, team: str) -> bool:
        """By a name in any case. A team that is not there, or cannot be read, is nobody's."""
        if self.scope.is_everything:
            return True
        if self.scope.repo is None:
            return may_see(self.scope, team, ())
        try:
            spelled = self._workplaces.rosters.find(team)
            return spelled is not None and may_see(self.scope, spelled, self._workplaces.of(spelled))
        except AtmError:
            return False

    def hears(self, event: TeamEvent) -> bool:
        if event.team:
            return self.sees(event.team)
        return may_hear(self.scope, "", event.detail.get("place"), ())

    def teams(self) -> list[str]:
        """Those that it may see."""
        return [team for team in self._workplaces.rosters.teams() if self.sees(team)]

    def check(self, team: str) -> None:
        """Raises PluginError; the same one for a team that is there and for one that is not."""
        if not self.sees(team):
            raise refusal(self.scope, team)


def refusal(scope: PluginScope, team: str) -> PluginError:
    whose = f"the plugin {scope.plugin!r} of {scope.place}" if scope.repo else f"the plugin {scope.plugin!r}"
    why = f"teams of which somebody works in {scope.repo}" if scope.repo else "teams that its section names"
    return PluginError(
        f"{whose} may not see team {team[:80]!r}: it sees {why}",
        f"see `atm plugins info {shell_words(scope.plugin)}`; what the user's own settings enable sees all teams",
    )
