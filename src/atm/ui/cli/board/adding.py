"""`atm tasks import`: a plan from a file, and what it would run."""

from __future__ import annotations

from atm.board.services import importing
from atm.board.services.new_tasks import NewTask, commands_in, wishes_of
from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.core.work_errors import BadTask
from atm.team.rules.team import HUMAN
from atm.team.services.standing import check_person, is_person
from atm.ui.cli.asking import as_it_is, can_ask, said_yes_to
from atm.ui.cli.board.view import card_json, check_new_work, team_of
from atm.ui.cli.waiting import Spinner
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.formats.task_drafts import TaskDraft
    from atm.board.services.importing import Imported
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

LARGEST_PLAN = 5_000_000


def _import(args: Args, session: Session) -> int:
    from atm.board.formats.task_import import NotAPlan, kind_of, read_plan

    name = args.need("file")
    text = read_text(name)
    try:
        drafts = read_plan(text, args.text("format") or kind_of(name, text))
    except NotAPlan as error:
        raise BadTask(f"{name} is not a plan: {error}", "mend it, or say what it is with --format") from None
    warn_of_unknown_keys(session, drafts)
    team, who, source = team_of(args, session), session.identity(args), _source(name)
    check_new_work(args, session, team)
    is_allowed = args.flag("allow_checks")
    wishes = wishes_of(drafts, allowed_by=HUMAN if is_allowed else "", source=source)
    if args.flag("dry_run"):
        found = importing.rehearse_import(session.boardroom, team, who, wishes_of(drafts, source=source), source)
        return _would_import(session, team, wishes, found)
    allowed = wishes_of(drafts, allowed_by=HUMAN, source=source)
    if is_allowed:
        check_person(session.room, "say yes to commands")
    elif _is_asked_and_says_yes(session, team, who, allowed, source):
        is_allowed, wishes = True, allowed
    with Spinner(session, f"adding {counted(len(wishes), 'task')}"):
        done = importing.reimport(session.boardroom, team, who, wishes, source)
    _show_commands(session, done.news, is_allowed=is_allowed)
    for warning in done.warnings:
        session.warn(f"note: {warning}")
    return _imported(session, team, done)


def warn_of_unknown_keys(session: Session, drafts: Sequence[TaskDraft]) -> None:
    from atm.board.formats.checklist import KNOWN_KEYS
    from atm.board.formats.task_drafts import unknown_in_words

    for warning in unknown_in_words(drafts, KNOWN_KEYS):
        session.warn(f"Warning: {warning}")


def _source(name: str) -> str:
    """Where the plan lies, by which its tasks are known when it is imported again; what was piped in lies nowhere."""
    import os

    return "" if name == "-" else os.path.realpath(name)


def _is_asked_and_says_yes(session: Session, team: str, who: str, wishes: list[NewTask], source: str) -> bool:
    """A person at a terminal, before anything is written; an agent is not asked, and its answer would not count."""
    if not commands_in(wishes) or not can_ask(session) or not is_person(session.room):
        return False
    # Nobody is asked about a plan that cannot be taken, nor about what they have allowed before.
    commands = importing.rehearse_import(session.boardroom, team, who, wishes, source).to_allow
    if not commands:
        return False
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
    what = counted(len(commands), "command")
    session.warn(f"note: {what} of this plan {when} when its tasks are completed:")
    for one in commands:
        session.warn(f"  {one['subject']}: {one['command']}")


def _would_import(session: Session, team: str, wishes: list[NewTask], found: Imported) -> int:
    subjects = [task.subject for task in found.added]
    result = {"action": "import", "team": team, "dry_run": True, "count": len(subjects), "subjects": subjects}
    listed = [f"  {one_line(subject)}" for subject in subjects]
    what = counted(len(subjects), "task")
    head = f"would add {what}:" if subjects else _summary("would change", found)
    words = "\n".join([head, *listed, *_rest_lines("would change", found)])
    session.tell({**result, **_rest(found), "commands": commands_in(wishes)}, words)
    _show_commands(session, found.news, is_allowed=False)
    return 0


def _imported(session: Session, team: str, done: Imported) -> int:
    result: dict[str, object] = {"action": "import", "team": team, "count": len(done.added)}
    if session.as_json:
        board = done.board.turn_around()
        result |= {"tasks": [card_json(task, board) for task in done.added], **_rest(done)}
    session.tell(result, "\n".join([_summary("changed", done), *_rest_lines("changed", done)]))
    return 0


def _rest(found: Imported) -> dict[str, object]:
    """What became of every line of the plan."""
    return {
        "added": [task.id for task in found.added],
        "changed": [{"id": one.id, "subject": one.subject, "what": one.what} for one in found.changed],
        "unchanged": found.unchanged,
        "kept": [{"id": one.id, "subject": one.subject, "what": one.what, "why": one.why} for one in found.kept],
        "missing": [{"id": c.id, "subject": c.subject, "state": found.board.state(c)} for c in found.missing],
    }


def _summary(verb: str, found: Imported) -> str:
    tasks = found.added
    if len(tasks) == 1:
        return f"added #{tasks[0].id} {one_line(tasks[0].subject)}"
    if tasks:
        return f"added {len(tasks)} tasks, #{tasks[0].id} to #{tasks[-1].id}"
    if not found.changed:
        return f"nothing to add: {len(found.unchanged)} unchanged"
    return f"{verb} {len(found.changed)}, {len(found.unchanged)} unchanged"


def _rest_lines(verb: str, found: Imported) -> list[str]:
    """Only what is worth a look: what changed, what was left alone and why, and what the plan has forgotten."""
    lines = [f"  {verb} #{one.id} {one_line(one.subject)}: {', '.join(one.what)}" for one in found.changed]
    lines += [f"  left alone #{one.id} {one_line(one.subject)}: {one_line(one.why)}" for one in found.kept]
    lines += [f"  not in the plan any more #{card.id} {one_line(card.subject)}: it stays" for card in found.missing]
    return lines


def read_text(name: str) -> str:
    """A file, or standard input for `-`."""
    import sys

    try:
        if name == "-":
            if sys.stdin is None:
                raise BadTask("standard input is closed", "name a file, or pipe the text in")
            interruptions.until_readable(sys.stdin)
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
