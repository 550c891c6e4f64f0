"""Claude Code's hooks."""

from __future__ import annotations

from atm.vendors.hooks import BLOCK, CONTEXT, HookTable
from atm.vendors.moments import (
    COMPACT,
    END,
    IDLE,
    NOTICE,
    PROMPT,
    START,
    STOP,
    TASK_CREATED,
    TASK_DONE,
    TOOL,
    TURN_DONE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.vendors.moments import HookCall

TEAMS = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"
"""Set where it may start teammates in panes: these have the environment of their lead."""


def _may_be_a_teammate(call: HookCall, environment: Mapping[str, str]) -> bool:
    return call.has_agent_type or bool(environment.get(TEAMS))


HOOKS = HookTable(
    events={
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "UserPromptExpansion": PROMPT,
        "PostToolUse": TOOL,
        "PostToolUseFailure": TOOL,
        "PostToolBatch": TOOL,
        "Stop": STOP,
        "StopFailure": TURN_DONE,
        "SubagentStart": START,
        "SubagentStop": STOP,
        "Notification": NOTICE,
        "PermissionRequest": NOTICE,
        "TeammateIdle": IDLE,
        "TaskCreated": TASK_CREATED,
        "TaskCompleted": TASK_DONE,
        "PreCompact": COMPACT,
        "SessionEnd": END,
    },
    others=(
        *("PreToolUse", "Setup", "PermissionDenied", "MessageDisplay", "InstructionsLoaded", "ConfigChange"),
        *("CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PostCompact"),
        *("Elicitation", "ElicitationResult"),
    ),
    entered=(
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "Notification", "TeammateIdle", "TaskCreated"),
        *("TaskCompleted", "PreCompact", "SessionEnd"),
    ),
    permits=("PreToolUse",),
    carries={
        "SessionStart": CONTEXT,
        "UserPromptSubmit": CONTEXT,
        "UserPromptExpansion": CONTEXT,
        "PostToolUse": CONTEXT,
        "PostToolUseFailure": CONTEXT,
        "PostToolBatch": CONTEXT,
        "Stop": BLOCK,
    },
    stay="block",
    helper_marks=("agent_id",),  # not agent_type: `claude --agent NAME` has that too
    runs_elsewhere=_may_be_a_teammate,
)
