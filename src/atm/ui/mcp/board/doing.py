"""The verbs of the board as tools, and the sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.rules.plans import check_may_begin
from atm.board.services.boardroom import SERVER_SOURCE
from atm.board.services.working import Claimed
from atm.core.work_errors import PlanRefused
from atm.team.rules.team import check_open
from atm.team.services.presence import beat
from atm.ui.mcp.actor import actor, leads, sign
from atm.ui.mcp.board.changes import answer, changed, whose
from atm.ui.mcp.board.view import TASK, TASKS, preview, work
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, many, takes, text, whole, yes_no
from atm.ui.mcp.tool import BOSSES, WORKERS
from atm.ui.mcp.wording import NOTICE, beginning, known, line, lines
from atm.ui.verbs.board import table
from atm.ui.verbs.verb import COMMAND, FLAG, MANY, WHOLE, Acting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.tasks import Task
    from atm.board.services.hooks import HookVerdict
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Schema, Tool
    from atm.ui.verbs.verb import Done, Given, Parameter, Verb

LONGEST_FEEDBACK = 2_000
MOST_SHOWN = 20
"""Of the ids and parts that an answer lists."""

GOT = gives({"claimed": yes_no()}, {"task": TASK, "reason": text(), "begin_not_yet": text()})
GIVES: Mapping[Verb, Schema] = {
    table.CLAIM: GOT,
    table.COMPLETE: gives({}, {"task": TASK, "under_way": yes_no()}),
    table.FAIL: changed({"attempts_left": count()}),
    table.SPLIT: changed({"parts": TASKS}),
    table.COMMENT: changed({"comment_id": text()}),
}


def tool_of(verb: Verb) -> Tool:
    offered = [one for one in verb.parameters if one.only != COMMAND]

    def does(caller: Caller, given: Given) -> dict[str, Plain]:
        team, me = actor(caller)
        done = verb.does(Acting(caller.boardroom, team, me, is_boss=lambda: leads(caller, team)), given)
        if isinstance(done, Claimed):
            return _got(caller, team, me, done)
        return {**_changed(caller, done), **({"claimed": True} if verb is table.CLAIM else {})}

    return define(
        verb.tool,
        verb.title,
        verb.about,
        does,
        takes=takes(
            {one.name: _schema(one) for one in offered if one.is_required},
            {one.name: _schema(one) for one in offered if not one.is_required},
        ),
        gives=GIVES.get(verb, changed()),
        roles=BOSSES if verb.for_bosses else WORKERS,
        destroys=verb.is_destructive,
        idempotent=verb.is_idempotent,
        lasts=verb is table.COMPLETE,
    )


def _schema(one: Parameter) -> Schema:
    if one.choices:
        return choice(*one.choices, about=one.brief)
    kinds = {FLAG: yes_no, WHOLE: whole}
    if one.kind in kinds:
        return kinds[one.kind](one.brief)
    return many(text(), one.brief) if one.kind == MANY else text(one.brief, longest=one.longest)


def _changed(caller: Caller, done: Done) -> dict[str, Plain]:
    more: dict[str, Plain] = {
        key: value[:MOST_SHOWN] if isinstance(value, list) else value for key, value in done.facts.items()
    }
    if done.parts is not None and done.board is not None:
        more["parts"] = [preview(part, done.board) for part in done.parts[:MOST_SHOWN]]
    more |= _said_by_hook(done.verdict)
    return answer(caller, done.task, done.board, warnings=done.warnings, more=more)


def _got(caller: Caller, team: Team, me: str, done: Claimed) -> dict[str, Plain]:
    """A task, or why there is none: that is no error."""
    sign(caller, team, me)
    result: dict[str, Plain] = {"claimed": done.task is not None, **known({"warnings": lines(done.warnings)})}
    task = done.task
    if task is not None:
        shown = work(task, done.board, lambda check: whose(caller, team.name, task, check))
        return {**result, "task": shown, "resumed": done.is_resumed, "notice": NOTICE, **_not_yet(task)}
    result["reason_code"] = done.refusal.code if done.refusal else "contended"
    result["reason"] = line(done.why_nothing, 300)
    return {**result, **_said_by_hook(done.verdict)}


def _not_yet(task: Task) -> dict[str, Plain]:
    """It is theirs, and must not be begun: its plan is not approved."""
    try:
        check_may_begin(task)
    except PlanRefused as error:
        return {"begin_not_yet": line(f"{error}; {error.remedy}", 300)}
    return {}


def _said_by_hook(verdict: HookVerdict | None) -> dict[str, Plain]:
    if verdict is None:
        return {}
    feedback = beginning(verdict.feedback, LONGEST_FEEDBACK) if verdict.is_blocked else ""
    return known({"feedback": feedback, "stop_reason": line(verdict.stop_reason or "", 300)})


def _beat(caller: Caller, _: Given) -> dict[str, Plain]:
    """Always written, however recent the last one is: whoever asks for it wants to be seen now."""
    team, me = actor(caller)
    beat(caller.room.presence, check_open(team), me, caller.room.clock.now(), SERVER_SOURCE)
    return {"member": me}


TOOLS = (
    *(tool_of(verb) for verb in table.ALL if not verb.within),
    define(
        "board_beat",
        "Sign of life",
        "In long work without calls: claims end after 10 minutes of silence.",
        _beat,
        gives=gives({"member": text()}),
        idempotent=True,
    ),
)
