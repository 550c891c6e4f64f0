"""What is known of a member: said in one way by every surface. State and liveness apart, each with source and age."""

from __future__ import annotations

from dataclasses import dataclass

from atm.crew.services.crewroom import host_lives
from atm.files.formats.times import to_iso
from atm.runs.rules.standing import SUSPENDED, continue_command
from atm.team.services.activity import activity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atm.core.plain import Plain
    from atm.crew.ports.agents import ProcessTable
    from atm.crew.rules.agents import AgentRecord
    from atm.team.rules.team import Member, Team
    from atm.team.services.activity import Activity
    from atm.team.services.registry import Registry


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


def progress_fields(record: AgentRecord | None) -> dict[str, Plain]:
    """
    Since when an agent works on its task, when it last wrote something, and the seconds that it may take (0: no limit).
    All unknown for a member that atm has not started.
    """
    if record is None or not record.task_since or record.is_over:
        return {"task_since": None, "output_at": None, "task_limit": None}
    return {
        "task_since": to_iso(record.task_since),
        "output_at": to_iso(record.output_at) if record.output_at else None,
        "task_limit": record.task_limit,
    }


def suspended_agents(table: ProcessTable, records: Sequence[AgentRecord]) -> dict[str, str]:
    """Agents whose host or program a signal has stopped (Ctrl-Z), each with the command that continues it."""
    processes = {one.member: [pid for pid in (one.pid, one.program_pid) if pid] for one in records if not one.is_over}
    stopped = table.suspended([pid for pids in processes.values() for pid in pids])
    if not stopped:
        return {}
    living = {one.member for one in records if host_lives(table, one)}
    return {
        name: continue_command(*found)
        for name, pids in processes.items()
        if name in living and (found := [pid for pid in pids if pid in stopped])
    }


def agent_fields(record: AgentRecord, suspended: Mapping[str, str]) -> dict[str, Plain]:
    """What atm knows of an agent because it started it. `suspended`: of `suspended_agents`."""
    command = suspended.get(record.member, "")
    return {**record.facts(), **({"state": SUSPENDED} if command else {}), "continue_command": command or None}


def member_facts(room: Registry, team: Team, member: Member) -> MemberNow:
    return MemberNow(member, activity(room, team, member), team.is_lead(member.name))


def facts_of_all(room: Registry, team: Team) -> list[MemberNow]:
    return [member_facts(room, team, member) for member in team.members]
