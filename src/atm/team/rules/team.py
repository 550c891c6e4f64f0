"""
Teams and their members.

State and liveness are two things and either may be unknown: `isActive` in Claude Code's file says whether a
member was busy when Claude Code or a command last wrote that file, not whether it is alive (G10).
"""

from __future__ import annotations

from atm.core.errors import BadName, NoSuchMember, TeamCompleted
from atm.core.names import find_name, is_claudes_team, same_name

LEAD_NAME = "team-lead"
LEAD = "lead"
"""As an address: the lead of the team, whatever their name is."""

EVERYBODY = "*"
"""As an address: every other member of the team."""

CLAUDE_BACKENDS = ("claude", "claude-code", "in-process", "iterm2")
"""Backends whose inbox Claude Code itself reads and prunes."""


AGENT, HUMAN, SYNTHETIC = "agent", "human", "synthetic"
"""Kinds of members. Only agents leave heartbeats; synthetic ones are played by a plugin. `human` is also who asks when
no name is given: a person at a terminal."""

DEFAULT_TYPE = "general-purpose"


class Member:
    """One member: a newcomer who joins, or an entry of `members[]` with the raw JSON it came from."""

    __slots__ = (
        "agent_type",
        "backend",
        "color",
        "cwd",
        "is_active",
        "joined_at",
        "model",
        "name",
        "pane_id",
        "quantum",
        "raw",
        "session_id",
    )

    def __init__(
        self,
        name: str,
        *,
        agent_type: str = "",
        model: str = "",
        cwd: str = "",
        backend: str = "",
        is_active: bool | None = None,
        joined_at: float | None = None,
        pane_id: str = "",
        session_id: str = "",
        color: str = "",
        quantum: str = "",
        raw: str = "",
    ) -> None:
        self.name = name
        self.quantum = quantum
        """The part of the work that is its own (seed 003): `engine`, `schema`."""
        self.agent_type = agent_type
        self.model = model
        self.cwd = cwd
        self.backend = backend
        self.is_active = is_active
        self.joined_at = joined_at
        self.pane_id = pane_id
        self.session_id = session_id
        self.color = color
        self.raw = raw

    @property
    def kind(self) -> str:
        if self.backend == HUMAN or self.backend.startswith("human:"):
            return HUMAN
        if self.backend.startswith("plugin:") or self.pane_id == SYNTHETIC:
            return SYNTHETIC
        return AGENT

    @property
    def state(self) -> str:
        if self.is_active is None:
            return "unknown"
        return "active" if self.is_active else "inactive"


class Team:
    """A roster as it was read, with the time the file carried."""

    __slots__ = (
        "completed",
        "created_at",
        "description",
        "lead",
        "lead_is_away",
        "members",
        "name",
        "read_from",
        "written_at",
    )

    def __init__(
        self,
        *,
        name: str,
        members: list[Member],
        created_at: float | None = None,
        description: str = "",
        lead: str = LEAD_NAME,
        read_from: str = "",
        written_at: float | None = None,
    ) -> None:
        self.name = name
        self.members = members
        self.created_at = created_at
        self.description = description
        self.lead = lead
        self.read_from = read_from
        self.written_at = written_at
        self.completed = False
        """Has it been marked as done? Then nothing in it may change; see `check_open`."""
        self.lead_is_away = False
        """Has a daemon marked it so? Then what its members say to one another waits."""

    def copy(self) -> Team:
        """As it was read. Members are never changed, so they are shared."""
        return Team(
            name=self.name,
            members=[*self.members],
            created_at=self.created_at,
            description=self.description,
            lead=self.lead,
        )

    def is_lead(self, name: str) -> bool:
        return same_name(name, self.lead)

    def addressee(self, name: str) -> str:
        """Who is meant by an address: `lead` is the lead, unless a member is called that."""
        return self.lead if same_name(name, LEAD) and self.member(name) is None else name

    def doer(self, name: str) -> str:
        """The same where work is given to somebody. Raises BadName for `*`: what is everybody's is done by nobody."""
        if name == EVERYBODY:
            raise BadName(f"{EVERYBODY!r} is everybody, and this is for one member", "name one")
        return self.addressee(name)

    def member(self, name: str) -> Member | None:
        spelled = find_name(name, self.names)
        return next((member for member in self.members if member.name == spelled), None)

    def required(self, name: str, hint: str = "") -> Member:
        """The member that somebody named. Raises NoSuchMember."""
        member = self.member(name)
        if member is None:
            raise self.lacks(name, hint)
        return member

    def lacks(self, name: str, hint: str = "") -> NoSuchMember:
        """The error about a name that is no member's. It tells who is there, unless there is a better hint."""
        hint = hint or f"members: {', '.join(self.names[:10])}"
        return NoSuchMember(f"team {self.name!r} has no member {name!r}", hint, self.read_from)

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]


def check_open(team: Team) -> Team:
    """Every writer passes here: a completed team is immutable. Reading it is always allowed."""
    if team.completed:
        raise TeamCompleted(
            f"team {team.name!r} is complete and cannot be changed",
            "read it as long as you like; make a new team for new work",
            team.read_from,
        )
    return team


def is_somebody_else(at: float, joined_at: float | None, now: float) -> bool:
    """Whoever joined after that moment only bears the name of who left it. A join in the future tells nothing."""
    return joined_at is not None and at < joined_at <= now


def appears_offline(member: Member | None) -> bool:
    """Seed 001 section 4.2: not in the roster, or `isActive: false`. Anything else is not known to be away."""
    return member is None or member.is_active is False


def nobody_polls_for(team: Team, name: str) -> bool:
    """
    Is this the lead of a session of Claude Code that has no teammate now?

    Claude Code looks into its lead's inbox only while it has one: before the first and after the last, mail lies there.
    """
    if not is_claudes_team(team.name) or not team.is_lead(name):
        return False
    return all(team.is_lead(member.name) or member.is_active is False for member in team.members)


def claude_reads_inbox(member: Member | None, in_claudes_team: bool) -> bool:
    """Does Claude Code itself take rows out of this member's inbox?"""
    return in_claudes_team or (member is not None and member.backend in CLAUDE_BACKENDS)


def is_boss(team: Team, who: str) -> bool:
    """The lead, or a human. Agents are neither."""
    return same_name(who, team.lead) or is_human(team, who)


def is_human(team: Team, who: str) -> bool:
    """A member whom the roster calls human; or the person at the terminal, unless an agent took that name."""
    member = team.member(who)
    return same_name(who, HUMAN) if member is None else member.kind == HUMAN
