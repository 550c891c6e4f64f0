"""Tools for plans that need approval. No answer means no (D18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.services.board import reviews
from atm.ui.mcp.board.changes import ID, acting, changed, outcome
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import takes, text
from atm.ui.mcp.tool import BOSSES

if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.definition import Given


def _submit(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.submit_plan(caller.boardroom, team, me, given.text("id"), given.text("text")))


def _approve(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.approve_plan(caller.boardroom, team, me, given.text("id"), given.text("note")))


def _reject(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.reject_plan(caller.boardroom, team, me, given.text("id"), given.text("feedback")))


TOOLS = (
    define(
        "plan_submit",
        "Submit a plan",
        "Say how you will do a task you claimed, and wait for approval: no answer means no.",
        _submit,
        takes=takes({"id": ID, "text": text()}),
        gives=changed(),
    ),
    define(
        "plan_approve",
        "Approve a plan",
        "Approve the plan of a task; its owner is told and begins. Read it with board_show, part plan.",
        _approve,
        takes=takes({"id": ID}, {"note": text()}),
        gives=changed(),
        roles=BOSSES,
    ),
    define(
        "plan_reject",
        "Reject a plan",
        "Reject the plan of a task and say why; its owner is told.",
        _reject,
        takes=takes({"id": ID, "feedback": text()}),
        gives=changed(),
        roles=BOSSES,
    ),
)
