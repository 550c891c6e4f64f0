"""
In whose name a command may act: the process that it runs under has a say beside the roster (D26).

An agent can type `--as human` as easily as its own name. But the processes of agents are known, by their hooks, their
MCP server or their own word, and whatever they start runs under them: a command there is theirs, whatever name it
gives. It never gets more than its own tier by a name. Against a process that leaves the tree on purpose this is no
wall; see docs/security.md.
"""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchTeam, NotAllowed
from atm.core.names import same_name
from atm.team.rules.agent_environment import agent_in
from atm.team.rules.agent_processes import ProcessOwner, may_join, nearest_agent, owner_in
from atm.team.rules.team import HUMAN, is_human
from atm.team.rules.team import is_boss as is_named_boss
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.team.rules.team import Member, Team
    from atm.team.services.registry import Registry


def is_boss(room: Registry, team: Team, who: str) -> bool:
    """The lead, or a human. Raises NotAllowed if the name is one of these and the process another member's."""
    if not is_named_boss(team, who):
        return False
    if is_human(team, who):
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
    """Only a person may do that: not a process of an agent, by its descent or by its environment."""
    why = why_no_person(room)
    if why:
        raise NotAllowed(f"only a person may {what}, and {why}", "let a person do it, in a terminal of their own")


def is_person(room: Registry) -> bool:
    """Is the acting process a person's?"""
    return not why_no_person(room)


def why_no_person(room: Registry) -> str:
    """Why the acting process is an agent's; empty for a person. Every verb that is for people asks here."""
    for _, owner in members_above(room):
        return f"this runs under the process of {_named(owner)}"
    if room.acting_pid is None:
        return ""
    agent = agent_in(room.processes.environment(room.acting_pid), lambda team, name: _is_agent(room, team, name))
    return f"its environment names the agent {agent}" if agent else ""


def _is_agent(room: Registry, team: str, name: str) -> bool:
    """Is this a member who is not a person? A name that is a person's in another team is a person's."""
    found = []
    for one in [team] if team else room.rosters.teams():
        try:
            known = find_team(room, one)
        except AtmError:
            continue
        if known.member(name) is not None or same_name(name, known.lead):
            found.append(is_human(known, name))
    return bool(found) and not any(found)


def check_member(room: Registry, team: str, who: str, what: str) -> None:
    """Only this member may do that: not in the process of another one. The nearest process counts."""
    above = list(members_above(room))
    nearest = [owner for pid, owner in above if pid == above[0][0]]
    if nearest and not any(_is_now(room, owner, team, who) for owner in nearest):
        raise NotAllowed(
            f"only {who}@{team} may {what}, and this runs under the process of {_named(nearest[0])}",
            f"leave it to {who}, or do it in {who}'s own terminal",
        )


def check_speaker(room: Registry, team: str, who: str) -> None:
    """
    In the process of an agent only that agent speaks and acts, whatever name a command was given.

    A name that means nothing, such as that of a script, may be used anywhere: no rights come with it. Without a `team`
    the teams of that agent are meant.
    """
    above = list(_recorded_above(room))
    nearest = [owner for pid, owner in above if pid == above[0][0]]
    homes = [team] if team else list(dict.fromkeys(owner.team for owner in nearest))
    if any(_is_now(room, owner, home, who) for owner in nearest for home in homes):
        return
    if any(_means_something(room, home, who) for home in homes if nearest):
        raise NotAllowed(
            f"this runs under the process of {_named(nearest[0])}, which does not speak for {who}",
            f"name yourself, {nearest[0].member} (`--as`, for mail `--from`), or leave it to {who}",
        )


def check_roster(room: Registry, team: str, what: str, *, about: str = "") -> None:
    """Who belongs to a team is decided by people and its lead; a member may leave (`about` itself)."""
    above = list(members_above(room))
    nearest = [owner for pid, owner in above if pid == above[0][0]]
    if not nearest:
        return
    try:
        allowed = [about, find_team(room, team).lead]
    except NoSuchTeam:
        return  # whoever carries it out says so
    if not any(_is_now(room, owner, team, name) for owner in nearest for name in allowed if name):
        raise NotAllowed(
            f"only a person or the lead may {what}, and this runs under the process of {_named(nearest[0])}",
            "ask the lead",
        )


