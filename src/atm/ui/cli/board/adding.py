"""`atm tasks` add, import, split, depend."""

from __future__ import annotations

from atm.domain.board.acceptance import COMMAND, COMMIT, FILE, RUN, TESTS, check
from atm.domain.errors import BadTask, UsageError
from atm.domain.team.authority import HUMAN
from atm.domain.untrusted_text import one_line
from atm.services.board import planning
from atm.services.board.new_tasks import NewTask, commands_in, wishes_of
from atm.services.team.standing import check_person, members_above
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.cli.board.view import card_json, ids, report, task_json, team_of
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Record
    from atm.services.board.planning import Added
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

LARGEST_PLAN = 5_000_000


def _add(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    wish = NewTask(
        args.need("subject"),
        description=args.text("description") or "",
        depends_on=_named(args.many("depends_on")),
        priority=args.text("priority") or "normal",
        files=args.many("files"),
        owner=args.text("owner") or "",
        quantum=args.text("quantum") or "",
        reviewer=args.text("reviewer") or "",
        needs_plan=args.flag("plan"),
        acceptance=_checks(args),
        run=[check(RUN, command) for command in args.many("run")],
        folder=_folder(args.text("folder")),
        max_retries=args.whole("max_retries"),
    )
    added = planning.add(session.boardroom, team, who, [wish])
    task = added.tasks[0]
    waits = f", which waits for {ids(task.blocked_by)}" if task.blocked_by else ""
    words = f"added #{task.id} {task.subject}{waits}"
    return report(session, "add", team, task, words, board=added.board, warnings=added.warnings)


def _named(given: list[str]) -> list[str]:
    """`1,2 3` as three ids; a title with a comma in it stays one."""
    parts = []
    for word in given:
        pieces = [piece.strip() for piece in word.split(",")]
        parts += pieces if all(piece.lstrip("#").isdecimal() for piece in pieces) else [word]
    return parts


def _checks(args: Args) -> list[Record]:
    kinds = {"accept": COMMAND, "accept_tests": TESTS, "accept_file": FILE, "accept_commit": COMMIT}
    return [check(kind, about) for key, kind in kinds.items() for about in args.many(key)]


def _folder(given: str | None) -> str:
    import os

    return os.path.abspath(os.path.expanduser(given)) if given else ""


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


def _split(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    subjects = args.many("into")
    if not subjects:
        raise UsageError("--into is missing", 'name the parts: --into "first part" "second part"')
    task, added = planning.split(
        session.boardroom, team, who, args.need("id"), [NewTask(subject) for subject in subjects]
    )
    words = f"#{task.id} waits for its parts: {ids([part.id for part in added.tasks])}"
    parts = [task_json(session, team, part, added.board) for part in added.tasks]
    return report(session, "split", team, task, words, added.board, added.warnings, parts=[*parts])


def _depend(args: Args, session: Session) -> int:
    team, who = team_of(args, session), session.identity(args)
    on, off = _named(args.many("on")), _named(args.many("off"))
    if not on and not off:
        raise UsageError("neither --on nor --off was given", "say what it shall wait for: --on ID")
    task, waits_for = planning.depend(session.boardroom, team, who, args.need("id"), on, off)
    words = f"#{task.id} waits for {ids(waits_for)}" if waits_for else f"#{task.id} waits for nothing"
    return report(session, "depend", team, task, words, blocked_by_open=[*waits_for])


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


EXECUTE = {"tasks add": _add, "tasks import": _import, "tasks split": _split, "tasks depend": _depend}
