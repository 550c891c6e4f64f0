"""What was typed, read and checked: the plan, the folder and the team. Nothing is written, but a model may be asked."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from atm.board.rules.dependencies import Board
from atm.board.rules.schedule import edges_on
from atm.board.services.new_tasks import NewTask, wishes_of
from atm.core.errors import NoSuchTeam, UsageError
from atm.core.names import check_new_name
from atm.core.untrusted_text import one_line
from atm.core.work_errors import BadTask
from atm.crew.rules.refs import result_branch
from atm.merges.rules.targets import check_target
from atm.merges.services.people import unmerged_tasks
from atm.team.rules.repositories import OTHER, name_of_folder
from atm.team.rules.team import check_open
from atm.team.services.registry import find_team
from atm.ui.cli.board.adding import read_text, warn_of_unknown_keys
from atm.ui.cli.crew.wishes import TeamAndPerson, check_may_start, crew_in
from atm.ui.cli.roster.enrolling import enrol_person
from atm.ui.cli.session import working_folder
from atm.ui.cli.team.belonging import belonging_here, bind_here, check_named, choose_here
from atm.ui.cli.waiting import Spinner
from atm.wiring.runs import build_runroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.formats.task_drafts import TaskDraft
    from atm.crew.formats.crew_file import CrewPlan
    from atm.crew.ports.worktrees import Repository
    from atm.runs.rules.orders import AgentSeat
    from atm.runs.services.runroom import Runroom
    from atm.team.services.belonging import RepositoryTeams
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

LEAD = "lead"
PLAN_SECONDS = 900.0
MOST_TRIES = 20
"""Names that other processes may take for their repositories while this one begins."""


@dataclass(slots=True, kw_only=True)
class Prepared:
    """Everything but the yes."""

    desk: Runroom
    team: str
    is_new_team: bool
    belonging: RepositoryTeams | None = None
    crew_name: str = ""
    """The team's name in the crew file."""
    has_team_named: bool = False
    """Did the user name the team, so that no other will do?"""
    made_team: TeamAndPerson | None = None
    """The team that this run has made; it is taken back if the run cannot begin."""
    is_quiet: bool
    """Is only the end said?"""
    folder: str
    repository: Repository
    base: str
    goal: str = ""
    plan_file: str = ""
    plan_text: str = ""
    drafts: list[TaskDraft] = field(default_factory=list)
    wishes: list[NewTask] = field(default_factory=list)
    board: Board = field(default_factory=lambda: Board({}))
    unmerged: list[str] = field(default_factory=list)
    """Tasks of before that are completed and on no target yet: this run merges them."""
    seats: list[AgentSeat] = field(default_factory=list)
    runtimes: list[str] = field(default_factory=list)
    agents: int | None = None
    agents_reason: str = ""
    """How many agents take part and why, for the plan that is shown."""
    leader: AgentSeat | None = None
    is_model_made: bool = False
    crew_plan: CrewPlan | None = None
    merge: str = "none"
    into: str = ""
    merge_at: str = "task"

    @property
    def open_tasks(self) -> list[str]:
        """What can still be done on the board, as it lies there."""
        return [*edges_on(self.board)]

    @property
    def checklist(self) -> str:
        """The plan as Markdown: the user's own words where it is that, else written out."""
        from atm.board.formats.plan_ticks import as_checklist
        from atm.board.formats.task_import import kind_of

        is_markdown = self.plan_text and kind_of(self.plan_file, self.plan_text) == "markdown"
        return self.plan_text if is_markdown else as_checklist(self.drafts)

    @property
    def everybody(self) -> list[AgentSeat]:
        return [*self.seats, *([self.leader] if self.leader is not None else [])]


def prepare(args: Args, session: Session) -> Prepared:
    """Reads and checks; writes nothing, except that a model is asked where only a goal was given."""
    folder = os.path.realpath(working_folder())
    desk = build_runroom(session.layout, session.settings, session.boardroom, session.environment)
    repository = desk.crew.worktrees.repository(folder)
    if repository is None or not repository.root:
        raise UsageError(f"{folder} belongs to no git repository", "go to the repository of the work, or `git init`")
    base = _base(desk, repository, args.text("base") or "")
    plan = args.text("plan") or ""
    crew_plan = _crew(args, session)
    belonging = belonging_here(session, folder)
    named = crew_plan.team if crew_plan is not None else ""
    team, is_new = _team(session, args, named, folder, belonging)
    made = Prepared(
        belonging=belonging,
        crew_name=named,
        has_team_named=bool(_said(session, args, named)),
        desk=desk,
        team=team,
        is_new_team=is_new,
        is_quiet=session.as_json or args.text("display") == "none",
        folder=folder,
        repository=repository,
        base=base,
        goal=args.text("goal") or "",
        plan_file=os.path.realpath(plan) if plan and plan != "-" else "",
        merge=args.text("merge") or session.settings.text("merges.strategy"),
        merge_at=args.text("merge_at") or session.settings.text("merges.at"),
    )
    if made.merge != "none":
        given = args.text("into")
        made.into = result_branch(team) if given is None else check_target(given)
    elif args.text("into") or args.text("merge_at"):
        raise UsageError("nothing is merged", "leave --into and --merge-at out, or choose another --merge")
    if not is_new:
        made.board = session.boardroom.tasks.board(team) if session.boardroom.tasks.exists(team) else Board({})
    if plan:
        made.plan_text = read_text(plan)
        made.drafts = _drafts(plan, made.plan_text, args)
        warn_of_unknown_keys(session, made.drafts)
        made.wishes = wishes_of(made.drafts, source=made.plan_file)
    made.crew_plan = crew_plan
    if not is_new and made.into:
        made.unmerged = unmerged_tasks(desk.merges, team)
    if not plan and not made.goal and not made.open_tasks and not made.unmerged:
        raise UsageError("there is nothing to do", 'say what: atm run "…", atm run --plan FILE, or atm tasks add')
    return made


