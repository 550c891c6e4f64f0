"""What `atm doctor` finds about teams that are bound to a repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from atm.checkup.services.findings import FIX, NOTE, WARNING, Finding
from atm.core.names import is_claudes_team
from atm.core.plain import counted
from atm.core.untrusted_text import shell_word, shell_words
from atm.team.formats.repository_field import is_strange
from atm.team.rules.repositories import GONE, MOVED, REPLACED
from atm.team.services.belonging import binding_of
from atm.team.services.lifecycle import in_state

if TYPE_CHECKING:
    from atm.team.ports.repositories import Repositories
    from atm.team.rules.repositories import RepositoryBinding
    from atm.team.services.belonging import RepositoryTeams
    from atm.team.services.registry import Registry

    Rebind = Callable[[RepositoryTeams, str], None]


def examine_repositories(
    room: Registry, repositories: Repositories, here: RepositoryTeams | None, rebind: Rebind
) -> Iterator[Finding | str]:
    """Reads only. A binding is changed only to the repository that the user is in."""
    bound = 0
    for team in room.rosters.teams():
        if is_claudes_team(team):
            continue
        stored = binding_of(room, team)
        if stored is None:
            if in_state(room, team, is_strange, False):
                what = f"state.json of team {team} names a repository in a way that cannot be read: it counts for none"
                command = f"atm teams rebind {shell_words(team)}"
                yield Finding("strange-repository", WARNING, what, command, subject=team)
            continue
        bound += 1
        yield from _binding(repositories, here, team, stored, rebind)
    yield f"{counted(bound, 'team is', 'teams are')} bound to a repository" if bound else "no team is bound to one"


def _binding(
    repositories: Repositories, here: RepositoryTeams | None, team: str, stored: RepositoryBinding, rebind: Rebind
) -> Iterator[Finding]:
    there = repositories.look(stored.common_dir)
    if there == stored.place or (there != GONE and there[1] == stored.inode):
        return
    verdict = here.verdict(team) if here is not None else ""
    if here is not None and verdict in (MOVED, REPLACED):
        place = here.here.root or here.here.common_dir
        what = f"the repository of team {team} was at {stored.folder}, and is {place} now"
        yield Finding(
            "moved-repository", WARNING, what, FIX, stored.common_dir, partial(rebind, here, team), subject=team
        )
        return
    what = (
        f"the repository of team {team} is not at {stored.folder} any more"
        if there == GONE
        else f"another repository may be at {stored.folder} than the one of team {team}"
    )
    where = shell_word(stored.folder) if there != GONE else "FOLDER"
    command = f"cd {where} && atm teams rebind {shell_words(team)}"
    yield Finding("lost-repository", NOTE, what, command, stored.common_dir, subject=team)
