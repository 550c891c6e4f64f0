"""Which repository a team belongs to, and which team a repository has."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.core.untrusted_text import shell_word, shell_words
from atm.core.work_errors import WrongRepository
from atm.team.formats.lead_fields import decode_lead
from atm.team.formats.repository_field import decode_repository, is_unbound_by_hand, with_repository
from atm.team.formats.team_state import new_state
from atm.team.rules.lifecycle import ACTIVE
from atm.team.rules.repositories import (
    GONE,
    MOVED,
    OTHER,
    REPLACED,
    SAME,
    History,
    judge,
    name_of_repository,
    numbered,
    rank,
    refreshed,
)
from atm.team.services.lifecycle import in_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from atm.team.ports.repositories import Repositories
    from atm.team.rules.repositories import RepositoryBinding, RepositoryHere
    from atm.team.services.registry import Registry

    WorkFolders = Callable[[str], Iterable[str]]
    """Folders in which a team's runs and agents worked, as they recorded them."""

FREE = "free"
"""The verdict on a team that is bound to no repository, and may be bound to this one."""


def binding_of(room: Registry, team: str) -> RepositoryBinding | None:
    return None if is_claudes_team(team) else in_state(room, team, decode_repository, None)


def may_work_anywhere(room: Registry, team: str) -> bool:
    """Teams of Claude Code, and teams that a person made by hand, are bound to no repository."""
    return is_claudes_team(team) or in_state(room, team, is_unbound_by_hand, False)


class RepositoryTeams:
    """Teams, as seen from one repository."""

    __slots__ = ("_recorded", "_repositories", "_room", "here", "history")

    def __init__(self, room: Registry, repositories: Repositories, here: RepositoryHere, recorded: WorkFolders) -> None:
        self._room = room
        self._repositories = repositories
        self._recorded = recorded
        self.here = here
        common = here.common_dir
        self.history = History(
            lambda: repositories.root_commit(common),
            lambda: repositories.head_commit(common),
            lambda commit: repositories.find_commit(common, commit),
        )

    @property
    def binding(self) -> RepositoryBinding:
        """The one that a team gets that is made here."""
        return self.here.bound(self.history.root_commit, self.history.head_commit)

    def verdict(self, team: str) -> str:
        """What this repository is to a team: SAME, MOVED, REPLACED, OTHER, or FREE."""
        if is_claudes_team(team):
            return FREE
        stored = binding_of(self._room, team)
        if stored is None:
            return FREE if self._contradiction(team) is None else OTHER
        return judge(stored, self.here, self.history, self._repositories.look)

    def home_of(self, team: str) -> str:
        """The folder of the repository that a team belongs to, for a message."""
        stored = binding_of(self._room, team)
        return stored.folder if stored is not None else self._contradiction(team) or ""

    def _contradiction(self, team: str) -> str | None:
        """
        A folder of another repository, if an unbound team recorded that one and not this one.

        A folder that is gone, or in no repository, says nothing.
        """
        found: str | None = None
        for folder in self._folders_of(team):
            other = self._repositories.around(folder) if self._repositories.look(folder) != GONE else None
            if other is not None and other.place == self.here.place:
                return None
            if other is not None and found is None:
                found = other.root or other.common_dir
        return found

    def _has_worked_here(self, team: str) -> bool:
        around = (self._repositories.around(folder) for folder in self._folders_of(team))
        return any(one is not None and one.place == self.here.place for one in around)

    def _folders_of(self, team: str) -> list[str]:
        """A team that was made by hand is where its work is, not where its members happened to be entered."""
        found = [*self._recorded(team)]
        if not may_work_anywhere(self._room, team):
            lead = in_state(self._room, team, decode_lead, None)
            found += [lead.folder] if lead is not None else []
            try:
                found += [member.cwd for member in self._room.rosters.load(team).members]
            except AtmError:
                found += []  # the caller is told when the team is used
        return [*dict.fromkeys(folder for folder in found if folder.startswith("/"))]

    def choose(self, bases: Sequence[str], *, is_top: bool = True) -> ChosenTeam:
        """
        The team of this repository: one that is bound to it, or else the first free name.

        Of several teams that are bound here those count that are named after one of `bases`, or after their recorded
        folder. A single one counts whatever its name is, but for a subfolder (not `is_top`), which may have its own.
        """
        found: list[tuple[bool, tuple[int, int], str, str]] = []
        others: list[tuple[str, str]] = []
        for name in self._room.rosters.teams():
            stored = binding_of(self._room, name)
            verdict = self.verdict(name) if stored is not None else OTHER
            if stored is None or verdict == OTHER:
                continue
            place = rank(name, [*bases, name_of_repository(stored.common_dir)])
            if place is None:
                others.append((name, verdict))
            else:
                found.append((verdict != SAME, place, name, verdict))
        if found:
            _, _, name, verdict = min(found)
            return self._chosen(name, verdict, bases[0])
        if is_top and len(others) == 1:
            return self._chosen(*others[0], bases[0])
        for name in numbered(bases[0]):
            team = self._room.rosters.find(name)
            if team is None:
                if self._is_promised(name):
                    continue
                return self._chosen(name, FREE, bases[0], is_new=True)
            is_first = same_name(name, bases[0])
            if not is_claudes_team(team) and binding_of(self._room, team) is None:
                fits = self.verdict(team) == FREE if is_first else self._has_worked_here(team)
                if fits:
                    return self._chosen(team, FREE, bases[0])
        raise WrongRepository(f"every name like {bases[0]!r} belongs to another repository", "name one: --team NAME")

    def _is_promised(self, name: str) -> bool:
        """Is a team of that name just being made for another repository?"""
        return binding_of(self._room, name) is not None and self.verdict(name) == OTHER

    def _chosen(self, team: str, verdict: str, base: str, *, is_new: bool = False) -> ChosenTeam:
        stored = binding_of(self._room, team)
        taken = self._room.rosters.find(base) or base
        of = self.home_of(taken) if not same_name(team, base) else ""
        former = stored.folder if stored is not None else ""
        return ChosenTeam(team, verdict, is_new=is_new, taken=taken if of else "", owner=of, former=former)

    def check(self, team: str) -> str:
        """The verdict on a team that the user named. Raises WrongRepository."""
        verdict = self.verdict(team)
        if verdict == OTHER:
            raise wrong_repository(team, self.home_of(team), self.here)
        return verdict

    def bind(self, team: str) -> bool:
        """
        Bind a team to this repository, or note what became known of it since. False if nothing had to be written.

        Decided again under the lock of the state. Raises WrongRepository if another process was first.
        """
        if is_claudes_team(team):
            return False
        is_written = False

        def change(data: bytes | None) -> bytes | None:
            nonlocal is_written
            former = data if data is not None else new_state(team, ACTIVE, "", "")
            stored = decode_repository(former)
            if stored is None:
                made: RepositoryBinding | None = self.binding
            else:
                verdict = judge(stored, self.here, self.history, self._repositories.look)
                if verdict == OTHER:
                    raise wrong_repository(team, stored.folder, self.here)
                made = refreshed(stored, self.here, self.history) if verdict == SAME else self.binding
            is_written = made is not None
            return with_repository(former, made) if made is not None else None

        self._room.states.change(team, change)
        return is_written

    def is_gone(self, stored: RepositoryBinding) -> bool:
        """Is there no repository any more at the path of a binding?"""
        return self._repositories.look(stored.common_dir) == GONE

    def rebind(self, team: str) -> RepositoryBinding | None:
        """Bind a team to this repository whatever it was bound to, as a person says. The former binding."""
        former: RepositoryBinding | None = None

        def change(data: bytes | None) -> bytes:
            nonlocal former
            content = data if data is not None else new_state(team, ACTIVE, "", "")
            former = decode_repository(content)
            return with_repository(content, self.binding)

        self._room.states.change(team, change)
        return former


