"""A call of a tool by an agent, whatever its vendor calls that: what would be done, where, and to what."""

from __future__ import annotations

from atm.approvals.rules.act import CUSTOM, DELETE, GIT_PUSH, NETWORK_USE, PLAN, SPEND, TOOL, Act, CallPlace
from atm.approvals.rules.acts import acts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHELL, WRITE, EDIT, READ, FETCH, SEARCH, EXIT_PLAN = (
    *("Bash", "Write", "Edit", "Read"),
    *("WebFetch", "WebSearch", "ExitPlanMode"),
)

KNOWN_TOOLS: dict[str, str] = {
    **dict.fromkeys(
        (
            "bash",
            "monitor",
            "powershell",
            "shell",
            "run_shell_command",
            "exec_command",
            "local_shell",
            "unified_exec",
            "execute",
        ),
        SHELL,
    ),
    **dict.fromkeys(("write", "write_file", "create_file"), WRITE),
    **dict.fromkeys(
        ("edit", "multiedit", "notebookedit", "replace", "apply_patch", "patch", "file changes", "delete", "move"), EDIT
    ),
    **dict.fromkeys(("read", "read_file", "read_many_files", "notebookread", "view_image"), READ),
    **dict.fromkeys(("webfetch", "web_fetch", "fetch"), FETCH),
    **dict.fromkeys(("websearch", "web_search", "google_web_search"), SEARCH),
    **dict.fromkeys(("exitplanmode", "exit_plan_mode"), EXIT_PLAN),
    **{name.lower(): name for name in ("Grep", "Glob", "LS", "Task", "Agent", "TodoWrite", "BashOutput", "KillShell")},
    **dict.fromkeys(("grep_search", "search_file_content"), "Grep"),
    **dict.fromkeys(("list", "list_directory"), "LS"),
}
"""Vendors' names of their tools, in small letters, and what we call them."""

POWERSHELL = "powershell"
WRITING = (SHELL, WRITE, EDIT)
MOST_SHOWN = 100_000
"""Characters of a diff that are kept. What is cut is said."""

_MOST_SENSITIVE = (GIT_PUSH, SPEND, NETWORK_USE, PLAN, DELETE)


class AgentCall:
    """What an agent wants to do. All of it comes from the agent, and is untrusted."""

    __slots__ = (
        *("branch", "call_id", "command", "diff", "folder", "own_name", "paths", "root", "session", "tool"),
        *("is_unknown", "stored", "unclear", "vendor_shell"),
    )

    def __init__(
        self,
        tool: str,
        *,
        command: str = "",
        folder: str = "",
        root: str = "",
        paths: Sequence[str] = (),
        branch: str = "",
        diff: str = "",
        session: str = "",
        call_id: str = "",
        unclear: str = "",
        vendor_shell: bool = False,
        is_unknown: bool = False,
        stored: Sequence[str] = (),
    ) -> None:
        self.own_name = tool
        """As its vendor calls it."""
        self.tool = KNOWN_TOOLS.get(tool.lower(), tool)
        self.command = command
        """What the vendor executes, byte for byte."""
        self.folder = folder
        self.root = root
        """The worktree that the folder belongs to."""
        self.paths = [*paths]
        self.branch = branch
        self.diff = diff
        """What would change, for people."""
        self.session = session
        self.call_id = call_id
        """The vendor's number of this very call, where there is one."""
        self.unclear = unclear
        """Why its arguments do not say what would be executed; empty if they do."""
        self.stored = [*stored]
        """Command lines among the arguments that atm is to run later, as checks of a task."""
        self.is_unknown = is_unknown
        """Does atm not know that its vendor has such a tool, and has the tool a command?"""
        self.vendor_shell = vendor_shell
        """Did the vendor's own protocol put a shell around the line, as Codex's app-server does?"""

    @property
    def line(self) -> str:
        """
        What the vendor's shell gets. The same call, told by a hook and by the protocol of a host, has the same line; a
        shell that a model put around its command itself is a part of it.
        """
        if not self.vendor_shell:
            return self.command
        from atm.approvals.rules.vendor_shell import wrapped_line

        inner = wrapped_line(self.command)
        return self.command if inner is None else inner

    @property
    def names(self) -> tuple[str, ...]:
        return (self.tool,) if self.tool == self.own_name else (self.tool, self.own_name)

    @property
    def is_shell(self) -> bool:
        return self.tool == SHELL

    @property
    def changes_something(self) -> bool:
        """Could it write? A tool that nobody knows could."""
        return self.tool in WRITING or self.tool not in (*KNOWN_TOOLS.values(),)


class Understood:
    """A call as rules see it."""

    __slots__ = ("acts", "call", "place", "stored", "unclear")

    def __init__(
        self, call: AgentCall, acts: list[Act], place: CallPlace, unclear: str = "", stored: Sequence[str] = ()
    ) -> None:
        self.call = call
        self.acts = acts
        self.place = place
        self.unclear = unclear
        self.stored = [understand(_as_shell(call, line), place) for line in stored]
        """What it has atm run later: a rule must allow that as well."""

    @property
    def operation(self) -> str:
        """The gravest of what it would do."""
        found = [act.operation for act in self.acts if act.is_sensitive] or [act.operation for act in self.acts]
        return next((one for one in _MOST_SENSITIVE if one in found), found[0] if found else TOOL)

    @property
    def paths(self) -> list[str]:
        """Files that it would change; of a command line those that it would remove or write over."""
        acts = [act for act in self.acts if act.operation == DELETE] if self.call.is_shell else self.acts
        return list(dict.fromkeys(path for act in acts for path in act.paths))


def understand(call: AgentCall, place: CallPlace) -> Understood:
    if call.is_shell:
        line = acts_of(call.line, place)
        if call.own_name.lower() == POWERSHELL:
            line.doubt("atm does not read the language of PowerShell")
        unclear = call.unclear or line.unclear or ("" if call.command.strip() else "it names no command")
        for act in line.acts:
            if call.branch and act.operation == GIT_PUSH:
                act.branches = [*(act.branches or ()), call.branch]  # what the line names, it names
        return Understood(call, line.acts or [Act("")], place, unclear, line.stored)
    act = Act(call.command, _operation(call))
    act.paths = [place.whole(path) for path in call.paths]
    act.branches = [call.branch] if call.branch else []
    if call.tool in (WRITE, EDIT):
        act.overwrites([*act.paths], place)
    if call.own_name.lower() == DELETE:
        act.removes(act.paths, place)
    return Understood(call, [act], place, call.unclear, call.stored)


def _as_shell(call: AgentCall, line: str) -> AgentCall:
    return AgentCall(SHELL, command=line, folder=call.folder, root=call.root, session=call.session)


def _operation(call: AgentCall) -> str:
    if call.tool in (FETCH, SEARCH):
        return NETWORK_USE
    if call.tool == EXIT_PLAN:
        return PLAN
    named = call.tool.lower().replace("-", "_")
    if named in (GIT_PUSH, DELETE, NETWORK_USE, SPEND, PLAN):
        return named
    is_known = call.tool in KNOWN_TOOLS.values() or call.tool.startswith("mcp_")
    return TOOL if is_known else CUSTOM
