"""Calls of Gemini CLI's tools, as its hook tells of them. It asks its host over ACP."""

from __future__ import annotations

from atm.vendors.acp import why_unclear
from atm.vendors.calls import FOUND, HOST_IS_ASKED, NO, YES, ToolCalls, ToolFields


def _says(_: str, word: str, reason: str) -> dict[str, object] | None:
    return {"decision": word, "reason": reason} if word in (YES, NO) else None


CALLS = ToolCalls(
    "Gemini CLI",
    says=_says,
    asks_host=lambda tool, _, is_clear: is_clear and tool in HOST_IS_ASKED,
    folder_variable="GEMINI_PROJECT_DIR",
    why_unclear=why_unclear,
    tools={
        "run_shell_command": ToolFields(
            command="command", folder="dir_path", quiet=("description", "is_background", "delay_ms")
        ),
        "write_file": ToolFields(paths=("file_path",), shown=("content",)),
        "replace": ToolFields(
            paths=("file_path",),
            shown=(
                *("old_string", "new_string", "replace_all", "instruction", "allow_multiple"),
                "expected_replacements",
            ),
        ),
        "read_file": ToolFields(paths=("file_path",), shown=("start_line", "end_line", "offset", "limit")),
        "list_directory": ToolFields(paths=("dir_path",), shown=FOUND),
        "grep_search": ToolFields(paths=("dir_path",), shown=FOUND),
        "web_fetch": ToolFields(shown=("prompt", "url")),
        "google_web_search": ToolFields(command="query"),
    },
)
