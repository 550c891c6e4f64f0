"""`atm tasks import`: a plan from a file, and what it would run."""

from __future__ import annotations

from atm.domain.errors import BadTask
from atm.domain.team.authority import HUMAN
from atm.domain.untrusted_text import one_line
from atm.services.board import planning
from atm.services.board.new_tasks import NewTask, commands_in, wishes_of
from atm.services.team.standing import check_person, members_above
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.cli.board.view import card_json, team_of
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.services.board.planning import Added
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

LARGEST_PLAN = 5_000_000


def _import(args: Args, session: Session) -> int:
    from atm.formats.board.task_import import NotAPlan, kind_of, read_plan

    name = args.need("file")
    text = read_text(name)
    try:
        drafts = read_plan(text, args.text("format") or kind_of(name, text))
    except NotAPlan as error:
        raise BadTask(f"{name} is not a plan: {error}", "mend it, or say what it is with --format") from None
    team, who = team_of(args, session), session.identity(args)
    is_allowed = args.flag("allow_checks")
    wishes = wishes_of(drafts, allowed_by=HUMAN if is_allowed else "")
    if args.flag("dry_run"):
        return _would_import(session, team, wishes)
    if is_allowed:
        check_person(session.room, "say yes to commands")
    elif _is_asked_and_says_yes(session, team, wishes):
        is_allowed, wishes = True, wishes_of(drafts, allowed_by=HUMAN)
    added = planning.add(session.boardroom, team, who, wishes)
    _show_commands(session, wishes, is_allowed=is_allowed)
    for warning in added.warnings:
        session.warn(f"note: {warning}")
    return _imported(session, team, added)


def _is_asked_and_says_yes(session: Session, team: str, wishes: list[NewTask]) -> bool:
    """A person at a terminal, before anything is written; an agent is not asked, and its answer would not count."""
    commands = commands_in(wishes)
    if not commands or not can_ask(session) or any(members_above(session.room)):
        return False
    planning.rehearse(session.boardroom, team, wishes)  # nobody is asked about a plan that cannot be taken
    lines = [f"  ! {as_it_is(one['subject'])}: {as_it_is(one['command'])}" for one in commands]
    shown = "\n".join(["This plan runs commands, to do its tasks or to prove that they are done:", *lines])
    return said_yes_to(f"{shown}\n\nMay they run?")


def _show_commands(session: Session, wishes: list[NewTask], *, is_allowed: bool) -> None:
    """A plan is a text from somewhere; what it would have us run is never a surprise."""
    commands = commands_in(wishes)
    if not commands:
        return
    when = (
        "will run"
        if is_allowed
        else "will run only after a person's yes (tasks import, or complete, with --allow-checks)"
    )
    what = "1 command" if len(commands) == 1 else f"{len(commands)} commands"
    session.warn(f"note: {what} of this plan {when} when its tasks are completed:")
    for one in commands:
        session.warn(f"  {one['subject']}: {one['command']}")


def _would_import(session: Session, team: str, wishes: list[NewTask]) -> int:
    subjects = [wish.subject for wish in planning.rehearse(session.boardroom, team, wishes)]
    listed = "\n".join(f"  {one_line(subject)}" for subject in subjects)
    result = {"action": "import", "team": team, "dry_run": True, "count": len(subjects), "subjects": subjects}
    session.tell({**result, "commands": commands_in(wishes)}, f"would add {len(subjects)} tasks:\n{listed}")
    _show_commands(session, wishes, is_allowed=False)
    return 0


def _imported(session: Session, team: str, added: Added) -> int:
    tasks = added.tasks
    result: dict[str, object] = {"action": "import", "team": team, "count": len(tasks)}
    if session.as_json:
        board = added.board.turn_around()
        result["tasks"] = [card_json(task, board) for task in tasks]
    first, last = tasks[0].id, tasks[-1].id
    session.tell(
        result,
        f"added {len(tasks)} tasks, #{first} to #{last}"
        if len(tasks) > 1
        else f"added #{first} {one_line(tasks[0].subject)}",
    )
    return 0


def read_text(name: str) -> str:
    """A file, or standard input for `-`."""
    import sys

    try:
        if name == "-":
            if sys.stdin is None:
                raise BadTask("standard input is closed", "name a file, or pipe the text in")
            with interruptions:
                data = sys.stdin.buffer.read(LARGEST_PLAN + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(LARGEST_PLAN + 1)
    except OSError as error:
        raise BadTask(f"{name}: {error.strerror}", "check the path", name) from None
    if len(data) > LARGEST_PLAN:
        raise BadTask(f"{name} is larger than {LARGEST_PLAN // 1_000_000} MB", "split it", name)
    return data.decode("utf-8", "replace")


EXECUTE = {"tasks import": _import}
