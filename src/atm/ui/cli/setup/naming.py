"""
What a setting names must be there: a slip would otherwise fail every command that is typed afterwards, or do nothing.

Only for a person's own file. A repository's is for everybody's machine, and names what others have.
"""

from __future__ import annotations

from atm.core.errors import AtmError, BadSetting
from atm.core.names import check_new_name, nearest_name, parse_address, same_name
from atm.core.untrusted_text import shell_words
from atm.team.rules.team import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session

NOBODY = "none"


def check_named(session: Session, key: str, value: object, home: str | None) -> None:
    """Raises, with the name that is near. `home` is the team that is meant by default, where that can be told."""
    section, _, rest = key.partition(".")
    if key == "core.default_team" and value:
        session.room.rosters.load(str(value))  # says that there is none, and which is near
    elif key == "core.identity":
        _check_member(session, str(value), home, key)
    elif section == "aliases":
        _check_alias(session, rest, str(value), home)
    elif section == "plugins":
        from atm.teamd.plugins.discovery import check_installed

        check_installed(rest.partition(".")[0])
    elif key == "merges.resolver" and value not in ("", NOBODY):
        from atm.wiring.crew import build_runtimes

        _check_is_one_of(str(value), [*build_runtimes(session.settings), NOBODY], f"{key}: there is no runtime")
    elif key == "crew.require_tools" and value:
        from atm.crew.services.equipment import TOOLS

        _check_is_one_of(str(value), TOOLS, f"{key}: there is no tool")


def _check_member(session: Session, name: str, home: str | None, key: str) -> None:
    """In the team that is meant, else in any. Before there is a team, everybody may say who they will be."""
    teams = _teams(session, home)
    if not teams or same_name(name, HUMAN) or any(team.member(name) is not None for team in teams):
        return
    near = nearest_name(name, [one for team in teams for one in team.names])
    what = f"team {teams[0].name!r} has no member" if len(teams) == 1 else "no team has a member"
    enter = f"enter it first: atm teams add-member {shell_words(teams[0].name, name)}"
    raise BadSetting(f"{key}: {what} {name!r}", f"did you mean {near!r}? Else {enter}" if near else enter)


def _check_alias(session: Session, name: str, meant: str, home: str | None) -> None:
    check_new_name(name, "alias")
    agent, team = parse_address(meant)
    if team is not None:
        session.room.rosters.load(team)
    _check_member(session, agent, team or home, f"aliases.{name}")


def _teams(session: Session, home: str | None) -> list[Team]:
    """Those that can be read."""
    rosters, found = session.room.rosters, []
    for name in [home] if home is not None and rosters.find(home) is not None else rosters.teams():
        try:
            found.append(rosters.load(name))
        except AtmError:
            continue
    return found


def _check_is_one_of(value: str, known: Iterable[str], what: str) -> None:
    there = [*known]
    if value not in there:
        near = nearest_name(value, there)
        raise BadSetting(f"{what} {value!r}", f"did you mean {near!r}?" if near else f"known: {', '.join(there)}")
