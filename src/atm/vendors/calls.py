"""
How a program asks about the call of a tool, and which argument of each tool it executes: a table for each program, and
for each protocol in which one asks.

Seen with the real programs in the lab, by calls with additional, renamed and nested arguments: Claude Code refuses such
a call before it asks a hook; Codex names the command alone; Gemini CLI and OpenCode pass all of it on and execute the
fields of these tables.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.core.plain import Plain

    Folder = Callable[[Mapping[str, Plain], str], tuple[str, str]]

NO_OPINION, YES, NO, ASK, LATER = "", "allow", "deny", "ask", "defer"
"""Our word on a call. LATER: the program ends, and asks again when it is resumed."""

ASKED_ONCE_MORE = "PermissionRequest"
"""The event at which a program asks a hook again, since it would ask its user."""

HOST_IS_ASKED = ("Bash", "Write", "Edit", "WebFetch")
"""What Gemini CLI and OpenCode ask their host for, as we start them."""

FOUND = ("pattern", "glob", "include", "exclude", "ignore", "limit", "offset", "type", "output_mode")
"""Arguments of tools that look for something."""

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


class ToolCalls:
    """Calls of tools as one program describes them to its hook, or in one protocol to its host."""

    __slots__ = (
        "asks_host",
        "call_id",
        "can_ask",
        "can_wait",
        "folder_of",
        "folder_variable",
        "is_aside",
        "keys",
        "over",
        "says",
        "title",
        "tools",
        "waits_in_hook",
        "why_unclear",
        "wraps_shell",
    )

    def __init__(
        self,
        title: str,
        *,
        tools: Mapping[str, ToolFields],
        keys: tuple[str, str, str, str] = ("tool_name", "cwd", "session_id", "tool_use_id"),
        says: Callable[[str, str, str], dict[str, object] | None] | None = None,
        can_ask: bool = False,
        can_wait: bool = False,
        asks_host: Callable[[str, bool, bool], bool] | None = None,
        waits_in_hook: bool = False,
        folder_variable: str = "",
        folder_of: Folder | None = None,
        is_aside: Callable[[str, Plain], bool] | None = None,
        call_id: str = "",
        wraps_shell: bool = False,
        why_unclear: Callable[[str], str] | None = None,
        over: Mapping[str, ToolCalls] | None = None,
    ) -> None:
        self.title = title
        """Who asks, in messages."""
        self.tools = tools
        """By name, in small letters."""
        self.keys = keys
        """Of a hook's payload: the tool, the folder, the session, the call."""
        self.says = says
        """
        Our answer to a permission hook, as the program reads it: (event, word, reason). None: nothing is said. Without
        this nobody knows its words, and a no is an exit code.
        """
        self.can_ask = can_ask
        """May a hook leave the question to the program's own dialog?"""
        self.can_wait = can_wait
        """May a hook say that the answer comes later, after the program has ended?"""
        self.asks_host = asks_host
        """
        Does the program, as we start it, ask its host about a call: (tool, does it run in the agent's folder, is it
        clear what it does)? None: that cannot be told.
        """
        self.waits_in_hook = waits_in_hook
        """Does the hook wait for an answer, since the program does not ask its host for everything?"""
        self.folder_variable = folder_variable
        """The variable by which a hook learns where its agent was started."""
        self.folder_of = folder_of
        """Where a command runs, and why that cannot be told: from the arguments and the agent's folder."""
        self.is_aside = is_aside
        """Is this argument a remark that was read already, and nothing to be shown?"""
        self.call_id = call_id
        """The argument in which the program itself names the call, if it has one."""
        self.wraps_shell = wraps_shell
        """Does the protocol put a shell around each command?"""
        self.why_unclear = why_unclear
        """Why a command is not what it says, to be asked of each command line."""
        self.over = over or {}
        """The same program's calls in protocols of its own."""


UNKNOWN = ToolCalls("", tools={})
"""Of a program that nobody has described."""
