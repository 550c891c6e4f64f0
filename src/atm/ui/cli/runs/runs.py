"""`atm runs`: what ran, what came of it, and clearing away what it left."""

from __future__ import annotations

from atm.board.rules.tasks import COMPLETED
from atm.core.errors import UsageError
from atm.core.plain import counted
from atm.core.untrusted_text import one_line, shell_words
from atm.core.work_errors import RunActive
from atm.runs.formats.event_line import event_fields
from atm.runs.rules.standing import DIED, PAUSED, RUNNING, SUSPENDED
from atm.runs.services.cleaning import clean, left_by
from atm.runs.services.starting import find_run, memory_of, run_line
from atm.team.services.registry import find_team
from atm.team.services.standing import check_person
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.render import Style
from atm.ui.cli.roster.last_run import last_runs_of
from atm.ui.cli.team.belonging import check_here
from atm.ui.cli.waiting import Spinner
from atm.ui.views.looks import spelled
from atm.ui.views.runs import summary
from atm.ui.views.tables import table
from atm.ui.views.team.last_run import last_runs, run_lines
from atm.wiring.runs import build_runroom, build_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.cleaning import RunCleaned
    from atm.runs.services.runroom import Runroom
    from atm.ui.cli.session import Session

NOTHING = 3
IN_REPORTS = {"outcome", "tasks", "seconds", "report", "agents", "branches"}
"""What a report has that one can show."""
LIST = Command("runs list", "runs of a team, oldest first", options=(TEAM,), examples=("atm runs list",))
SHOW = Command(
    "runs show",
    "the report of a run, or how far it is",
    arguments=(Argument("run", "its name, or how that begins (default: the newest)", required=False),),
    options=(Option("--events", help="everything that happened, one line of JSON each"), TEAM),
    examples=("atm runs show", "atm runs show 20261117-09 --json"),
)
CLEAN = Command(
    "runs clean",
    "remove a run's branches and its folder; work that is on no other branch is saved first",
    arguments=(Argument("run", "its name, or how that begins"),),
    options=(Option("--yes", "-y", help="yes, remove them"), TEAM),
    examples=("atm runs clean 20261117-09 --yes",),
)
COMMAND = Command(
    "runs",
    "runs of a team: list, show, clean",
    subcommands=(LIST, SHOW, CLEAN),
    default="list",
    examples=("atm runs",),
)


def execute(args: Args, session: Session) -> int:
    verbs = {SHOW.name: _show, CLEAN.name: _clean}
    return verbs.get(args.command.name, _list)(args, session)


def _team(args: Args, session: Session) -> str:
    """One that was not named is the one of the repository here; removing is done only from there."""
    team, is_named = session.team(args), bool(args.text("team") or session.home_team())
    if not is_named or args.command.name == CLEAN.name:
        check_here(session, team, is_named=is_named)
    return team


def _list(args: Args, session: Session) -> int:
    runs, team = build_runs(session.layout), _team(args, session)
    names = runs.names(team)
    is_held = bool(names) and runs.is_held(team)
    rows = [run_line(runs, team, name, is_held=is_held) for name in names]
    cells = [
        [
            str(row["run"]),
            str(row["state"]),
            f"{row['done']}/{row['tasks']}",
            f"{row['seconds']} s",
            one_line(str(row["goal"] or "")),
        ]
        for row in rows
    ]
    words = (
        "\n".join(table(["Run", "State", "Done", "Time", "Goal"], cells, drop=(3, 4)))
        if rows
        else "this team has had no run"
    )
    session.tell({"action": "runs list", "team": team, "runs": rows}, words)
    return 0 if rows else NOTHING


