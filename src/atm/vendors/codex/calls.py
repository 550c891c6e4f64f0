"""Calls of Codex's tools: as its hook tells of them, and as its app-server asks its host."""

from __future__ import annotations

from atm.vendors.calls import ASKED_ONCE_MORE, NO, YES, ToolCalls, ToolFields

APP_SERVER = "app-server"


def _says(event: str, word: str, reason: str) -> dict[str, object] | None:
    """A yes is said to its own question alone: otherwise silence lets the call go on, within its sandbox."""
    if event == ASKED_ONCE_MORE and word in (YES, NO):
        said = {"behavior": word} if word == YES else {"behavior": word, "message": reason}
        return {"hookSpecificOutput": {"hookEventName": event, "decision": said}}
    if word != NO:
        return None
    said = {"permissionDecision": word, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


SERVER_CALLS = ToolCalls(
    "Codex's app-server",
    call_id="itemId",  # it alone asks about a call that its hook was asked about
    wraps_shell=True,
    tools={
        "shell": ToolFields(command="command", folder="cwd", quiet=("itemId", "reason")),
        "edit": ToolFields(paths=("changes",), shown=("changes",), quiet=("itemId", "reason", "path")),
    },
)
CALLS = ToolCalls(
    "Codex",
    says=_says,
    waits_in_hook=True,
    over={APP_SERVER: SERVER_CALLS},
    tools={
        "bash": ToolFields(command="command", quiet=("description",)),
        "apply_patch": ToolFields(patch="command", quiet=("description",)),
    },
)
