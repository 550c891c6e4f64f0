"""Calling a tool: the one place where arguments are checked, and where what comes back is put into a caller's words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.ui.mcp.schema import check
from atm.ui.mcp.serving.remedies import in_tools
from atm.ui.mcp.wording import lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Tool

ADVICE = ("warnings", "reason", "begin_not_yet", "hint")
"""Parts of an answer that are ours, and may say what to do."""


def perform(tool: Tool, caller: Caller, arguments: object) -> dict[str, Plain]:
    """
    Call a tool.

    What was in the way and stopped nothing, a ledger that cannot be read, is said with the answer (G1 before G2).
    """
    say = partial(in_tools, tool=tool, role=caller.role)
    try:
        result = tool.call(caller, check(tool.input, arguments))
    except AtmError as error:
        raise reworded(error, say) from error
    troubles = lines(caller.room.troubles.hand_over())
    said = result.get("warnings", [])
    if troubles:
        result["warnings"] = [*(said if isinstance(said, list) else []), *troubles]
    return {key: _said(value, say) if key in ADVICE else value for key, value in result.items()}


def reworded(error: AtmError, say: Callable[[str], str]) -> AtmError:
    """The same error, with what to do next in the words of whoever is told."""
    error.what, error.remedy = say(error.what), say(error.remedy)
    return error


def _said(value: Plain, say: Callable[[str], str]) -> Plain:
    if isinstance(value, list):
        return [say(one) if isinstance(one, str) else one for one in value]
    return say(value) if isinstance(value, str) else value
