"""
Which argument of a tool its vendor executes: one table for each program, and for each protocol in which one asks.

Seen with the real programs in the lab (Claude Code 2.1.197, Codex 0.166.0, Gemini CLI 0.61.0, OpenCode 1.18.33), by
calls with additional, renamed and nested arguments: Claude Code refuses such a call before it asks a hook; Codex names
the command alone; Gemini CLI and OpenCode pass all of it on and execute the fields of these tables.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CLAUDE, CODEX, GEMINI, OPENCODE = "claude", "codex", "gemini", "opencode"
"""Programs, as their hooks call themselves."""

CODEX_SERVER, ACP, OPENCODE_SERVER = "Codex's app-server", "ACP", "OpenCode's server"
"""Protocols in which a program asks its host: they name other fields than its hooks. Claude Code's names the same."""


class ToolFields:
    """The arguments of one tool that atm knows."""

    __slots__ = ("command", "folder", "known", "patch", "paths", "quiet")

    def __init__(
        self,
        *,
        command: str = "",
        folder: str = "",
        paths: Sequence[str] = (),
        patch: str = "",
        shown: Sequence[str] = (),
        quiet: Sequence[str] = (),
    ) -> None:
        self.command = command
        """Field of the command line, or of the address: what the vendor executes. Empty if the tool takes none."""
        self.folder = folder
        """Field of the folder in which the command runs."""
        self.paths = paths
        self.patch = patch
        """Field of a patch, which names its files itself."""
        self.quiet = quiet
        """Fields that change nothing about what is done: they are neither shown nor a part of the call."""
        self.known = frozenset((command, folder, patch, *paths, *shown, *quiet)) - {""}


_EDITED = ("old_string", "new_string", "replace_all")
_FOUND = ("pattern", "glob", "include", "exclude", "ignore", "limit", "offset", "type", "output_mode")

