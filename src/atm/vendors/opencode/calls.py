"""Calls of OpenCode's tools: as our plugin file tells of them, and as its server asks its host."""

from __future__ import annotations

from atm.vendors.calls import FOUND, HOST_IS_ASKED, NO, YES, ToolCalls, ToolFields

SERVER = "server"


def _says(_: str, word: str, reason: str) -> dict[str, object] | None:
    return {"permission": word, "reason": reason} if word in (YES, NO) else None


SERVER_CALLS = ToolCalls(
    "OpenCode's server",
    tools={
        "bash": ToolFields(command="command", shown=("patterns",), quiet=("description",)),
        "edit": ToolFields(paths=("filepath",), shown=("diff", "patterns", "files")),
        "read": ToolFields(paths=("filePath", "filepath"), shown=("patterns",)),
        "grep": ToolFields(paths=("path",), shown=(*FOUND, "patterns")),
        "glob": ToolFields(paths=("path",), shown=(*FOUND, "patterns")),
        "list": ToolFields(paths=("path",), shown=(*FOUND, "patterns")),
        "webfetch": ToolFields(command="url", shown=("format", "timeout", "patterns")),
        "websearch": ToolFields(command="query", shown=("patterns", "numResults", "livecrawl", "type")),
    },
)
CALLS = ToolCalls(
    "OpenCode",
    keys=("tool", "directory", "sessionID", "callID"),
    says=_says,
    # It names no folder when it asks its host.
    asks_host=lambda tool, is_in_folder, is_clear: is_in_folder and is_clear and tool in HOST_IS_ASKED,
    over={SERVER: SERVER_CALLS},
    tools={
        "bash": ToolFields(command="command", folder="workdir", quiet=("description", "timeout")),
        "write": ToolFields(paths=("filePath",), shown=("content",)),
        "edit": ToolFields(paths=("filePath",), shown=("oldString", "newString", "replaceAll")),
        "multiedit": ToolFields(paths=("filePath",), shown=("edits",)),
        "apply_patch": ToolFields(patch="patchText"),
        "patch": ToolFields(patch="patchText"),
        "read": ToolFields(paths=("filePath",), shown=("offset", "limit")),
        "grep": ToolFields(paths=("path",), shown=FOUND),
        "glob": ToolFields(paths=("path",), shown=FOUND),
        "list": ToolFields(paths=("path",), shown=FOUND),
        "webfetch": ToolFields(command="url", shown=("format", "timeout")),
        "websearch": ToolFields(command="query", shown=("numResults", "livecrawl", "type", "contextMaxCharacters")),
    },
)