def _show(args: Args, session: Session) -> int:
    runs, team = build_runs(session.layout), _team(args, session)
    order = find_run(runs, team, args.text("run") or "")
    if args.flag("events"):
        for event in runs.events(team, order.run):
            session.print_json(event_fields(event, team, order.run))
        return 0
    line = run_line(runs, team, order.run, is_held=runs.is_held(team))
    report = runs.report(team, order.run)
    # A loop writes its report before the event that ends it. So a report beside the state of a run without an end is of
    # an earlier end: of an interruption, after which the run was resumed.
    is_current = line["state"] not in (RUNNING, DIED, SUSPENDED)
    if report is None or not is_current or not {*report} >= IN_REPORTS:
        return _show_without_report(session, team, order, line)
    session.tell({**report, "action": "runs show"}, "\n".join(summary(report, Style(session))))
    return 0


def _show_without_report(session: Session, team: str, order: RunOrder, line: dict[str, Plain]) -> int:
    """A run that goes on or died: how it stands, what is done so far, and what to type."""
    found = find_team(session.room, team)
    board = session.boardroom.tasks.board(team) if session.boardroom.tasks.exists(team) else None
    rows = [row for row in last_runs(last_runs_of(session, found, board)) if row.run == order.run]
    memory = memory_of(build_runs(session.layout), team, order.run)
    cards = [one for one in board.sorted() if one.id in memory.tasks and not one.is_hidden] if board else []
    tasks = [{"id": one.id, "subject": one.subject, "state": board.state(one)} for one in cards] if board else []
    done = sum(one["state"] == COMPLETED for one in tasks) if tasks else line["done"]
    words = run_lines(rows, session.room.clock.now())
    words = words or [f"run {order.run} of {one_line(team)}: {line['state']}, {done} of {line['tasks']} done"]
    words += [f"  #{one_line(one['id'])}  {spelled(one['state']):<11}  {one_line(one['subject'])}" for one in tasks]
    now = {"since": rows[0].since, "resume": rows[0].resume, "alive": rows[0].alive} if rows else {}
    facts: dict[str, object] = {"action": "runs show", **line, "done": done, **now, "tasks_now": tasks, "report": None}
    session.tell(facts, "\n".join(words))
    return 0


def _clean(args: Args, session: Session) -> int:
    runs, team = build_runs(session.layout), _team(args, session)
    order = find_run(runs, team, args.need("run"))
    check_person(session.room, "remove what a run left")
    if runs.is_held(team):
        raise RunActive(f"a run of {team!r} is under way", "wait for it, or interrupt it first")
    desk = build_runroom(session.layout, session.settings, session.boardroom, session.environment)
    if not args.flag("yes"):
        session.wants_yes = True
        raise UsageError(
            _what_goes(desk, order),
            f"say so: atm runs clean {shell_words(order.run)} --team {shell_words(team)} --yes",
        )
    with Spinner(session, f"saving and removing what run {order.run} left"):
        done = clean(desk, order)
    facts: dict[str, object] = {"branches": done.branches, "merged": done.merged, "saved": done.saved}
    session.tell({"action": "runs clean", "team": team, "run": order.run, **facts}, "\n".join(_gone(order, done)))
    return 0


def _what_goes(desk: Runroom, order: RunOrder) -> str:
    """What --yes would remove, what is saved before, and what stays."""
    left = left_by(desk, order)
    names = [one.branch for one in left.branches]
    unmerged = [name for name in names if name not in left.merged]
    words = f"this removes the folder of run {order.run} and {counted(len(names), 'branch', 'branches')}"
    if names:
        words += f": {len(names) - len(unmerged)} merged, {len(unmerged)} saved first"
    state = run_line(desk.runs, order.team, order.run, is_held=False)["state"]
    lost = f"; it {state if state == DIED else 'was interrupted'}, and cannot be resumed afterwards"
    return words + (lost if state in (DIED, PAUSED) else "")


def _gone(order: RunOrder, done: RunCleaned) -> list[str]:
    words = [f"removed the folder of run {order.run} and {counted(len(done.branches), 'branch', 'branches')}"]
    for name in done.branches:
        words.append(f"  branch {one_line(name)}, {'merged' if name in done.merged else 'saved'}")
    words += [f"  saved: atm salvage show {shell_words(id)} --team {shell_words(order.team)}" for id in done.saved]
    if done.merged:
        words.append(f"  its work stays on {one_line(order.into)}")
    return words