_CLAUDE = {
    "bash": ToolFields(
        command="command",
        shown=("dangerouslyDisableSandbox",),
        quiet=("description", "timeout", "run_in_background"),
    ),
    "monitor": ToolFields(command="command", quiet=("description", "timeout_ms", "persistent")),
    "write": ToolFields(paths=("file_path",), shown=("content",)),
    "edit": ToolFields(paths=("file_path",), shown=_EDITED),
    "multiedit": ToolFields(paths=("file_path",), shown=("edits",)),
    "notebookedit": ToolFields(
        paths=("notebook_path",), shown=("cell_id", "new_source", "cell_type", "edit_mode", "cell_number")
    ),
    "read": ToolFields(paths=("file_path",), shown=("offset", "limit", "pages")),
    "webfetch": ToolFields(command="url", shown=("prompt",)),
    "websearch": ToolFields(command="query", shown=("allowed_domains", "blocked_domains")),
    "grep": ToolFields(paths=("path",), shown=_FOUND),
    "glob": ToolFields(paths=("path",), shown=_FOUND),
    "ls": ToolFields(paths=("path",), shown=_FOUND),
}
_CODEX = {
    "bash": ToolFields(command="command", quiet=("description",)),
    "apply_patch": ToolFields(patch="command", quiet=("description",)),
}
_CODEX_SERVER = {
    "shell": ToolFields(command="command", folder="cwd", quiet=("itemId", "reason")),
    "edit": ToolFields(paths=("changes",), shown=("changes",), quiet=("itemId", "reason", "path")),
}
_GEMINI = {
    "run_shell_command": ToolFields(
        command="command", folder="dir_path", quiet=("description", "is_background", "delay_ms")
    ),
    "write_file": ToolFields(paths=("file_path",), shown=("content",)),
    "replace": ToolFields(
        paths=("file_path",), shown=(*_EDITED, "instruction", "allow_multiple", "expected_replacements")
    ),
    "read_file": ToolFields(paths=("file_path",), shown=("start_line", "end_line", "offset", "limit")),
    "list_directory": ToolFields(paths=("dir_path",), shown=_FOUND),
    "grep_search": ToolFields(paths=("dir_path",), shown=_FOUND),
    "web_fetch": ToolFields(shown=("prompt", "url")),
    "google_web_search": ToolFields(command="query"),
}
_ACP = {
    "execute": ToolFields(command="title", shown=("locations",), quiet=("kind", "content")),
    "edit": ToolFields(paths=("locations", "content"), shown=("title", "kind", "content", "locations")),
    "delete": ToolFields(paths=("locations", "content"), shown=("title", "kind", "content", "locations")),
    "move": ToolFields(paths=("locations", "content"), shown=("title", "kind", "content", "locations")),
    "read": ToolFields(paths=("locations",), shown=("title", "kind", "content", "locations")),
    "fetch": ToolFields(shown=("title", "kind", "content", "locations")),
}
_OPENCODE = {
    "bash": ToolFields(command="command", folder="workdir", quiet=("description", "timeout")),
    "write": ToolFields(paths=("filePath",), shown=("content",)),
    "edit": ToolFields(paths=("filePath",), shown=("oldString", "newString", "replaceAll")),
    "multiedit": ToolFields(paths=("filePath",), shown=("edits",)),
    "apply_patch": ToolFields(patch="patchText"),
    "patch": ToolFields(patch="patchText"),
    "read": ToolFields(paths=("filePath",), shown=("offset", "limit")),
    "grep": ToolFields(paths=("path",), shown=_FOUND),
    "glob": ToolFields(paths=("path",), shown=_FOUND),
    "list": ToolFields(paths=("path",), shown=_FOUND),
    "webfetch": ToolFields(command="url", shown=("format", "timeout")),
    "websearch": ToolFields(command="query", shown=("numResults", "livecrawl", "type", "contextMaxCharacters")),
}
_OPENCODE_SERVER = {
    "bash": ToolFields(command="command", shown=("patterns",), quiet=("description",)),
    "edit": ToolFields(paths=("filepath",), shown=("diff", "patterns", "files")),
    "read": ToolFields(paths=("filePath", "filepath"), shown=("patterns",)),
    "grep": ToolFields(paths=("path",), shown=(*_FOUND, "patterns")),
    "glob": ToolFields(paths=("path",), shown=(*_FOUND, "patterns")),
    "list": ToolFields(paths=("path",), shown=(*_FOUND, "patterns")),
    "webfetch": ToolFields(command="url", shown=("format", "timeout", "patterns")),
    "websearch": ToolFields(command="query", shown=("patterns", "numResults", "livecrawl", "type")),
}
TABLES = {
    CLAUDE: _CLAUDE,
    CODEX: _CODEX,
    CODEX_SERVER: _CODEX_SERVER,
    GEMINI: _GEMINI,
    ACP: _ACP,
    OPENCODE: _OPENCODE,
    OPENCODE_SERVER: _OPENCODE_SERVER,
}

PROGRAMS = {CLAUDE: "Claude Code", CODEX: "Codex", GEMINI: "Gemini CLI", OPENCODE: "OpenCode", ACP: "an agent over ACP"}
"""What messages call them."""

WIDENS = frozenset(("dangerouslyDisableSandbox",))
"""Fields by which a call asks to run outside the sandbox of its program."""

_COMMANDS = frozenset(
    ("command", "commandline", "cmd", "script", "rawinput", "shell", "argv", "args", "exec", "url", "query")
)
_PLACES = frozenset(
    (
        *("path", "paths", "file", "filename", "filepath", "absolutepath", "notebookpath", "target", "targetfile"),
        *("cwd", "workdir", "dirpath", "directory", "dir", "folder", "root", "locations", "changes"),
    )
)


def looks_executed(field: str) -> bool:
    """Is it called like a command, a file or a folder?"""
    plain = field.replace("_", "").replace("-", "").lower()
    return plain in _COMMANDS or plain in _PLACES
