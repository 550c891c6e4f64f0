"""
What to do next, in the words of whoever is told: where tools are used, the tool.

Services advise in commands, between backticks, because most who are told have a shell. A command that is a tool here
becomes that tool, an option its argument. What only a shell can do, or a person in one, stays a command.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from atm.ui.mcp.catalog import all_tools
from atm.ui.verbs.board import table

if TYPE_CHECKING:
    from atm.ui.mcp.tool import Tool

TOOLS = {
    **{verb.command: verb.within or verb.tool for verb in table.ALL if verb.command},
    "tasks review start": "board_claim with review",
    "tasks list": "board_list",
    "tasks show": "board_show",
    "tasks history": "board_show with part history",
    "tasks graph": "board_list with view graph",
    "tasks release": "board_release",
    "tasks reopen": "board_reopen",
    "tasks clarify": "board_ask",
    "tasks import": "board_import",
    "tasks beat": "board_beat",
    "read": "mail_read",
    "read --all": "mail_inbox with include_read",
    "inbox": "mail_inbox",
    "ack": "mail_ack",
    "send": "mail_send",
    "broadcast": "mail_broadcast",
    "request": "mail_request",
    "receipts": "mail_inbox with trace",
    "sync status": "member_work_sync_status",
    "sync agenda": "task_briefing",
    "sync report": "member_work_sync_report",
    "members": "team_status",
    "status": "team_status",
    "approvals": "approval_list",
    "approvals list": "approval_list",
    "approvals show": "approval_list",
    "approvals approve": "approval_answer",
    "approvals deny": "approval_answer",
}
"""Commands that are tools, and what of a tool they are."""

FOR_PERSONS = ("--allow-checks", "--no-verify")
"""With these a command is for a person in a shell, also where it is a tool."""

_PIECES = re.compile(r"(`[^`]*`|\batm [a-z][^;`]*)|(?<![\w-])(--[a-z][a-z-]*)")
_OPTIONS = {(verb.tool, one.option): one.name for verb in table.ALL for one in verb.parameters}


def in_tools(said: str, tool: Tool | None, role: str) -> str:
    """Advice as whoever called `tool` in this role can follow it. A command without backticks is for a shell."""

    def reworded(found: re.Match[str]) -> str:
        command, option = found.groups()
        if option:
            name = _argument(tool, option)
            return name or f"`{option}` of the command line"
        return _tool_for(command, role) if command.startswith("`atm ") else str(command)

    return _PIECES.sub(reworded, said)


def _argument(tool: Tool | None, option: str) -> str:
    """What a tool calls an option; nothing if it has none."""
    if tool is None:
        return ""
    name = _OPTIONS.get((tool.name, option), option.lstrip("-").replace("-", "_"))
    properties = tool.input.get("properties")
    return name if isinstance(properties, dict) and name in properties else ""


def _tool_for(command: str, role: str) -> str:
    """The tool that does what a command does; the command, if there is none."""
    try:
        words = shlex.split(command.strip("`"))[1:]
    except ValueError:  # a quotation without its end
        return command
    if set(words) & set(FOR_PERSONS):
        return command
    for count in range(min(4, len(words)), 0, -1):
        named = TOOLS.get(" ".join(words[:count]), "")
        tool = next((tool for tool in all_tools() if tool.name == named.partition(" ")[0]), None)
        if tool is not None:
            said = [*([named.partition(" with ")[2]] if " with " in named else []), *_values(tool, words[count:])]
            with_what = f" with {' and '.join(said)}" if said else ""
            return f"{tool.name}{with_what}{'' if role in tool.roles else ' (for the lead and humans)'}"
    return command


def _values(tool: Tool, words: list[str]) -> list[str]:
    """The number of the task, and options that are arguments. What else a command takes, the tool's schema says."""
    said = [f"id {word}" for word in words[:1] if word.isdecimal()]
    for option, value in pairwise([*words, ""]):
        name = _argument(tool, option) if option.startswith("--") else ""
        said += [f"{name} {value}".strip()] if name else []
    return said
