"""Who takes part in a run, from what was typed."""

from __future__ import annotations

from atm.board.rules.schedule import waves
from atm.board.services.new_tasks import check_runtimes
from atm.core.errors import UsageError
from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.core.work_errors import RuntimeMissing
from atm.crew.services.crewroom import is_running
from atm.crew.services.ending import agents_of
from atm.crew.services.spawning import runtime_of
from atm.runs.rules.orders import AgentSeat
from atm.runs.rules.seating import AskedTask, check_seats, runner_for, seats_for, why_so_many
from atm.team.rules.team import AGENT
from atm.team.services.registry import find_team
from atm.ui.cli.crew.wishes import wish_of
from atm.ui.cli.runs.planned import planned_tasks
from atm.ui.cli.runs.prepared import LEAD
from atm.vendors.runtime import PLAIN, SCRIPT
from atm.vendors.runtimes import with_a_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.formats.crew_file import CrewPlan
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.runs.prepared import Prepared
    from atm.ui.cli.session import Session


def seat(args: Args, session: Session, made: Prepared) -> None:
    """Fills in who takes part; raises if somebody cannot, or if a task is for nobody."""
    crew = made.desk.crew
    check_runtimes(made.drafts, crew.runtimes)
    made.agents = _count(args.text("agents") or "auto")
    tasks = _asked(session, made)
    if made.crew_plan is not None:
        made.seats = _from_crew(args, made, made.crew_plan)
        made.seats += runner_for(tasks, made.seats)
        made.agents_reason = f"{counted(len(made.seats), 'agent')}: the crew file names them"
    else:
        made.runtimes = _runtimes(args, made, tasks)
        made.seats = seats_for(tasks, made.runtimes, made.agents, _taken(session, made))
        made.agents_reason = why_so_many(tasks, made.seats, made.runtimes, made.agents)
    lead = args.text("lead")
    if lead:
        made.leader = AgentSeat(
            name=LEAD, runtime=lead, backend=args.text("backend") or "auto", model=args.text("model") or ""
        )
        if lead == SCRIPT:
            raise UsageError("a script cannot lead", "leave --lead out: the loop leads by itself")
    elif args.flag("delegate"):
        raise UsageError("--delegate is about an agent that leads", f"name one: --lead {with_a_model()[0]}")
    backend = "tmux" if args.text("display") == "panes" else args.text("backend")
    for one in made.everybody:
        runtime = runtime_of(crew, one.runtime)  # raises, and says what is missing
        if runtime.protocol == PLAIN:
            raise RuntimeMissing(f"{one.runtime} only runs; nobody can speak with it", "use it with `atm up`")
        if not one.is_script:
            one.backend = backend or one.backend
            one.model = args.text("model") or one.model
        one.requires_plan = one.requires_plan or (one is not made.leader and args.flag("require_plan"))
    check_seats(tasks, made.seats, crew.runtimes)


def _taken(session: Session, made: Prepared) -> list[str]:
    """Names of people, and of agents that run but are of no run: to start one of that name would be refused."""
    crew = made.desk.crew
    agents = [one.member for one in agents_of(crew, made.team) if not one.run and is_running(crew, one)]
    if session.room.rosters.find(made.team) is None:
        return agents
    return [*agents, *(one.name for one in find_team(session.room, made.team).members if one.kind != AGENT)]


def _count(said: str) -> int | None:
    if said == "auto":
        return None
    if not said.isdecimal() or not 0 < int(said) <= 200:
        raise UsageError(f"--agents takes a number up to 200 or auto, not {said!r}", "for example --agents 3")
    return int(said)


def _asked(session: Session, made: Prepared) -> list[AskedTask]:
    """Everything that the run would do."""
    planned = planned_tasks(session, made)
    wave_of = {
        id: number for number, ids in enumerate(waves({one.id: one.depends_on for one in planned})) for id in ids
    }
    return [
        AskedTask(
            f"{one.place} ({one_line(one.subject)[:40]})",
            one.runtime,
            has_commands=one.has_commands,
            wave=wave_of.get(one.id, -1),
        )
        for one in planned
    ]


def _runtimes(args: Args, made: Prepared, tasks: list[AskedTask]) -> list[str]:
    given = [word.strip() for word in (args.text("runtime") or "").split(",") if word.strip()]
    if given:
        return given
    if not tasks and not made.goal:
        return [SCRIPT]  # there is nothing to do, and nobody is needed for that
    if tasks and all(one.has_commands or one.runtime for one in tasks):
        return [SCRIPT] if any(one.has_commands and not one.runtime for one in tasks) else []
    crew = made.desk.crew
    minds = with_a_model()
    found = next((name for name in minds if crew.find_program(crew.runtimes[name].program)), "")
    if not found:
        raise RuntimeMissing(
            f"none of {', '.join(minds)} is on the PATH, and some tasks need a model",
            "install one, see `atm runtimes`; or say what to run in the plan, and use --runtime script",
        )
    return [found]


def _from_crew(args: Args, made: Prepared, crew_plan: CrewPlan) -> list[AgentSeat]:
    if args.text("agents") or args.text("runtime"):
        raise UsageError("--crew names the agents already", "leave --agents and --runtime out")
    seats = []
    for one in crew_plan.agents:
        if one.cwd:
            raise UsageError(f"{one.name} has a `cwd`, and agents of a run work in worktrees", "leave it out")
        wish = wish_of(args, made.team, one, crew_plan.backend)
        seats.append(
            AgentSeat(
                name=one.name,
                runtime=one.runtime,
                is_script=one.runtime == SCRIPT,
                backend=wish.backend,
                model=wish.model,
                prompt=wish.prompt,
                command=wish.command,
                environment=wish.environment,
                requires_plan=wish.requires_plan,
                tools=wish.tools,
            )
        )
    return seats
