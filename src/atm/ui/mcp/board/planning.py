"""Tools that shape the board: add, import, split, depend; and talk about tasks: comment, ask, answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.domain.board.acceptance import COMMAND, FILE, check
from atm.domain.board.tasks import PRIORITIES
from atm.domain.errors import BadTask, NotAllowed, UsageError
from atm.services.board import planning, reviews
from atm.services.board import working as board
from atm.services.board.new_tasks import NewTask, commands_in, wishes_of
from atm.ui.mcp.actor import actor, leads, sign
from atm.ui.mcp.board.changes import ID, acting, answer, changed, outcome
from atm.ui.mcp.board.view import TASKS, preview
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, many, takes, text, yes_no
from atm.ui.mcp.tool import BOSSES
from atm.ui.mcp.wording import known, line, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.domain.plain import Plain, Record
    from atm.services.board.planning import Added
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.definition import Given

MOST_SHOWN = 20
"""Of the tasks that were added together."""

WAIT = "They run only after a person's yes: atm tasks complete ID --allow-checks, in the person's own terminal."

FORMATS = ("markdown", "json", "yaml")


def _add(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    wish = NewTask(
        given.text("subject"),
        description=given.text("description"),
        depends_on=given.texts("depends_on"),
        priority=given.text("priority") or "normal",
        files=given.texts("files"),
        owner=given.text("owner"),
        reviewer=given.text("reviewer"),
        needs_plan=given.flag("needs_plan"),
        acceptance=_checks(caller, given),
    )
    added = planning.add(caller.boardroom, team, me, [wish])
    return answer(caller, added.tasks[0], added.board, warnings=added.warnings)


def _checks(caller: Caller, given: Given) -> list[Record]:
    """
    What must be true before the task counts as completed.

    Checks run in the daemon, outside of whatever fences an agent in. An agent that may only call this server must not
    get a shell by it, nor learn which files there are (G11), so they are for the lead and humans.
    """
    commands, files = given.texts("accept_commands"), given.texts("accept_files")
    team, _ = actor(caller)
    if (commands or files) and not leads(caller, team):
        raise NotAllowed("only the lead and humans may set checks", "leave them out, or ask the lead")
    return [check(COMMAND, one) for one in commands] + [check(FILE, one) for one in files]


def _import(caller: Caller, given: Given) -> dict[str, Plain]:
    from atm.formats.board.task_import import NotAPlan, kind_of, read_plan

    team, me = acting(caller)
    said = given.text("plan")
    try:
        drafts = read_plan(said, given.text("format") or kind_of("plan", said))
    except NotAPlan as error:
        raise BadTask(f"that is not a plan: {error}", "mend it, or say what it is with format") from None
    wishes = wishes_of(drafts)
    if given.flag("dry_run"):
        return _rehearsed(planning.rehearse(caller.boardroom, team, wishes))
    added = planning.add(caller.boardroom, team, me, wishes)
    return {**_added(caller, added), **_commands(wishes)}


def _rehearsed(wishes: Sequence[NewTask]) -> dict[str, Plain]:
    tasks: list[Plain] = [{"subject": line(wish.subject)} for wish in wishes[:MOST_SHOWN]]
    return {"count": len(wishes), "tasks": tasks, "dry_run": True, **_commands(wishes)}


def _commands(wishes: Sequence[NewTask]) -> dict[str, Plain]:
    """A plan is a text from somewhere: whoever hands it in hears what it would have run, and that this waits."""
    found = commands_in(wishes)
    if not found:
        return {}
    shown: list[Plain] = [{key: line(said) for key, said in one.items()} for one in found[:MOST_SHOWN]]
    return {"commands": shown, "command_count": len(found), "commands_wait": WAIT}


def _added(caller: Caller, added: Added) -> dict[str, Plain]:
    team, me = actor(caller)
    sign(caller, team, me)
    tasks: list[Plain] = [preview(task, added.board) for task in added.tasks[:MOST_SHOWN]]
    return {"count": len(added.tasks), "tasks": tasks, **known({"warnings": lines(added.warnings)})}


def _split(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    wishes = [NewTask(subject) for subject in given.texts("into")]
    task, added = planning.split(caller.boardroom, team, me, given.text("id"), wishes)
    parts: list[Plain] = [preview(part, added.board) for part in added.tasks[:MOST_SHOWN]]
    return answer(caller, task, added.board, warnings=added.warnings, more={"parts": parts})


def _depend(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    on, off = given.texts("on"), given.texts("off")
    if not on and not off:
        raise UsageError("neither on nor off was given", "say what it shall wait for, or not any more")
    task, _ = planning.depend(caller.boardroom, team, me, given.text("id"), on, off)
    return answer(caller, task)


def _comment(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    task, id = board.comment(caller.boardroom, team, me, given.text("id"), given.text("text"))
    return answer(caller, task, more={"comment_id": id})


def _ask(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    whom = given.text("whom") or "lead"
    return outcome(caller, reviews.ask(caller.boardroom, team, me, given.text("id"), whom, given.text("question")))


def _answer(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.answer(caller.boardroom, team, me, given.text("id"), given.text("text")))


TOOLS = (
    define(
        "board_add",
        "Add a task",
        "Add a task. depends_on: numbers or titles. owner: only they can claim it, and they are told. "
        "accept_*: what proves that it is done; lead and human only.",
        _add,
        takes=takes(
            {"subject": text(longest=500)},
            {
                "description": text(),
                "depends_on": many(text()),
                "priority": choice(*PRIORITIES),
                "files": many(text(), "globs"),
                "owner": text(),
                "reviewer": text("it needs a review by them"),
                "needs_plan": yes_no(),
                "accept_commands": many(text()),
                "accept_files": many(text()),
            },
        ),
        gives=changed(),
    ),
    define(
        "board_import",
        "Import a plan",
        "Add all tasks of a plan, or none: a Markdown checklist, JSON or YAML as text.",
        _import,
        takes=takes({"plan": text()}, {"format": choice(*FORMATS), "dry_run": yes_no("only check it")}),
        gives=gives(
            {"count": count(), "tasks": TASKS},
            {"dry_run": yes_no(), "commands": TASKS, "command_count": count(), "commands_wait": text()},
        ),
        roles=BOSSES,
    ),
    define(
        "board_split",
        "Split a task",
        "Make several tasks of one, which then waits for its parts.",
        _split,
        takes=takes({"id": ID, "into": many(text(), "subjects")}),
        gives=changed({"parts": TASKS}),
    ),
    define(
        "board_depend",
        "Dependencies",
        "Block a task by others (on) or unblock it (off).",
        _depend,
        takes=takes({"id": ID}, {"on": many(text()), "off": many(text())}),
        gives=changed(),
        idempotent=True,
    ),
    define(
        "board_comment",
        "Comment",
        "Add a remark to a task.",
        _comment,
        takes=takes({"id": ID, "text": text()}),
        gives=changed({"comment_id": text()}),
    ),
    define(
        "board_ask",
        "Ask",
        "A task cannot go on without an answer: it waits, and the lead is told.",
        _ask,
        takes=takes({"id": ID, "question": text()}, {"whom": choice("lead", "user", about="default lead")}),
        gives=changed(),
    ),
    define(
        "board_answer",
        "Answer",
        "Answer what was asked about a task; it goes on, and whoever asked is told.",
        _answer,
        takes=takes({"id": ID, "text": text()}),
        gives=changed(),
        roles=BOSSES,
    ),
)
