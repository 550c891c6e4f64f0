"""
What `atm init` and `atm mcp install` set up: which agent programs there are, where each keeps its hooks and its MCP
servers, and which of ours belong there.

Pure: it joins names to roots that the caller found, and compares what is there with what should be. A hook of ours is
known by its command, `… atm hook VENDOR EVENT`, so that a program that moved is put right instead of entered twice.
What a server of ours is known by stands in `server_entries`.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from atm.vendors.server_entries import Identity, ServerEntry

    class ServerEntries(Protocol):
        """How a program writes its MCP servers down, of which one may be ours."""

        def found_in(self, text: str) -> ServerEntry | None:
            """The server called `atm`, ours or not; None if there is none."""

        def put_into(self, text: str, program: tuple[str, ...], words: tuple[str, ...]) -> str: ...

        def taken_from(self, text: str) -> str: ...

        def leaves_nothing(self, text: str) -> bool:
            """Is there nothing in the file that its owner could miss?"""

    class SettingsPart(Protocol):
        """One kind of thing of ours in one file."""

        def put(self, text: str, wish: WantedEntries) -> str: ...

        def take(self, text: str) -> str: ...

        def is_in(self, text: str) -> bool: ...

        def leaves_nothing(self, text: str) -> bool:
            """Is there nothing in this text that its owner could miss?"""

        def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
            """How it stands, and what the owner of the file should know."""


USER, PROJECT = "user", "project"

HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN, SERVER = "hooks", "named-hooks", "notify", "plugin", "server"
"""
What a file holds of ours: hooks in JSON, of one shape or the other; one key in TOML; the whole file; or the entry of
the MCP server. A file may hold several of these.
"""
KINDS = (HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN, SERVER)
WITHOUT_SERVER = (HOOKS, NAMED_HOOKS, NOTIFY, PLUGIN)

INSTALLED, MISSING, OUTDATED = "installed", "missing", "outdated"

FAIL_CLOSED = " || exit 2"
"""What follows a permission hook on its line: killed or gone, it makes sh and cmd end so, which denies the call."""

HOOK, PERMIT = "hook", "permit"
"""Commands of ours in vendors' settings."""

LONGEST_COMMAND = 2048
"""A longer command is none of ours, and is not taken apart."""


class Surroundings:
    """Where programs keep their files, for this user and in this project. Empty where HOME is not set."""

    __slots__ = ("_folder_of", "claude_root", "home", "is_sandbox", "platform", "project")

    def __init__(
        self,
        *,
        home: str = "",
        project: str = "",
        claude_root: str = "",
        is_sandbox: bool = False,
        platform: str = "linux",
        folder_of: Callable[[str], str] = lambda _: "",
    ) -> None:
        self.home = home
        self.project = project
        self.claude_root = claude_root
        """The folder that holds the teams: atm shares it with Claude Code."""
        self.is_sandbox = is_sandbox
        """`ATM_HOME` moves these files too: in a sandbox no hook may be written into a person's real files."""
        self.platform = platform
        self._folder_of = folder_of

    def moved_by(self, variable: str, otherwise: str = "") -> str:
        """The folder that a variable names; else one below home."""
        return ("" if self.is_sandbox else self._folder_of(variable)) or self.below_home(otherwise)

    def below_home(self, path: str) -> str:
        return f"{self.home.rstrip('/')}/{path}" if self.home and path else self.home

    def applications(self) -> str:
        """Where programs with windows keep their settings."""
        if self.platform == "darwin":
            return self.below_home("Library/Application Support")
        if self.platform == "win32":
            return self.moved_by("APPDATA", "AppData/Roaming")
        return self.moved_by("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class SettingsRow:
    """A file of a program that holds something of ours, or should."""

    path: str
    kinds: tuple[str, ...]
    root: Callable[[Surroundings], str] | None = None
    """The folder that it lies in, where that is not the program's own."""
    instead: str = ""
    """Another name under which its program would look: ours goes there if only that one is there."""
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOf:
    """One program's settings files, and what of ours belongs in them."""

    programs: tuple[str, ...]
    """Any of these on PATH says that it is installed."""
    root: Callable[[Surroundings], str]
    """Its own folder, in the user's."""
    user: tuple[SettingsRow, ...]
    project: tuple[SettingsRow, ...]
    server: ServerEntries
    names_hooks: bool = False
    """Are its hooks in objects with names of their own (`settings_hooks.NAMED`)?"""
    parts: Mapping[str, Callable[[ConfigFile], SettingsPart]] | None = None
    """Kinds of things of ours that only this program has."""
    no_evidence: tuple[str, ...] = ()
    """Beginnings of names in its folder that say nothing about it: others, and we ourselves, write there too."""
    evidence: tuple[str, ...] = ()
    """Names in its folder that alone say that it was here, where the folder is not its own."""
    is_editor: bool = False
    """It has no hooks of ours, but can start our MCP server."""
    after_hooks: Callable[[str], Sequence[str]] = lambda _: ()
    """What a person has to do after hooks were entered in this scope."""
    after_server: tuple[str, str] = ("", "")
    """In which scope (empty: in both), and what there is to know after our server was entered."""

    def is_evidence(self, name: str) -> bool:
        """Does something of that name in its folder say that it was here?"""
        return name in self.evidence if self.evidence else not name.startswith((".", *self.no_evidence))


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
class WantedEntries:
    """What is to be entered."""

    program: tuple[str, ...]
    identity: Identity | None = None
    """Whom the MCP server acts for. None: whomever an entry of ours names already, else nobody."""
    permits: tuple[bool, bool] = (False, False)
    """Is there a policy that permission hooks have to enforce: in the user's files, in those of the project?"""
    is_gentle: bool = False
    """Is another program's server that is called like ours spoken of, instead of being a reason to refuse the file?"""


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
