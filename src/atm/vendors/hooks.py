"""
What `atm init` and `atm mcp install` set up: which agent programs there are, where each keeps its hooks and its MCP
servers, and which of ours belong there.

Pure: it joins names to roots that the caller found, and compares what is there with what should be. A hook of ours is
known by its command, `… atm hook VENDOR EVENT`, so that a program that moved is put right instead of entered twice.
What a server of ours is known by stands in `server_entries`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from atm.core.errors import NoHome
from atm.vendors.moments import AGY, CLAUDE, CODEX, GEMINI, OPENCODE, VENDORS
from atm.vendors.server_entries import is_atm

USER, PROJECT = "user", "project"

CURSOR, VSCODE = "cursor", "vscode"

HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN, SERVER = "hooks", "named-hooks", "notify", "plugin", "server"
"""
What a file holds of ours: hooks in JSON, of one shape or the other; one key in TOML; the whole file; or the entry of
the MCP server. A file may hold several of these.
"""
KINDS = (HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN, SERVER)
WITHOUT_SERVER = (HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN)

INSTALLED, MISSING, OUTDATED = "installed", "missing", "outdated"

HOOK_SECONDS = 5
"""How long an agent may wait for one of our hooks. It takes milliseconds; a hook that hangs freezes the agent."""

PERMIT_SECONDS = 600
"""How long a permission hook may take: it waits for people. Codex and Gemini CLI let the call run after their limit, so
ours denies long before this."""

FAIL_CLOSED = " || exit 2"
"""What follows a permission hook on its line: killed or gone, it makes sh and cmd end so, which denies the call."""

HOOK, PERMIT = "hook", "permit"
"""Commands of ours in vendors' settings."""

LONGEST_COMMAND = 2048
"""A longer command is none of ours, and is not taken apart."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """One agent CLI."""

    name: str
    title: str
    programs: tuple[str, ...]
    """Any of these on PATH says that it is installed."""
    no_evidence: tuple[str, ...] = ()
    """Beginnings of names in its folder that say nothing about it: others, and we ourselves, write there too."""
    evidence: tuple[str, ...] = ()
    """Names in its folder that alone say that it was here, where the folder is not its own."""
    events: tuple[str, ...] = ()
    timeout: int = HOOK_SECONDS
    """In the unit that it counts in."""
    permits: tuple[str, ...] = ()
    """Events at which a call can be denied: those of permission hooks, which are entered where there is a policy."""
    unless: str = ""
    """What follows our command on its line, for the day on which there is no atm any more."""

    def is_evidence(self, name: str) -> bool:
        """Does something of that name in its folder say that it was here?"""
        return name in self.evidence if self.evidence else not name.startswith((".", *self.no_evidence))


KNOWN: dict[str, Vendor] = {
    CLAUDE: Vendor(
        CLAUDE,
        "Claude Code",
        ("claude",),
        no_evidence=("teams", "tasks"),
        events=(
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
            "Notification",
            "TeammateIdle",
            "TaskCreated",
            "TaskCompleted",
            "PreCompact",
            "SessionEnd",
        ),
        permits=("PreToolUse",),
    ),
    CODEX: Vendor(
        CODEX,
        "Codex",
        ("codex",),
        # Interrupt: no Stop follows an Esc. Seen with 0.166, which takes all of these without a warning.
        events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "Interrupt", "SessionEnd"),
        permits=("PreToolUse", "PermissionRequest"),
    ),
    GEMINI: Vendor(
        GEMINI,
        "Gemini CLI",
        ("gemini",),
        # Its successor `agy` keeps its files in the same folder, but reads no hooks from settings.json (since 1.1).
        no_evidence=("antigravity", "config"),
        events=("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "Notification", "SessionEnd"),
        timeout=HOOK_SECONDS * 1000,
        permits=("BeforeTool",),
    ),
    # Known from the page that comes with the program (agy-customizations/docs/hooks.md), as others quote it: the files,
    # their shape, the events, the time-out in seconds. SessionStart is not on it and so not used, though it is
    # reported to fire. PreToolUse and PostToolUse are on it and not used either: an answer without a decision refuses
    # the tool, and a hook that fails spoils its result. We have run no agy, so none of this is verified by ourselves.
    # Reported, and unclear: some versions read no hooks of a project; those up to 1.1.1 want groups at every event.
    AGY: Vendor(
        AGY,
        "Antigravity CLI",
        ("agy",),  # not `antigravity`, which is the editor
        evidence=("antigravity-cli",),
        events=("PreInvocation", "Stop"),
        # A hook that cannot be started is reported to break off the turn. It is run by sh or cmd: both know `exit 0`.
        unless=" || exit 0",
    ),
    OPENCODE: Vendor(OPENCODE, "OpenCode", ("opencode", "opencode2")),
}
"""Those that `atm init` sets up."""

EDITORS: dict[str, Vendor] = {
    CURSOR: Vendor(CURSOR, "Cursor", ("cursor",)),
    VSCODE: Vendor(VSCODE, "VS Code", ("code",)),
}
"""Those that have no hooks of ours, but can start our MCP server."""

CLIENTS: dict[str, Vendor] = {**KNOWN, **EDITORS}
"""Those that `atm mcp install` knows."""


@dataclass(frozen=True, slots=True)
class VendorPlaces:
    """The folders in which the vendors keep their files. Empty where there is none, because HOME is not set."""

    claude: str
    codex: str
    gemini: str
    agy: str
    opencode: str
    project: str
    claude_state: str = ""
    """Where Claude Code has its `.claude.json`: at home, or with its settings if a variable has moved these."""
    cursor: str = ""
    vscode: str = ""

    def root_of(self, vendor: str) -> str:
        return {
            CLAUDE: self.claude,
            CODEX: self.codex,
            GEMINI: self.gemini,
            AGY: self.agy,
            OPENCODE: self.opencode,
            CURSOR: self.cursor,
            VSCODE: self.vscode,
        }[vendor]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file that holds something of ours, or should."""

    path: str
    vendor: str
    kinds: tuple[str, ...]
    """All that may be ours in it, whatever is to be done now."""
    within: str = ""
    """A link at the path may not lead out of this folder. Empty: it may, people keep their dotfiles elsewhere."""
    instead: str = ""
    """Another file in which its program would look: ours goes there if only that one is there."""
    is_private: bool = False
    """Does its program keep secrets in it? Then nobody else may read it, should we be the first to write it."""


