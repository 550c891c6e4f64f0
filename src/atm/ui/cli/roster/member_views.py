"""A member as people and programs see it."""

from __future__ import annotations

from atm.board.rules.time_limits import standing_in_words
from atm.core.errors import UsageError
from atm.core.untrusted_text import one_line
from atm.snapshot.services.members import member_facts, progress_fields
from atm.team.services.registry import find_team
from atm.ui.cli.arguments import Args
from atm.vendors.dialogs import asked_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.crew.rules.agents import AgentRecord
    from atm.team.rules.team import Member, Team
    from atm.ui.cli.session import Session


def team_meant(args: Args, session: Session) -> Team:
    from atm.core.names import check_known_name, same_name

    named, flagged = args.text("team_name"), args.text("team")
    if named and flagged and not same_name(named, flagged):
        raise UsageError(f"{named!r} and --team {flagged!r} are two teams", "leave one of them out")
    return find_team(session.room, check_known_name(named, "team") if named else session.team(args))


def agent_record(session: Session, team: Team, member: Member) -> AgentRecord | None:
    """What atm knows of a member because it started it."""
    from atm.wiring.crew import build_agent_records

    return build_agent_records(session.layout).read(team.name, member.name)


def progress_lines(session: Session, team: Team) -> list[str]:
    """A line for each agent that works on a task: since when, its limit, and its silence."""
    now, lines = session.room.clock.now(), []
    for member in team.members:
        record = agent_record(session, team, member)
        if record is None or not record.task_since or record.is_over:
            continue
        silent = now - record.output_at if record.output_at else None
        said = standing_in_words(now - record.task_since, record.task_limit, silent)
        task = f"#{one_line(record.task)} for " if record.task else ""
        lines.append(f"  {one_line(member.name)}: {task}{said}")
    return lines


def member_json(session: Session, team: Team, member: Member, asks: str = "", suspended: str = "") -> dict[str, object]:
    """
    The same fields as in the snapshot, as far as the roster and the agent's record know them. `suspended`: the command
    that continues its processes, if a signal has stopped them.
    """
    facts = member_facts(session.room, team, member).fields()
    progress = progress_fields(agent_record(session, team, member))
    return {**facts, **progress, "asks": asks or None, "continue_command": suspended or None}


def questions_of(session: Session, team: Team) -> dict[str, str]:
    """What the programs of members ask a person, by member. Only agents that atm started can be looked at."""
    from atm.wiring.crew import build_agent_records, question_of

    records = build_agent_records(session.layout)
    found = {name: question_of(records.read(team.name, name)) for name in team.names}
    return {name: asks for name, asks in found.items() if asks}


def suspended_of(session: Session, team: Team) -> dict[str, str]:
    """Agents whose processes a signal has stopped, each with the command that continues it."""
    from atm.wiring.crew import build_agent_records, suspended_in

    records = build_agent_records(session.layout)
    return suspended_in([one for name in team.names if (one := records.read(team.name, name)) is not None])


def suspended_lines(suspended: Mapping[str, str]) -> list[str]:
    return [
        f"{one_line(name)} is suspended: a signal has stopped it (Ctrl-Z); continue it: {command}"
        for name, command in suspended.items()
    ]


def question_lines(team: Team, questions: Mapping[str, str]) -> list[str]:
    """One line for each agent that waits for a person, with the command that shows its window."""
    from atm.ui.views.team.attention import answer_command

    return [
        f"{one_line(name)} waits for you: {asked_in_words(one_line(asks))}; {answer_command(name, team.name)}"
        for name, asks in questions.items()
    ]
