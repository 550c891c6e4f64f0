"""`atm run`: a goal in, verified work out."""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.core.untrusted_text import one_line, shell_words
from atm.team.services.standing import check_roster
from atm.ui.cli.arguments import NUMBER, TEAM, WHOLE, Args, Argument, Command, Option
from atm.ui.cli.crew.new_team import take_back
from atm.ui.cli.runs.beginning import begin, find_resumed, take_up
from atm.ui.cli.runs.confirming import check_can_be_confirmed, is_confirmed, show_dry_run
from atm.ui.cli.runs.detaching import resume_in_background
from atm.ui.cli.runs.former import check_none_died, died_before, resumed_instead
from atm.ui.cli.runs.prepared import ask_for_plan, make_team, needs_plan, prepare
from atm.ui.cli.runs.seating import seat
from atm.ui.cli.runs.watching import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom
    from atm.ui.cli.runs.prepared import Prepared
    from atm.ui.cli.session import Session

LATEST = "latest"
COMMAND = Command(
    "run",
    "a goal in, verified work out: agents work off a plan, and it becomes one branch that was checked",
    text=(
        "Tasks come from --plan, from the board, or from a model that is asked to break GOAL down. They are shown "
        "first, and nothing runs before you say yes. Each agent works in a worktree of its own; what it did is "
        "committed and checked before it counts as done, on a branch atm/work/TEAM/TASK-AGENT. Finished work is "
        "merged into one branch, atm/result/TEAM, and checked there. Your own branch and files are left alone. "
        "Exit code 0: everything was completed and merged; 2: a part; 1: nothing, or it could not begin; 3: there is "
        "nothing to do; 130: interrupted, and --resume goes on."
    ),
    arguments=(Argument("goal", "what shall be done, in your words", required=False),),
    options=(
        Option("--plan", value="FILE", help="tasks: a Markdown checklist, YAML or JSON; see docs/how-to-plans.md"),
        Option("--crew", value="FILE", help="a file that names the agents; `atm init --crew` writes one"),
        Option("--agents", value="N", help="how many, or auto: two if two tasks are ready, one for every six"),
        Option("--runtime", value="R[,R]", help="what they are run with, in turn (default: what is installed)"),
        Option("--lead", value="RUNTIME", help="an agent leads; without it the loop itself does, which asks no model"),
        Option("--delegate", help="with --lead: it only coordinates"),
        Option(
            "--backend", value="WAY", choices=("auto", "headless", "tmux"), help="without a terminal, or in windows"
        ),
        Option("--display", value="HOW", choices=("inline", "panes", "none"), help="what you see (default: inline)"),
        Option("--base", value="REV", help="what all work begins with (default: what is checked out)"),
        Option(
            "--merge",
            value="HOW",
            choices=("rebase", "merge", "squash", "none"),
            help="how finished work becomes one branch (default: rebase); none: it stays on its branches",
        ),
        Option("--into", value="BRANCH", help="that branch (default: atm/result/TEAM, a new one)"),
        Option("--merge-at", value="WHEN", choices=("task", "end"), help="after each task (default), or at the end"),
        Option("--require-plan", help="agents plan first, and write nothing until their plan is approved"),
        Option("--model", value="NAME", help="which model (default: each program's own choice)"),
        Option("--max-minutes", value="N", kind=NUMBER, help="end after so many minutes"),
        Option("--max-turns", value="N", kind=WHOLE, help="end after so many turns of all agents"),
        Option("--max-tokens", value="N", kind=WHOLE, help="end after so many tokens, where they are told"),
        Option("--max-cost", value="N", kind=NUMBER, help="end at this cost, where it is told"),
        Option("--tick", help="tick what is done in the plan's own file too (Markdown)"),
        Option("--dry-run", help="show what would be done, and change nothing"),
        Option("--yes", "-y", help="do not ask; a person's yes to the plan and its commands"),
        Option("--resume", value="RUN", optional=LATEST, help="go on with a run (default: the newest)"),
        Option("--detach", help="with --resume: in the background; `atm top` shows it, `atm stop` ends it"),
        Option("--fresh", help="if the last run died: end its agents, save their work, and begin this run instead"),
        TEAM,
    ),
    examples=(
        "atm run --plan plan.md --dry-run",
        "atm run --plan plan.md --runtime script --agents 4 --yes",
        'atm run "add a --json flag to every command" --runtime claude,codex --agents 3',
        "atm run --resume",
    ),
)


def execute(args: Args, session: Session) -> int:
    if args.text("resume") is not None:
        desk, found = find_resumed(args, session, _run_meant(args))
        if args.flag("detach"):
            return resume_in_background(args, session, desk, found)
        return _resume(args, session, desk, found)
    if args.flag("detach"):
        raise UsageError("--detach resumes a run", "a new plan wants your yes at a terminal: leave --detach out")
    prepared = prepare(args, session)
    seat(args, session, prepared)
    is_fresh = args.flag("fresh") or prepared.is_new_team
    died = None if is_fresh else died_before(prepared.desk, prepared.team)
    if args.flag("dry_run"):
        if died is not None:
            session.warn(f"note: {died.in_words}; without --dry-run you are asked whether to resume it")
        return show_dry_run(session, prepared)
    if died is not None and (resumed := resumed_instead(session, died, prepared.team)) is not None:
        return _resume(args, session, prepared.desk, resumed)
    check_can_be_confirmed(args, session)
    check_roster(session.room, prepared.team, "start a run")
    try:
        if needs_plan(prepared):
            ask_for_plan(session, prepared)
            seat(args, session, prepared)
        is_yes = is_confirmed(args, session, prepared)
    except BaseException:  # Ctrl-C too: a team that was made for this run must not stay without it
        _take_back_team(session, prepared)
        raise
    if not is_yes:
        _take_back_team(session, prepared)
        session.tell({"action": "run", "team": prepared.team, "outcome": "refused"}, "nothing was started")
        return 1
    make_team(session, prepared)  # another process may have taken the name: only then is it known which team is held
    with prepared.desk.runs.hold(prepared.team):
        if not is_fresh:
            check_none_died(prepared.desk, prepared.team, died)
        return _run(args, session, prepared)


def _resume(args: Args, session: Session, desk: Runroom, order: RunOrder) -> int:
    with desk.runs.hold(order.team):
        return watch(session, args, desk, take_up(args, session, desk, order))


def _run(args: Args, session: Session, prepared: Prepared) -> int:
    try:
        order = begin(args, session, prepared)
    except BaseException:  # Ctrl-C too, as above
        _take_back_team(session, prepared)
        raise
    if order is None:
        _take_back_team(session, prepared)
        said = f"the plan has no open task; see: atm tasks list --team {shell_words(prepared.team)}"
        session.tell({"action": "run", "team": prepared.team, "outcome": "nothing", "tasks": {}}, said)
        return 3
    return watch(session, args, prepared.desk, order)


def _take_back_team(session: Session, prepared: Prepared) -> None:
    """A team that was made for a run that cannot begin."""
    if prepared.made_team is not None:
        take_back(session, prepared.desk.crew, prepared.made_team)
        if not prepared.made_team.is_new:
            session.warn(f"note: the new team {one_line(prepared.team)} was removed again, as nothing was started")


def _run_meant(args: Args) -> str:
    given = args.need("resume")
    if args.text("goal") is not None:
        raise UsageError("a run that goes on has its goal already", "leave it out, or leave --resume out")
    if args.flag("fresh"):
        raise UsageError("--resume continues a run, and --fresh begins another", "leave one of them out")
    return "" if given == LATEST else given
