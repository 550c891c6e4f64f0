"""Tools for whoever works on a task: claim, start, complete, fail, release, assign, cancel, reopen, beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.domain.names import check_known_name
from atm.domain.team.team import check_open
from atm.services.board import working as board
from atm.services.board.boardroom import SERVER_SOURCE
from atm.services.team.presence import beat
from atm.ui.mcp.actor import actor, sign
from atm.ui.mcp.board.changes import CLAIM_ID, ID, acting, answer, changed, whose
from atm.ui.mcp.board.view import TASK, work
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import count, gives, takes, text, yes_no
from atm.ui.mcp.tool import BOSSES
from atm.ui.mcp.wording import NOTICE, beginning, known, line, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.domain.plain import Plain
    from atm.domain.team.team import Team
    from atm.services.board.hooks import HookVerdict
    from atm.services.board.working import Claimed
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.definition import Given

LONGEST_FEEDBACK = 2_000


def _claim(caller: Caller, given: Given) -> dict[str, Plain]:
    id = given.text("id") if given.has("id") else None
    return _got(caller, lambda team, me: board.claim(caller.boardroom, team, me, id))


def _start(caller: Caller, given: Given) -> dict[str, Plain]:
    return _got(caller, lambda team, me: board.start(caller.boardroom, team, me, given.text("id")))


def _got(caller: Caller, take: Callable[[Team, str], Claimed]) -> dict[str, Plain]:
    """A task, or why there is none: that is no error."""
    team, me = actor(caller)
    done = take(team, me)
    sign(caller, team, me)
    result: dict[str, Plain] = {"claimed": done.task is not None, **known({"warnings": lines(_warnings(done))})}
    task = done.task
    if task is not None:
        shown = work(task, done.board, lambda check: whose(caller, team.name, task, check))
        return {**result, "task": shown, "resumed": done.is_resumed, "notice": NOTICE}
    refusal = done.refusal
    result["reason_code"] = refusal.code if refusal else "contended"
    result["reason"] = line(refusal.why, 300) if refusal else "other programs took every task first"
    return {**result, **_said_by_hook(done.verdict)}


def _warnings(done: Claimed) -> list[str]:
    released = [f"#{id} was taken back from a member that went silent" for id in done.released]
    touched = [f"#{id} is in progress and touches {', '.join(found[:5])} too" for id, found in done.overlaps.items()]
    return [*released, *touched, *(done.verdict.warnings if done.verdict else ())]


def _said_by_hook(verdict: HookVerdict | None) -> dict[str, Plain]:
    if verdict is None:
        return {}
    feedback = beginning(verdict.feedback, LONGEST_FEEDBACK) if verdict.is_blocked else ""
    return known({"feedback": feedback, "stop_reason": line(verdict.stop_reason or "", 300)})


def _complete(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    done = board.complete(
        caller.boardroom,
        team,
        me,
        given.text("id"),
        result=given.text("result"),
        claim_id=given.text("claim_id"),
        commit=given.text("commit"),
    )
    unblocked: list[Plain] = [*done.unblocked[:20]]
    warnings = done.verdict.warnings if done.verdict else []
    more = {"unblocked": unblocked, **_said_by_hook(done.verdict)}
    return answer(caller, done.task, done.board, warnings=warnings, more=more)


def _fail(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    task = board.fail(
        caller.boardroom,
        team,
        me,
        given.text("id"),
        given.text("error"),
        claim_id=given.text("claim_id"),
        final=given.flag("final"),
    )
    left = 0 if task.outcome else task.max_retries + 1 - task.failures
    return answer(caller, task, more={"attempts_left": left})


def _release(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    id, reason, claim_id = (given.text(key) for key in ("id", "reason", "claim_id"))
    return answer(caller, board.release(caller.boardroom, team, me, id, reason=reason, claim_id=claim_id))


def _reopen(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return answer(caller, board.reopen(caller.boardroom, team, me, given.text("id"), given.text("reason")))


def _assign(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = actor(caller)
    to = check_known_name(given.text("to"), "member")
    member = team.member(to)
    task, warnings = board.assign(caller.boardroom, team.name, me, given.text("id"), member.name if member else to)
    stranger = [] if member else [f"{to} is not in the roster of {team.name}"]
    return answer(caller, task, warnings=[*stranger, *warnings])


def _cancel(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    task, lost = board.cancel(caller.boardroom, team, me, given.text("id"), given.text("reason"))
    unreachable: list[Plain] = [*lost[:20]]
    return answer(caller, task, more={"unreachable": unreachable})


def _beat(caller: Caller, _: Given) -> dict[str, Plain]:
    """Always written, however recent the last one is: whoever asks for it wants to be seen now."""
    team, me = actor(caller)
    beat(caller.room.presence, check_open(team), me, caller.room.clock.now(), SERVER_SOURCE)
    return {"member": me}


GOT = gives({"claimed": yes_no()}, {"task": TASK, "reason": text()})

TOOLS = (
    define(
        "board_claim",
        "Claim a task",
        "Take a task: this one, else your own unfinished one, else the most urgent that is free. "
        "If claimed is false, reason says why.",
        _claim,
        takes=takes(optional={"id": ID}),
        gives=GOT,
        idempotent=True,
    ),
    define(
        "board_start",
        "Start a task",
        "Begin a task, claimed if need be; refused while its plan is not approved.",
        _start,
        takes=takes({"id": ID}),
        gives=GOT,
        idempotent=True,
    ),
    define(
        "board_complete",
        "Complete a task",
        "Finish a task you claimed. Its checks run first; if that takes too long, call again.",
        _complete,
        takes=takes(
            {"id": ID},
            {"result": text(), "commit": text("for its checks"), "claim_id": CLAIM_ID},
        ),
        gives=changed(),
        idempotent=True,
    ),
    define(
        "board_fail",
        "Fail a task",
        "An attempt went wrong: back to the board, or failed for good with final or after the last retry.",
        _fail,
        takes=takes({"id": ID, "error": text()}, {"final": yes_no(), "claim_id": CLAIM_ID}),
        gives=changed({"attempts_left": count()}),
    ),
    define(
        "board_release",
        "Release a task",
        "Give a task back without blame. Lead and human may take it from others.",
        _release,
        takes=takes({"id": ID}, {"reason": text(), "claim_id": CLAIM_ID}),
        gives=changed(),
    ),
    define(
        "board_assign",
        "Assign a task",
        "Give a task to a member, who is told; whoever works on it stops.",
        _assign,
        takes=takes({"id": ID, "to": text()}),
        gives=changed(),
        idempotent=True,
    ),
    define(
        "board_cancel",
        "Cancel a task",
        "Nobody shall do it; what depends on it becomes unreachable.",
        _cancel,
        takes=takes({"id": ID, "reason": text()}),
        gives=changed(),
        destroys=True,
        idempotent=True,
    ),
    define(
        "board_reopen",
        "Reopen a task",
        "Bring a completed, failed or cancelled task back to the board.",
        _reopen,
        takes=takes({"id": ID, "reason": text()}),
        gives=changed(),
        roles=BOSSES,
        destroys=True,
    ),
    define(
        "board_beat",
        "Sign of life",
        "For long work without other calls: claims are released after 10 minutes of silence.",
        _beat,
        gives=gives({"member": text()}),
        idempotent=True,
    ),
)
