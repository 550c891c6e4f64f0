"""What a run would do, for eyes and for programs, and a person's yes to it."""

from __future__ import annotations

from atm.board.rules.schedule import overlaps, waves
from atm.board.services.new_tasks import NewTask, commands_in, wishes_of
from atm.core.errors import UsageError
from atm.core.untrusted_text import one_line
from atm.crew.services.equipment import look
from atm.team.rules.team import HUMAN
from atm.team.services.standing import check_person, is_person
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.cli.runs.planned import planned_tasks
from atm.ui.cli.runs.prepared import needs_plan
from atm.ui.views.tables import table
from atm.wiring.crew import ask_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.orders import AgentSeat
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.runs.planned import PlannedTask
    from atm.ui.cli.runs.prepared import Prepared
    from atm.ui.cli.session import Session

NOTHING = 3


def show_dry_run(session: Session, made: Prepared) -> int:
    tasks = planned_tasks(session, made)
    edges = {one.id: one.depends_on for one in tasks}
    meetings = overlaps({one.id: one.files for one in tasks}, edges)
    facts: dict[str, object] = {
        "action": "run",
        "dry_run": True,
        "team": made.team,
        "base": {"rev": made.base, "branch": made.repository.branch or None},
        "into": made.into or None,
        "agents": [_agent_json(made, seat) for seat in made.everybody],
        "agents_reason": made.agents_reason,
        "tasks": [_task_json(one) for one in tasks],
        "waves": waves(edges),
        "overlaps": [{"tasks": ids, "files": paths} for ids, paths in meetings],
        "commands": [
            {"task": one.id, "command": command, "trusted": is_trusted}
            for one in tasks
            for command, is_trusted in one.commands
        ],
        "notes": made.repository.notes,
    }
    session.tell(facts, "\n".join([*_plan_lines(made, tasks), "", "nothing was changed (--dry-run)"]))
    return 0 if tasks or needs_plan(made) else NOTHING


def _task_json(one: PlannedTask) -> dict[str, object]:
    return {
        "id": one.id,
        "subject": one.subject,
        "depends_on": one.depends_on,
        "files": one.files,
        "runtime": one.runtime or None,
    }


def _agent_json(made: Prepared, seat: AgentSeat) -> dict[str, object]:
    crew = made.desk.crew
    found = look(crew.runtimes[seat.runtime], crew.find_program, ask_version, crew.set_up)
    return {
        "name": seat.name,
        "runtime": seat.runtime,
        "program": found.path or None,
        "version": found.version or None,
        "missing": found.missing,
    }


def _plan_lines(made: Prepared, tasks: list[PlannedTask]) -> list[str]:
    named = ", ".join(f"{seat.name} ({seat.runtime})" for seat in made.seats)
    lines = [f"team {one_line(made.team)}, from {made.base[:12]} on {one_line(made.repository.branch or 'no branch')}"]
    lines.append(one_line(made.agents_reason))
    lines.append(f"agents: {named}" + (f"; led by {made.leader.runtime}" if made.leader else ""))
    lines.append(f"merged into {one_line(made.into)} ({made.merge})" if made.into else "nothing is merged")
    lines += [f"note: {one_line(note)}" for note in made.repository.notes]
    rows = [
        [f"#{one.id}", one_line(one.subject), ", ".join(f"#{other}" for other in one.depends_on), ", ".join(one.files)]
        for one in tasks
    ]
    return [*lines, "", *table(["Task", "What", "After", "Files"], rows, drop=(3,))] if rows else lines


# A person's yes.


def check_can_be_confirmed(args: Args, session: Session) -> None:
    """Before anything is started, the model that would make a plan included."""
    if not args.flag("yes") and not can_ask(session):
        raise UsageError("nobody is here to say yes to the plan", "look at it with --dry-run, then add --yes")


def is_confirmed(args: Args, session: Session, made: Prepared) -> bool:
    """To the plan, and to what it would run (D25)."""
    is_persons = is_person(session.room)
    commands = commands_in(made.wishes)
    check_can_be_confirmed(args, session)
    if args.flag("yes"):
        if commands and is_persons:
            made.wishes = _allowed_by_rule(made) if made.is_model_made else _allowed(made)
        return True
    lines = _plan_lines(made, planned_tasks(session, made))
    if commands:
        lines += ["", "It runs these commands, to do tasks or to prove that they are done:"]
        lines += [f"  ! {as_it_is(one['subject'])}: {as_it_is(one['command'])}" for one in commands]
    session.warn("")
    if not said_yes_to("\n".join([*lines, "", "Begin?"])):
        return False
    if commands:
        check_person(session.room, "say yes to commands")
        made.wishes = _allowed(made)
    return True


def _allowed(made: Prepared) -> list[NewTask]:
    return wishes_of(made.drafts, allowed_by=HUMAN, source=made.plan_file)


def _allowed_by_rule(made: Prepared) -> list[NewTask]:
    """What a model wrote runs only where a rule of the user allows every command of a task; else a person is asked."""
    from atm.approvals.rules.calls import AgentCall
    from atm.approvals.services.asking import judged

    room = made.desk.approvals
    for wish in made.wishes:
        commands = [one["command"] for one in commands_in([wish])]
        calls = [AgentCall("Bash", command=one, folder=made.folder, root=made.folder) for one in commands]
        if commands and room.policy.exists and all(judged(room, call)[1].is_granted for call in calls):
            wish.commands_of = HUMAN
    return made.wishes
