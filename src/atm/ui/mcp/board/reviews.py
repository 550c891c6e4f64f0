"""Tools for reviews: request, start, approve, ask for changes. Nobody reviews their own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.services.board import reviews
from atm.ui.mcp.board.changes import ID, acting, changed, outcome
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import takes, text

if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.definition import Given


def _request(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.request_review(caller.boardroom, team, me, given.text("id"), given.text("reviewer")))


def _start(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.start_review(caller.boardroom, team, me, given.text("id")))


def _approve(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.approve(caller.boardroom, team, me, given.text("id"), given.text("note")))


def _changes(caller: Caller, given: Given) -> dict[str, Plain]:
    team, me = acting(caller)
    return outcome(caller, reviews.request_changes(caller.boardroom, team, me, given.text("id"), given.text("note")))


TOOLS = (
    define(
        "review_request",
        "Request review",
        "Your work on a task is done and somebody else shall look: the reviewer, or the lead, is told.",
        _request,
        takes=takes({"id": ID}, {"reviewer": text()}),
        gives=changed(),
    ),
    define(
        "review_start",
        "Start a review",
        "Begin to review a task that is not yours.",
        _start,
        takes=takes({"id": ID}),
        gives=changed(),
    ),
    define(
        "review_approve",
        "Approve work",
        "The work is good: its owner is told and can complete it.",
        _approve,
        takes=takes({"id": ID}, {"note": text()}),
        gives=changed(),
    ),
    define(
        "review_changes",
        "Request changes",
        "The work needs changes: back to its owner, who is told.",
        _changes,
        takes=takes({"id": ID, "note": text()}),
        gives=changed(),
    ),
)
