"""`atm runs`: what ran, what came of it, and clearing away what it left."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.domain.untrusted_text import one_line, shell_words
from atm.domain.work_errors import RunActive
from atm.formats.runs.event_line import event_fields
from atm.services.runs.cleaning import clean
from atm.services.runs.starting import find_run, run_line
from atm.services.team.standing import check_person
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option
from atm.ui.cli.render import Style
from atm.ui.cli.waiting import Spinner
from atm.ui.views.runs import summary
from atm.ui.views.tables import table
from atm.wiring.runs import build_runroom, build_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def _list(args: Args, session: Session) -> int:
    runs, team = build_runs(session.layout), session.team(args)
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
    runs, team = build_runs(session.layout), session.team(args)
    order = find_run(runs, team, args.text("run") or "")
    if args.flag("events"):
        for event in runs.events(team, order.run):
            session.print_json(event_fields(event, team, order.run))
        return 0
    report = runs.report(team, order.run)
    if report is None or not {*report} >= IN_REPORTS:
        line = run_line(runs, team, order.run, is_held=runs.is_held(team))
        words = f"run {order.run} of {one_line(team)}: {line['state']}, {line['done']} of {line['tasks']} done"
        session.tell({"action": "runs show", **line, "report": None}, words)
        return 0
    session.tell({**report, "action": "runs show"}, "\n".join(summary(report, Style(session))))
    return 0


def _clean(args: Args, session: Session) -> int:
    runs, team = build_runs(session.layout), session.team(args)
    order = find_run(runs, team, args.need("run"))
    check_person(session.room, "remove what a run left")
    if runs.is_held(team):
        raise RunActive(f"a run of {team!r} is under way", "wait for it, or interrupt it first")
    if not args.flag("yes"):
        session.wants_yes = True
        raise UsageError(
            f"this removes the branches and the folder of run {order.run}",
            f"say so: atm runs clean {shell_words(order.run)} --team {shell_words(team)} --yes",
        )
    desk = build_runroom(session.layout, session.settings, session.boardroom, session.environment)
    with Spinner(session, f"saving and removing what run {order.run} left"):
        done = clean(desk, order)
    words = [f"removed run {order.run}", *(f"  branch {one_line(name)}" for name in done.branches)]
    words += [f"  saved: atm salvage show {id}" for id in done.saved]
    session.tell(
        {"action": "runs clean", "team": team, "run": order.run, "branches": done.branches, "saved": done.saved},
        "\n".join(words),
    )
    return 0