@dataclass(frozen=True, slots=True)
class Before:
    """What was in the place of a file before we made it: nothing (None), or a file with nothing in it."""

    text: str | None


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One hook that we want."""

    event: str
    command: str
    timeout: int


@dataclass(frozen=True, slots=True)
class OurCommand:
    """A hook command of ours, taken apart."""

    leading: str
    """Variables that the user set before it. They are theirs and stay."""
    program: tuple[str, ...]
    vendor: str
    event: str
    trailing: str = ""
    """What the user added after it. That stays as well."""
    verb: str = HOOK

    @property
    def fails_open(self) -> bool:
        """A permission hook whose line does not deny when it is killed, or not there."""
        return self.verb == PERMIT and not self.trailing.rstrip().endswith(FAIL_CLOSED.strip())


@dataclass(frozen=True, slots=True)
class FoundHook:
    """An entry of ours in a file: under which event it stands, and what it says."""

    event: str
    command: OurCommand


@dataclass(frozen=True, slots=True)
class HookStanding:
    """How one file compares with what should be in it, by the names of events."""

    missing: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        return MISSING if self.missing else OUTDATED if self.outdated else INSTALLED


def files_of(vendor: str, scope: str, places: VendorPlaces) -> tuple[ConfigFile, ...]:
    """
    Where what is ours goes in a vendor's files.

    Codex takes `notify` from the user's file alone: in a project it would be ignored, with a warning at every start.
    """
    if scope == PROJECT:
        return tuple(_file(vendor, places.project, *row, within=places.project) for row in _PROJECT_FILES[vendor])
    return tuple(
        _file(vendor, places.claude_state if path == CLAUDE_STATE else places.root_of(vendor), path, *kinds)
        for path, *kinds in _USER_FILES[vendor]
    )


def _file(vendor: str, root: str, path: str, *kinds: str, within: str = "") -> ConfigFile:
    if not root:
        raise NoHome(
            f"HOME is not set, so there is no folder for the settings of {CLIENTS[vendor].title}",
            "set HOME, or use --project",
        )
    whole = f"{root}/{path}"
    instead = f"{whole}c" if path == "opencode.json" else ""
    return ConfigFile(whole, vendor, kinds, within, instead, is_private=path == CLAUDE_STATE)


CLAUDE_STATE = ".claude.json"

# Where the servers stand, by the documentation of each: code.claude.com/docs/en/mcp, opencode.ai/docs/config,
# geminicli.com/docs/tools/mcp-server, cursor.com/docs/mcp, code.visualstudio.com (mcp-configuration);
# for Codex its docs/config.md, and on projects people's reports of 2026 (it reads them in a project that it trusts).
# Of agy we know it from others who connect to it, and from corrections among them, as with its hooks.
_USER_FILES = {
    CLAUDE: (("settings.json", HOOKS), (CLAUDE_STATE, SERVER)),
    CODEX: (("hooks.json", HOOKS), ("config.toml", NOTIFY, SERVER)),
    GEMINI: (("settings.json", HOOKS, SERVER),),
    AGY: (("config/hooks.json", NAMED_HOOKS), ("config/mcp_config.json", SERVER)),
    OPENCODE: (("plugins/atm.js", PLUGIN), ("opencode.json", SERVER)),
    CURSOR: (("mcp.json", SERVER),),
    VSCODE: (("mcp.json", SERVER),),
}
_PROJECT_FILES = {
    CLAUDE: ((".claude/settings.json", HOOKS), (".mcp.json", SERVER)),
    CODEX: ((".codex/hooks.json", HOOKS), (".codex/config.toml", SERVER)),
    GEMINI: ((".gemini/settings.json", HOOKS, SERVER),),
    AGY: ((".agents/hooks.json", NAMED_HOOKS), (".agents/mcp_config.json", SERVER)),
    OPENCODE: ((".opencode/plugins/atm.js", PLUGIN), ("opencode.json", SERVER)),
    CURSOR: ((".cursor/mcp.json", SERVER),),
    VSCODE: ((".vscode/mcp.json", SERVER),),
}


def entries_for(vendor: str, program: tuple[str, ...], *, permits: bool = False) -> tuple[HookEntry, ...]:
    known = KNOWN[vendor]
    hooks = tuple(HookEntry(event, hook_command(program, vendor, event), known.timeout) for event in known.events)
    if not permits:
        return hooks
    longest = PERMIT_SECONDS * known.timeout // HOOK_SECONDS
    return hooks + tuple(HookEntry(event, _permit_command(program, vendor, event), longest) for event in known.permits)


def _permit_command(program: tuple[str, ...], vendor: str, event: str) -> str:
    return " ".join([*map(_quoted, program), PERMIT, vendor, event]) + FAIL_CLOSED


def hook_command(program: tuple[str, ...], vendor: str, event: str) -> str:
    return " ".join([*map(_quoted, program), "hook", vendor, event]) + KNOWN[vendor].unless


def notify_words(program: tuple[str, ...]) -> tuple[str, ...]:
    return (*program, "hook", CODEX, "notify")


def _quoted(word: str) -> str:
    """Double quotes where they do: they mean the same to sh and to cmd."""
    plain = shlex.quote(word)
    return plain if plain == word or any(c in word for c in '"$`\\!%') else f'"{word}"'


_COMMAND = re.compile(
    r"(?P<leading>\s*(?:[A-Za-z_]\w*=\S*\s+)*)(?P<program>\S.*?)\s+(?P<verb>hook|permit)\s+(?P<vendor>\w+)\s+(?P<event>\w+)(?P<trailing>(?:\s.*)?)",
    re.DOTALL,
)


def our_command(command: object) -> OurCommand | None:
    """The parts of a command line that is one of our hooks; None if it is another program's."""
    if not isinstance(command, str) or len(command) > LONGEST_COMMAND:
        return None
    found = _COMMAND.fullmatch(command)
    if found is None:
        return None
    try:
        program = shlex.split(found["program"])
    except ValueError:
        return None  # quotes that do not close
    if found["vendor"] not in VENDORS or not is_atm(program):
        return None
    parts = (found["vendor"], found["event"], found["trailing"], found["verb"])
    return OurCommand(found["leading"], tuple(program), *parts)


def our_words(words: object) -> tuple[str, ...] | None:
    """The program in a list of words that is a notify of ours, else None."""
    if not isinstance(words, list) or len(words) < 4 or words[-3:-1] != ["hook", CODEX]:
        return None
    program = [str(word) for word in words[:-3]]
    return tuple(program) if is_atm(program) else None


def compare(
    wanted: tuple[HookEntry, ...], found: list[FoundHook], program: tuple[str, ...], vendor: str
) -> HookStanding:
    """Which of the wanted events have no entry of ours, and which have one that would start another program."""
    ours = {hook.event: hook.command for hook in found if hook.event == hook.command.event}
    missing = tuple(entry.event for entry in wanted if entry.event not in ours)
    outdated = tuple(
        entry.event
        for entry in wanted
        if entry.event in ours
        and ((ours[entry.event].program, ours[entry.event].vendor) != (program, vendor) or ours[entry.event].fails_open)
    )
    wanted_events = {entry.event for entry in wanted}
    needless = tuple(hook.event for hook in found if hook.command.verb == PERMIT and hook.event not in wanted_events)
    return HookStanding(missing, outdated + needless)
