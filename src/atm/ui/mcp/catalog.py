"""All tools, and which of them a role gets to see."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from atm.core.errors import RequestError
from atm.ui.mcp import roster as team_tools
from atm.ui.mcp import worksync as worksync_tools
from atm.ui.mcp.approvals import answering as approval_tools
from atm.ui.mcp.board import doing as board_verbs
from atm.ui.mcp.board import importing as import_tools
from atm.ui.mcp.board import looking as board_tools
from atm.ui.mcp.mail import reading as reading_tools
from atm.ui.mcp.mail import sending as mail_tools
from atm.ui.mcp.mail.reading import confirm, give_back

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Tool

GROUPS = {
    "mail": "messages between members",
    "board": "tasks, their dependencies and who works on them",
    "plan": "plans that need approval",
    "review": "work that somebody else looks at",
    "approval": "what agents ask for",
    "worksync": "does each member know its current work",
    "team": "how the team stands, and who is there",
}
"""Each group and what it is about, in the order in which tools are listed."""

RESERVED = (
    *("session_list", "session_show", "session_resume", "session_checkpoint", "session_stop"),
    *("approval_show", "approval_request"),
)
"""Names of tools that may come with sessions and approvals. Nothing else may be called so."""


MOVED = {
    "whoami": ("task_briefing", "it says who you are, too"),
    "team_members": ("team_status", "its members are there"),
    "mail_receipts": ("mail_inbox", "with trace for one message, with unacknowledged for what waits"),
    "board_history": ("board_list", "with view history; of one task: board_show with part history"),
    "board_graph": ("board_list", "with view graph"),
    "board_start": ("board_claim", "with the task's id; begin_not_yet says if its plan is not approved"),
    "review_start": ("board_claim", "with the task's id and review"),
}
"""
Tools that became part of others in 0.1.0: there were 35 for a teammate, and every agent reads all of them. Whoever
calls one by its former name is told its new one, until 0.2.0.
"""


class ToolMoved(RequestError):
    """A former name of a tool."""

    code = "tool-moved"


def moved(role: str, name: str) -> ToolMoved | None:
    """What to tell whoever in this role calls a tool by its former name; None if it never was one of theirs."""
    new, how = MOVED.get(name, ("", ""))
    if find_tool(role, new) is None:
        return None
    return ToolMoved(f"{name} is part of {new} now", f"call {new}: {how}")


@cache
def all_tools() -> tuple[Tool, ...]:
    found = [
        *(*mail_tools.TOOLS, *reading_tools.TOOLS),
        *(*board_tools.TOOLS, *board_verbs.TOOLS, *import_tools.TOOLS),
        *approval_tools.TOOLS,
        *team_tools.TOOLS,
        *worksync_tools.TOOLS,
    ]
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda tool: order.index(tool.group)))


def tools_for(role: str) -> list[Tool]:
    """What a role may see; nothing for a role that does not exist."""
    return [tool for tool in all_tools() if role in tool.roles]


def find_tool(role: str, name: str) -> Tool | None:
    """None also for a tool that exists, but not for this role."""
    return next((tool for tool in tools_for(role) if tool.name == name), None)


def not_delivered(caller: Caller, tool: str, result: dict[str, Plain], why: str) -> None:
    """
    Call this if the result of a tool could not be handed to the client: it gave up waiting, or is gone.

    Only what shows mail needs it: what was marked as read has been seen by nobody.
    """
    messages = _mail_in(tool, result)
    if messages:
        give_back(caller, messages, why)


def seen(caller: Caller, tool: str, result: dict[str, Plain], evidence: str) -> None:
    """Call this if the client went on after a result was sent to it: mail that is in it has been read."""
    messages = _mail_in(tool, result)
    if messages:
        confirm(caller, messages, evidence)


def _mail_in(tool: str, result: dict[str, Plain]) -> list[Plain]:
    """Messages that this very answer showed; one that was only shown again was read before."""
    if tool == "mail_request":
        return [result["answer"]] if "answer" in result else []
    shown = result.get("messages") if tool == "mail_read" and result.get("again") is not True else None
    return shown if isinstance(shown, list) else []
