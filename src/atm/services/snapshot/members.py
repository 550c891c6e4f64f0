"""What is known of a member: said in one way by every surface. State and liveness apart, each with source and age."""

from __future__ import annotations

from dataclasses import dataclass

from atm.services.team.activity import activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.domain.team.team import Member, Team
    from atm.services.team.activity import Activity
    from atm.services.team.registry import Registry


@dataclass(frozen=True, slots=True)
class MemberNow:
    """One member at one moment."""

    member: Member
    activity: Activity
    is_lead: bool

    def fields(self) -> dict[str, Plain]:
        """As plain data; ages are seconds."""
        member = self.member
        return {
            "name": member.name,
            "type": member.agent_type or None,
            "model": member.model or None,
            "backend": member.backend or None,
            "cwd": member.cwd or None,
            "kind": member.kind,
            **self.activity.as_fields(),
        }


def member_facts(room: Registry, team: Team, member: Member) -> MemberNow:
    return MemberNow(member, activity(room, team, member), team.is_lead(member.name))


def facts_of_all(room: Registry, team: Team) -> list[MemberNow]:
    return [member_facts(room, team, member) for member in team.members]