class ChosenTeam:
    """A team for a repository, and why it is that one."""

    __slots__ = ("former", "is_new", "owner", "taken", "team", "verdict")

    def __init__(self, team: str, verdict: str, *, is_new: bool, taken: str, owner: str, former: str) -> None:
        self.team = team
        self.verdict = verdict
        self.is_new = is_new
        self.taken = taken
        """The team that has the folder's name, if it belongs to another repository."""
        self.owner = owner
        """The folder of that repository."""
        self.former = former
        """The folder that the team is bound to so far."""


def wrong_repository(team: str, owner: str, here: RepositoryHere) -> WrongRepository:
    place = here.root or here.common_dir
    return WrongRepository(
        f"team {team!r} belongs to the repository {owner}, and this is {place}",
        f"use another --team, or go there: cd {shell_word(owner)}; "
        f"if this is that repository: atm teams rebind {shell_words(team)}",
        place,
    )


def words_about(chosen: ChosenTeam, base: str, root: str) -> str:
    """One line about a team that is not simply the one of the folder's name; empty if there is nothing to say."""
    if chosen.verdict in (MOVED, REPLACED):
        return words_about_move(chosen.team, chosen.verdict, chosen.former, root)
    if chosen.taken:
        return f"team {chosen.taken} belongs to the repository {chosen.owner}; the team here is {chosen.team}"
    return "" if same_name(chosen.team, base) else f"the team of this repository is {chosen.team}"


def words_about_move(team: str, verdict: str, former: str, root: str) -> str:
    if verdict == REPLACED:
        return f"the repository {root} was replaced by one with the same root commit; team {team} is bound to it"
    return f"the repository of team {team} moved from {former} to {root}"
