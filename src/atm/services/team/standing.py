"""
In whose name a command may act: the process that it runs under has a say beside the roster (D26).

An agent can type `--as human` as easily as its own name. But agents leave the number of their process with every sign
of life, and whatever they start runs under it: a command there is theirs, whatever name it gives. It never gets more
than its own tier by a name. Against a process that leaves the tree on purpose this is no wall; see docs/security.md.
"""

from __future__ import annotations

from atm.domain.errors import NotAllowed
from atm.domain.names import same_name
from atm.domain.team import authority
from atm.domain.team.liveness import ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.domain.team.team import Team
    from atm.services.team.registry import Registry


def is_boss(room: Registry, team: Team, who: str) -> bool:
    """The lead, or a human. Raises NotAllowed if the name is one of these and the process another member's."""
    if not authority.is_boss(team, who):
        return False
    if authority.is_human(team, who):
        check_person(room, f"act as {who}")
    else:
        _check_lead(room, team, who)
    return True


def is_proven_boss(room: Registry, team: Team, who: str) -> bool:
    """The same for whoever only looks: without standing there is less to see, and no error."""
    try:
        return is_boss(room, team, who)
    except NotAllowed:
        return False


def check_person(room: Registry, what: str) -> None:
    """Only a person may do that, so no member's process may stand anywhere above this one."""
    for _, team, member in members_above(room):
        raise NotAllowed(
            f"only a person may {what}, and this runs under the process of {member}@{team}",
            "let a person do it, in a terminal of their own",
        )


def check_member(room: Registry, team: str, who: str, what: str) -> None:
    """Only this member may do that: not in the process of another one."""
    above = list(members_above(room))
    nearest = [(home, member) for pid, home, member in above if pid == above[0][0]]
    if nearest and not any(same_name(home, team) and same_name(member, who) for home, member in nearest):
        home, member = nearest[0]
        raise NotAllowed(
            f"only {who}@{team} may {what}, and this runs under the process of {member}@{home}",
            f"leave it to {who}, or do it in {who}'s own terminal",
        )


def _check_lead(room: Registry, team: Team, who: str) -> None:
    """Agents of one program share a process, and a lead may start its teammates: the nearest process counts."""
    check_member(room, team.name, who, "lead this team")


def members_above(room: Registry) -> Iterator[tuple[int, str, str]]:
    """Agents whose recorded process this one runs under, nearest first: its number, the team, the member."""
    if room.acting_pid is None:
        return
    recorded = _recorded(room)
    for pid in room.presence.ancestors(room.acting_pid) if recorded else []:
        for team, member in recorded.get(pid, ()):
            known = room.rosters.load(team).member(member)
            if known is None or known.kind != authority.HUMAN:
                yield pid, team, member


def _recorded(room: Registry) -> dict[int, list[tuple[str, str]]]:
    """Processes that members named as theirs, of this start of this machine."""
    presence = room.presence
    found: dict[int, list[tuple[str, str]]] = {}
    for team in room.rosters.teams():
        for member in presence.heard_of(team):
            beat = presence.last(team, member)
            if beat is None or beat.state == ENDED or beat.host != presence.host:
                continue
            if beat.pid is not None and beat.boot in ("", presence.boot):
                found.setdefault(beat.pid, []).append((team, member))
            endpoint = room.endpoints.of(team, member)
            if endpoint is not None and endpoint.pane_pid and endpoint.is_on(presence.host, presence.boot):
                found.setdefault(endpoint.pane_pid, []).append((team, member))
    return found
