"""Tools for leads and people: what agents ask for, and answers. Who answers is the connection, never an argument."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from atm.approvals.formats.records import approval_json
from atm.approvals.rules.requests import APPROVED, DENIED
from atm.approvals.services.answering import find_approval, give_answer
from atm.approvals.services.looking import waiting_in
from atm.ui.mcp.actor import actor, home
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, gives, listed, takes, text
from atm.ui.mcp.tool import BOSSES
from atm.ui.mcp.wording import body, line
from atm.wiring.approvals import build_approvalroom

if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

OBJECT = {"type": "object"}
MOST = 50
LONG = ("command", "diff")


def _room(caller: Caller) -> Approvalroom:
    return build_approvalroom(caller.layout, caller.settings, caller.room, lambda: caller.boardroom)


def _shown(approval: Approval, now: float) -> dict[str, Plain]:
    """Every text in it is an agent's."""
    said = {key: value for key, value in approval_json(approval, now).items() if value not in (None, "", [])}
    return {key: _harmless(key, value) for key, value in said.items()}


def _harmless(key: str, value: Plain) -> Plain:
    if isinstance(value, dict):
        return {name: _harmless(name, one) for name, one in value.items()}
    if isinstance(value, list):
        return [line(one) if isinstance(one, str) else one for one in value]
    return (body(value) if key in LONG else line(value)) if isinstance(value, str) else value


def _list(caller: Caller, given: Given) -> dict[str, Plain]:
    room, team = _room(caller), home(caller)
    id, now = given.text("id"), room.clock.now()
    found = [find_approval(room, [team.name], id)] if id else waiting_in(room, team.name)
    return {"approvals": [_shown(one, now) for one in found[:MOST]], "total": len(found)}


def _answer(caller: Caller, given: Given) -> dict[str, Plain]:
    room = _room(caller)
    team, me = actor(caller)
    approval = find_approval(room, [team.name], given.text("id"))
    state = APPROVED if given.text("answer") == "approve" else DENIED
    how = f"MCP, {caller.source}, role {caller.role}, process {caller.pid or os.getpid()}"
    done = give_answer(room, approval, me, state, given.text("reason"), how)
    return {"approval": _shown(done, room.clock.now())}


TOOLS = (
    define(
        "approval_list",
        "Approvals",
        "What agents ask for and waits for an answer; one with `id`.",
        _list,
        takes=takes(optional={"id": text("or its beginning")}),
        gives=gives({"approvals": listed(OBJECT)}),
        roles=BOSSES,
        reads_only=True,
    ),
    define(
        "approval_answer",
        "Answer",
        "Approve or deny one, once. A lead answers only what rules leave to leads.",
        _answer,
        takes=takes(
            {"id": text(), "answer": choice("approve", "deny")}, optional={"reason": text("why; needed to deny")}
        ),
        gives=gives({"approval": OBJECT}),
        roles=BOSSES,
    ),
)
