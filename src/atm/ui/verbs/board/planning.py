"""Add, edit, split, depend."""

from __future__ import annotations

import os

from atm.board.rules.acceptance import COMMAND, COMMIT, FILE, RUN, TESTS, check
from atm.board.rules.time_limits import read_limit
from atm.board.services import planning
from atm.board.services.importing import edit
from atm.board.services.new_tasks import NewTask
from atm.core.errors import NotAllowed, UsageError
from atm.ui.verbs.verb import Done, ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record
    from atm.ui.verbs.verb import Acting, Does, Given

CHECKS = {"accept_commands": COMMAND, "accept_tests": TESTS, "accept_files": FILE, "accept_commits": COMMIT}


def _add(acting: Acting, given: Given) -> Done:
    folder, checks = given.text("folder"), _checks(acting, given)
    wish = NewTask(
        given.text("subject"),
        description=given.text("description"),
        depends_on=_named(given.texts("depends_on")),
        priority=given.text("priority") or "normal",
        files=given.texts("files"),
        owner=given.text("owner"),
        quantum=given.text("quantum"),
        runtime=given.text("runtime"),
        reviewer=given.text("reviewer"),
        needs_plan=given.flag("needs_plan"),
        acceptance=checks,
        run=[check(RUN, command) for command in given.texts("run")],
        folder=os.path.abspath(os.path.expanduser(folder)) if folder else "",
        max_retries=given.whole("max_retries") if given.has("max_retries") else None,
        timeout=_limit(given),
    )
    added = planning.add(acting.boardroom, acting.team.name, acting.who, [wish])
    task = added.tasks[0]
    waits = f", which waits for {ids(task.blocked_by)}" if task.blocked_by else ""
    return Done(task, f"added #{task.id} {task.subject}{waits}", board=added.board, warnings=added.warnings)


def _limit(given: Given) -> float | None:
    """None for the default: the option is missing, or is one empty word."""
    return read_limit(given.text("timeout")) if given.text("timeout") else None


def checks_given(acting: Acting, given: Given) -> list[Record]:
    """The checks that take the place of others; an empty word clears them."""
    return _checks(acting, given.with_values({key: [*filter(None, given.texts(key))] for key in CHECKS}))


def _checks(acting: Acting, given: Given) -> list[Record]:
    """
    What must be true before the task counts as completed.

    A server runs checks outside of whatever fences an agent in. An agent that may only call it must not get a shell by
    that, nor learn which files there are (G11), so there they are for the lead and humans.
    """
    checks = [check(kind, about) for key, kind in CHECKS.items() for about in given.texts(key)]
    if checks and acting.boardroom.is_server and not acting.is_boss():
        raise NotAllowed("only the lead and humans may set checks", "leave them out, or ask the lead")
    return checks


def _named(given: list[str]) -> list[str]:
    """`1,2 3` as three ids; a title with a comma in it stays one."""
    parts = []
    for word in given:
        pieces = [piece.strip() for piece in word.split(",")]
        parts += pieces if all(piece.lstrip("#").isdecimal() for piece in pieces) else [word]
    return parts


def _split(acting: Acting, given: Given) -> Done:
    wishes = [NewTask(subject) for subject in given.texts("into")]
    task, added = planning.split(acting.boardroom, acting.team.name, acting.who, given.text("id"), wishes)
    words = f"#{task.id} waits for its parts: {ids([part.id for part in added.tasks])}"
    return Done(task, words, board=added.board, warnings=added.warnings, parts=added.tasks)


def _depend(acting: Acting, given: Given) -> Done:
    on, off = ([acting.meant(one) for one in _named(given.texts(key))] for key in ("on", "off"))
    if not on and not off:
        raise UsageError(
            "neither on nor off was given", "say what it shall wait for (--on ID), or not any more (--off ID)"
        )
    task, waits_for = planning.depend(acting.boardroom, acting.team.name, acting.who, given.text("id"), on, off)
    words = f"#{task.id} waits for {ids(waits_for) or 'nothing'}"
    return Done(task, words, details={"blocked_by_open": [*waits_for]})


def _edit(acting: Acting, given: Given) -> Done:
    wants: dict[str, Plain] = {key: given.text(key) for key in ("subject", "description", "priority") if given.has(key)}
    said = given.with_values({key: [*filter(None, given.texts(key))] for key in ("files", *CHECKS) if given.has(key)})
    if given.has("files"):
        wants["files"] = [*said.texts("files")]
    if given.has("timeout"):
        wants["timeout"] = _limit(given)
    if any(given.has(key) for key in CHECKS):
        wants["acceptance"] = [*_checks(acting, said)]
    if not wants:
        raise UsageError(
            "nothing to change was given",
            "say what: --title, --description, --priority, --files, --timeout, --accept",
        )
    task, what, warnings = edit(acting.boardroom, acting.team.name, acting.who, given.text("id"), wants)
    words = (
        f"changed #{task.id} {task.subject}: {', '.join(what)}" if what else f"#{task.id} {task.subject} is so already"
    )
    return Done(task, words, warnings=warnings, facts={"changed": [*what]})


DOES: dict[str, Does] = {"board_edit": _edit, "board_add": _add, "board_split": _split, "board_depend": _depend}
