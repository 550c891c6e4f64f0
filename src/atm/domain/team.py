"""
Teams and their members, as far as mail needs them.

State and liveness are two things and either may be unknown: `isActive` in Claude Code's file says whether a
member was busy when somebody last wrote that file, not whether it is alive (G10).
"""

from __future__ import annotations

from atm.domain.names import find_name

LEAD_NAME = "team-lead"

CLAUDE_BACKENDS = ("claude", "claude-code", "in-process", "iterm2")
"""Backends whose inbox Claude Code itself reads and prunes."""


class Member:
    """One entry of `members[]`, with the raw JSON it came from."""

    __slots__ = ("agent_type", "backend", "cwd", "is_active", "joined_at", "model", "name", "raw")

    def __init__(
        self,
        *,
        name: str,
        agent_type: str = "",
        model: str = "",
        cwd: str = "",
        backend: str = "",
        is_active: bool | None = None,
        joined_at: float | None = None,
        raw: str = "",
    ) -> None:
        self.name = name
        self.agent_type = agent_type
        self.model = model
        self.cwd = cwd
        self.backend = backend
        self.is_active = is_active
        self.joined_at = joined_at
        self.raw = raw

    @property
    def state(self) -> str:
        if self.is_active is None:
            return "unknown"
        return "active" if self.is_active else "inactive"


class Team:
    """A roster as it was read, with the time the file carried."""

    __slots__ = ("created_at", "description", "lead", "members", "name", "read_from", "written_at")

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

    def member(self, name: str) -> Member | None:
        spelled = find_name(name, self.names)
        return next((member for member in self.members if member.name == spelled), None)

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.members]


def appears_offline(member: Member | None) -> bool:
    """Seed 001 section 4.2: not in the roster, or `isActive: false`. Anything else is not known to be away."""
    return member is None or member.is_active is False


def claude_reads_inbox(member: Member | None, in_claudes_team: bool) -> bool:
    """Does Claude Code itself take rows out of this member's inbox?"""
    return in_claudes_team or (member is not None and member.backend in CLAUDE_BACKENDS)