def _crew(args: Args, session: Session) -> CrewPlan | None:
    if not args.text("crew"):
        return None
    return crew_in(session, args.need("crew"), is_said=args.flag("yes"), is_only_shown=args.flag("dry_run"))


def needs_plan(made: Prepared) -> bool:
    """Is there a goal, and nobody who has broken it down?"""
    return bool(made.goal) and not made.plan_text


def _base(desk: Runroom, repository: Repository, wanted: str) -> str:
    commit = desk.boardroom.programs.commit_of(repository.root, wanted or "HEAD")
    if not commit:
        what = f"there is no commit {wanted!r}" if wanted else f"{repository.root} has no commit yet"
        raise UsageError(what, "name one that is there" if wanted else "commit something first: git commit")
    return commit


def _said(session: Session, args: Args, named: str) -> str:
    """The team that the user named. The name in a crew file is a wish: clones have the same file."""
    return args.text("team") or ("" if named else session.settings.text("core.default_team")) or ""


def _team(session: Session, args: Args, named: str, folder: str, belonging: RepositoryTeams | None) -> tuple[str, bool]:
    wanted = _said(session, args, named)
    if belonging is not None and not wanted:
        chosen = choose_here(session, belonging, folder, named and check_new_name(named, "team"))
        return chosen.team, chosen.is_new
    wanted = wanted or named or name_of_folder(folder)
    try:
        found = check_open(find_team(session.room, wanted)).name
    except NoSuchTeam:
        return check_new_name(wanted, "team"), True
    if belonging is not None:
        check_named(session, belonging, found)
    return found, False


def _drafts(name: str, text: str, args: Args) -> list[TaskDraft]:
    from atm.board.formats.task_import import NotAPlan, kind_of, read_plan

    kind = kind_of(name, text)
    if args.flag("tick") and (kind != "markdown" or name == "-"):
        raise UsageError("only a Markdown file can be ticked", "leave --tick out; the run's folder has a ticked copy")
    try:
        return read_plan(text, kind)
    except NotAPlan as error:
        raise BadTask(f"{name} is not a plan: {error}", "mend it; see docs/how-to-plans.md", name) from None


def ask_for_plan(session: Session, made: Prepared) -> None:
    """A model breaks the goal down. What it answers is read as any plan is."""
    from atm.runs.services.decomposing import Goal, decompose
    from atm.runs.services.starting import new_run_id

    mind = next((seat for seat in reversed(made.everybody) if not seat.is_script), None)
    if mind is None:
        raise UsageError("only a model can break a goal down, and every agent is a script", "use --plan, or --runtime")
    make_team(session, made)
    check_may_start(session, made.desk.crew, made.team)
    clock, chance = session.boardroom.clock, session.boardroom.chance
    goal = Goal(
        made.goal,
        team=made.team,
        lead=find_team(session.room, made.team).lead,
        folder=made.folder,
        base=made.base,
        run=new_run_id(clock, chance),
        runtime=mind.runtime,
        runtimes=made.runtimes,
        agents=made.agents,
        model=mind.model,
    )
    what = f"{mind.runtime} breaks the goal down"
    with made.desk.runs.hold(made.team), Spinner(session, what, otherwise=f"{what} …") as spinner:
        made.drafts = decompose(made.desk.crew, goal, PLAN_SECONDS, spinner.turn)
    made.is_model_made = True
    made.wishes = wishes_of(made.drafts)


def make_team(session: Session, made: Prepared) -> None:
    """The team, bound to its repository."""
    is_new = made.is_new_team
    if is_new:
        _create(session, made)
        made.made_team = TeamAndPerson(made.team, is_new=True)
    if made.belonging is not None:
        bind_here(session, made.belonging, made.team, lambda: made.desk)
    if made.made_team is not None and is_new:
        person = made.made_team.person = enrol_person(session, made.team)
        if person is not None and not made.is_quiet:
            session.print("\n".join(map(one_line, [f"made team {made.team}", *person.in_words])))


def _create(session: Session, made: Prepared) -> None:
    """Where another process has just taken the name for another repository, the next free one is used."""
    from atm.roster.services.members import create_team

    bound = made.belonging.binding if made.belonging is not None else None
    for _ in range(MOST_TRIES):
        create_team(session.room, made.team, lead=LEAD, repository=bound)
        if bound is None or made.belonging is None or made.belonging.verdict(made.team) != OTHER:
            made.is_new_team = False
            return
        if made.has_team_named:
            made.belonging.check(made.team)
        former, base = made.team, made.crew_name
        made.team = choose_here(session, made.belonging, made.folder, base).team
        if made.into == result_branch(former):
            made.into = result_branch(made.team)
    raise UsageError("other processes take every name for a team", "name one: --team NAME")
