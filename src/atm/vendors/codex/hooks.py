"""Codex's hooks, and its older `notify`."""

from __future__ import annotations

from atm.vendors.hooks import BLOCK, CONTEXT, NOTIFY, HookTable
from atm.vendors.moments import COMPACT, END, NOTICE, PROMPT, START, STOP, TOOL, TURN_DONE

HOOKS = HookTable(
    events={
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PostToolUse": TOOL,
        "Stop": STOP,
        "StopFailure": TURN_DONE,
        "Interrupt": TURN_DONE,
        "SubagentStart": START,
        "SubagentStop": STOP,
        "PermissionRequest": NOTICE,
        "PreCompact": COMPACT,
        "SessionEnd": END,
        NOTIFY: TURN_DONE,
    },
    others=("PreToolUse", "PostCompact"),
    # Interrupt: no Stop follows an Esc. Seen with 0.166, which takes all of these without a warning.
    entered=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "Interrupt", "SessionEnd"),
    permits=("PreToolUse", "PermissionRequest"),
    carries={"SessionStart": CONTEXT, "UserPromptSubmit": CONTEXT, "PostToolUse": CONTEXT, "Stop": BLOCK},
    stay="block",
    helper_marks=("agent_id",),
    notified={"agent-turn-complete": TURN_DONE, "agent-turn-start": PROMPT},
    runs_elsewhere=lambda *_: True,  # a server behind several terminals has the environment of one
)
