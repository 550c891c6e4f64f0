"""The tool that adds a whole plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.services import planning
from atm.board.services.new_tasks import NewTask, commands_in, wishes_of
from atm.core.work_errors import BadTask
from atm.ui.mcp.actor import actor, sign
from atm.ui.mcp.board.view import TASKS, preview
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, takes, text, yes_no
from atm.ui.mcp.tool import BOSSES
from atm.ui.mcp.wording import known, line, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.services.planning import Added
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

MOST_SHOWN = 20
"""Of the tasks that were added together."""

WAIT = "They run only after a person's yes: atm tasks complete ID --allow-checks, in the person's own terminal."

FORMATS = ("markdown", "json", "yaml")


def _import(caller: Caller, given: Given) -> dict[str, Plain]:
    from atm.board.formats.task_import import NotAPlan, kind_of, read_plan

    team, me = actor(caller)
    said = given.text("plan")
    try:
        drafts = read_plan(said, given.text("format") or kind_of("plan", said))
    except NotAPlan as error:
        raise BadTask(f"that is not a plan: {error}", "mend it, or say what it is with format") from None
    wishes = wishes_of(drafts)
    if given.flag("dry_run"):
        return _rehearsed(planning.rehearse(caller.boardroom, team.name, wishes))
    added = planning.add(caller.boardroom, team.name, me, wishes)
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


TOOLS = (
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
)
