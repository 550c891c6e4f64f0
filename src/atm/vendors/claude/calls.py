"""Calls of Claude Code's tools; its protocol names the same arguments as its hook."""

from __future__ import annotations

from atm.vendors.calls import ASKED_ONCE_MORE, FOUND, NO_OPINION, YES, ToolCalls, ToolFields


def _says(event: str, word: str, reason: str) -> dict[str, object] | None:
    if word == NO_OPINION:
        return None
    if event == ASKED_ONCE_MORE:
        said = {"behavior": word} if word == YES else {"behavior": word, "message": reason}
        return {"hookSpecificOutput": {"hookEventName": event, "decision": said}}
    said = {"permissionDecision": word, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": event, **said}}


CALLS = ToolCalls(
    "Claude Code",
    says=_says,
    can_ask=True,
    can_wait=True,
    asks_host=lambda *_: True,  # of it that can be demanded; others ask for some tools by themselves
    folder_variable="CLAUDE_PROJECT_DIR",
    tools={
        "bash": ToolFields(
            command="command",
            shown=("dangerouslyDisableSandbox",),
            quiet=("description", "timeout", "run_in_background"),
        ),
        "monitor": ToolFields(command="command", quiet=("description", "timeout_ms", "persistent")),
        "write": ToolFields(paths=("file_path",), shown=("content",)),
        "edit": ToolFields(paths=("file_path",), shown=("old_string", "new_string", "replace_all")),
        "multiedit": ToolFields(paths=("file_path",), shown=("edits",)),
        "notebookedit": ToolFields(
            paths=("notebook_path",), shown=("cell_id", "new_source", "cell_type", "edit_mode", "cell_number")
        ),
        "read": ToolFields(paths=("file_path",), shown=("offset", "limit", "pages")),
        "webfetch": ToolFields(command="url", shown=("prompt",)),
        "websearch": ToolFields(command="query", shown=("allowed_domains", "blocked_domains")),
        "grep": ToolFields(paths=("path",), shown=FOUND),
        "glob": ToolFields(paths=("path",), shown=FOUND),
        "ls": ToolFields(paths=("path",), shown=FOUND),
    },
)