def _check_lead(room: Registry, team: Team, who: str) -> None:
    """Agents of one program share a process, and a lead may start its teammates: the nearest process counts."""
    check_member(room, team.name, who, "lead this team")


def _named(owner: ProcessOwner) -> str:
    return f"{owner.member}@{owner.team}"


def _is_now(room: Registry, owner: ProcessOwner, team: str, who: str) -> bool:
    """Is this process that member's, and the member still the one that it was?"""
    if not (same_name(owner.team, team) and same_name(owner.member, who)):
        return False
    known = _member(room, owner.team, owner.member)
    return known is None or owner.joined_at is None or known.joined_at == owner.joined_at


def _means_something(room: Registry, team: str, who: str) -> bool:
    if same_name(who, HUMAN):
        return True
    try:
        found = find_team(room, team)
    except AtmError:
        return False
    return found.member(who) is not None or same_name(who, found.lead)


def _member(room: Registry, team: str, name: str) -> Member | None:
    try:
        return room.rosters.load(team).member(name)
    except AtmError:  # it is gone, or cannot be read now: the process is known all the same
        return None


# Whose this process is.


def members_above(room: Registry) -> Iterator[tuple[int, ProcessOwner]]:
    """Agents whose process this one runs under, nearest first: by what they left, then by the pane they run in."""
    if room.acting_pid is None:
        return
    found = list(_recorded_above(room))
    yield from found
    panes = _panes(room)
    for pid in room.processes.ancestors(room.acting_pid) if panes else []:
        for owner in panes.get(pid, ()):
            known = _member(room, owner.team, owner.member)
            if (known is None or known.kind != HUMAN) and (pid, owner) not in found:
                yield pid, owner


def teams_above(room: Registry) -> list[str]:
    """The teams of the nearest agent that this process runs under."""
    above = list(_recorded_above(room))
    return list(dict.fromkeys(owner.team for pid, owner in above if pid == above[0][0]))


def _recorded_above(room: Registry) -> Iterator[tuple[int, ProcessOwner]]:
    for pid in room.processes.ancestors(room.acting_pid) if room.acting_pid is not None else []:
        for owner in room.processes.owners(pid):
            yield pid, owner


def _panes(room: Registry) -> dict[int, list[ProcessOwner]]:
    """The first processes of panes in which agents run now."""
    presence = room.presence
    found: dict[int, list[ProcessOwner]] = {}
    for team in room.rosters.teams():
        for member in room.endpoints.known(team):
            endpoint = room.endpoints.of(team, member)
            if endpoint is not None and endpoint.pane_pid and endpoint.is_on(presence.host, presence.boot):
                found.setdefault(endpoint.pane_pid, []).append(ProcessOwner(team, member, None))
    return found


# Recording.


def record_agent(room: Registry, team: Team, member: str, caller: int) -> int | None:
    """A hook, or a server that an agent started, has come: the agent's process is that member's. Its number, if any."""
    ancestors = room.processes.ancestors(caller)[1:]
    pid = nearest_agent((pid, room.processes.command(pid)) for pid in ancestors)
    if pid is None or is_human(team, member):  # a person is there or not, whatever program ends
        return None
    return pid if _record(room, team, member, pid) else None


def record_named(room: Registry, team: Team, member: str, pid: int) -> None:
    """
    A command says which process is the member's: one that it runs under, or beside.

    Not one further up than what is known, and no other's: a person's own terminal would be taken for an agent.
    """
    mine = room.processes.ancestors(room.acting_pid) if room.acting_pid is not None else []
    is_near = pid in mine[1:] or (len(mine) > 1 and mine[1] in room.processes.ancestors(pid))
    known = [own for own, owner in _recorded_above(room) if same_name(owner.member, member)]
    is_wider = bool(known) and pid in mine and mine.index(pid) > mine.index(known[0])
    if pid <= 1 or not is_near or is_wider or not _record(room, team, member, pid):
        raise NotAllowed(
            f"process {pid} is not known to be {member}'s",
            "name the process that this command runs under, such as $$, or one that was started beside it",
        )


def _record(room: Registry, team: Team, member: str, pid: int) -> bool:
    known = team.member(member)
    if known is not None and known.kind == HUMAN:
        return True  # a person's terminals are the person's
    above = [owner for one in room.processes.ancestors(pid) for owner in room.processes.owners(one)]
    if not may_join(above, team, member):
        return False
    room.processes.record(pid, owner_in(team, member))
    return True
