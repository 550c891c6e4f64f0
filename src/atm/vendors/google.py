"""Gemini CLI or Antigravity CLI: the successor reads settings that were made for its predecessor."""

from __future__ import annotations

from atm.vendors.hook_call import find_event
from atm.vendors.known import hooks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain

GEMINI, AGY = "gemini", "agy"


def who_speaks(said: str, event: str, fields: Mapping[str, Plain]) -> str:
    """By what only one of them writes into a payload; else by the event, which only one of them may have."""
    if "session_id" in fields or "hook_event_name" in fields:
        return GEMINI
    if "conversationId" in fields or said != GEMINI:
        return AGY
    return AGY if not find_event(hooks_of(GEMINI), event) and find_event(hooks_of(AGY), event) else GEMINI
