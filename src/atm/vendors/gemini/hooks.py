"""Gemini CLI's hooks. Its successor keeps its files in the same folder, so a hook may be called by either."""

from __future__ import annotations

from atm.vendors.google import who_speaks
from atm.vendors.hooks import BLOCK, CONTEXT, HookTable
from atm.vendors.moments import COMPACT, END, NOTICE, PROMPT, START, STOP, TOOL

HOOKS = HookTable(
    events={
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "AfterTool": TOOL,
        "AfterAgent": STOP,
        "Notification": NOTICE,
        "PreCompress": COMPACT,
        "SessionEnd": END,
    },
    others=("BeforeTool", "BeforeModel", "BeforeToolSelection", "AfterModel"),
    entered=("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "Notification", "SessionEnd"),
    permits=("BeforeTool",),
    carries={"SessionStart": CONTEXT, "BeforeAgent": CONTEXT, "AfterTool": CONTEXT, "AfterAgent": BLOCK},
    stay="deny",
    unit=1000,
    speaker=who_speaks,
)
