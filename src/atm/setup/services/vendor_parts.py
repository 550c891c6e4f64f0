"""
What a vendor's file can hold of ours, kind by kind: how it is put in, taken out, found and judged.

Pure changes of text. `vendor_setup` decides which kinds of which files are to be changed, and changes the files.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.errors import RequestError
from atm.vendors import codex_notify, opencode_plugin, server_settings
from atm.vendors import hook_settings as vendor_settings
from atm.vendors.codex_servers import codex_server_in, with_codex_server, without_codex_server
from atm.vendors.hook_settings import GROUPED, NAMED, NotEditable, is_blank
from atm.vendors.hooks import (
    HOOKS,
    NAMED_HOOKS,
    NOTIFY,
    PERMIT,
    PLUGIN,
    SERVER,
    ConfigFile,
    HookEntry,
    HookStanding,
    compare,
    entries_for,
    notify_words,
)
from atm.vendors.moments import CODEX
from atm.vendors.server_entries import SERVER_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from atm.vendors.server_entries import Identity, ServerEntry

    class SettingsPart(Protocol):
        """One kind of thing of ours in one file."""

        def put(self, text: str, wish: WantedEntries) -> str: ...

        def take(self, text: str) -> str: ...

        def is_in(self, text: str) -> bool: ...

        def leaves_nothing(self, text: str) -> bool:
            """Is there nothing in this text that its owner could miss?"""

        def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
            """How it stands, and what the owner of the file should know."""


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


def _permits(file: ConfigFile, wish: WantedEntries) -> bool:
    """A file of a project has a folder that it must lie in."""
    return wish.permits[bool(file.within)]


class HooksPart:
    """Hooks in JSON."""

    def __init__(self, file: ConfigFile, shape: vendor_settings.Shape) -> None:
        self.file = file
        self.shape = shape

    def put(self, text: str, wish: WantedEntries) -> str:
        stays = _permits(self.file, wish) or is_blank(text)
        kept = text if stays else vendor_settings.without_hooks(text, self.shape, PERMIT)
        return vendor_settings.with_hooks(kept, self._entries(wish), self.shape)

    def _entries(self, wish: WantedEntries) -> tuple[HookEntry, ...]:
        return entries_for(self.file.vendor, wish.program, permits=_permits(self.file, wish))

    def take(self, text: str) -> str:
        return vendor_settings.without_hooks(text, self.shape)

    def is_in(self, text: str) -> bool:
        return bool(vendor_settings.hooks_in(text, self.shape))

    def leaves_nothing(self, text: str) -> bool:
        return vendor_settings.holds_nothing(text)

    def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
        found, off = vendor_settings.hooks_in(text, self.shape), vendor_settings.switched_off(text, self.shape)
        standing = compare(self._entries(wish), found, wish.program, self.file.vendor)
        return standing, (f"{off} in {self.file.path} keeps our hooks from running",) if off else ()


class Notify:
    """The `notify` of Codex."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file

    def put(self, text: str, wish: WantedEntries) -> str:
        if codex_notify.has_other_notify(text):
            return text
        return codex_notify.with_notify(text, notify_words(wish.program))

    def take(self, text: str) -> str:
        return codex_notify.without_notify(text)

    def is_in(self, text: str) -> bool:
        return codex_notify.notify_program(text) is not None

    def leaves_nothing(self, text: str) -> bool:
        return is_blank(text)

    def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
        path, notes = self.file.path, []
        if codex_notify.has_other_notify(text):
            notes.append(f"notify in {path} belongs to another program and is left alone; the Stop hook does its work")
        if codex_notify.has_hook_tables(text):
            notes.append(f"{path} has hooks of its own, so Codex will warn that hooks.json has some too; both run")
        found = codex_notify.notify_program(text)
        if codex_notify.has_other_notify(text) or found == wish.program:
            return HookStanding(), tuple(notes)
        return HookStanding(missing=("notify",)) if found is None else HookStanding(outdated=("notify",)), tuple(notes)


class PluginPart:
    """The plugin file for OpenCode: all of it is ours, or none."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file

    def put(self, text: str, wish: WantedEntries) -> str:
        self._check(text)
        wanted = opencode_plugin.plugin_text(wish.program, permits=_permits(self.file, wish))
        return text if opencode_plugin.says_the_same(text, wanted) else wanted

    def take(self, text: str) -> str:
        if not opencode_plugin.is_ours(text):
            return text
        self._check(text)
        return ""

    def is_in(self, text: str) -> bool:
        return opencode_plugin.is_ours(text)

    def leaves_nothing(self, text: str) -> bool:
        return is_blank(text)

    def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
        if is_blank(text):
            return HookStanding(missing=("plugin",)), ()
        wanted = opencode_plugin.plugin_text(wish.program, permits=_permits(self.file, wish))
        is_current = opencode_plugin.says_the_same(text, wanted)
        return (HookStanding() if is_current else HookStanding(outdated=("plugin",))), ()

    @staticmethod
    def _check(text: str) -> None:
        if not is_blank(text) and not opencode_plugin.is_ours(text):
            raise NotEditable("it is not a plugin that atm wrote")
        if not is_blank(text) and not opencode_plugin.is_untouched(text):
            raise NotEditable("somebody has changed it by hand since atm wrote it; move it away to have a new one")


class Server:
    """The entry of the MCP server."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file

    def put(self, text: str, wish: WantedEntries) -> str:
        found = self._found(text)
        if found is not None and not found.is_ours:
            if wish.is_gentle:
                return text
            raise self._taken()
        words = _words(found, wish)
        if self.file.vendor == CODEX:
            return with_codex_server(text, wish.program, words)
        return server_settings.with_server(text, wish.program, words, server_settings.SHAPES[self.file.vendor])

    def take(self, text: str) -> str:
        if self.file.vendor == CODEX:
            return without_codex_server(text)
        return server_settings.without_server(text, server_settings.SHAPES[self.file.vendor])

    def is_in(self, text: str) -> bool:
        found = self._found(text)
        return found is not None and found.is_ours

    def leaves_nothing(self, text: str) -> bool:
        if self.file.vendor == CODEX:
            return is_blank(text)
        return server_settings.holds_nothing(text, server_settings.SHAPES[self.file.vendor])

    def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
        found = self._found(text)
        if found is None:
            return HookStanding(missing=("MCP server",)), ()
        if not found.is_ours:
            note = (
                f"a server called {SERVER_NAME} in {self.file.path} is not ours and is left alone, so ours is not there"
            )
            return HookStanding(missing=("MCP server",)), (note,)
        notes = (f"{SERVER_NAME} in {self.file.path} is switched off",) if found.is_off else ()
        is_right = (found.program, found.words) == (wish.program, _words(found, wish))
        return HookStanding() if is_right else HookStanding(outdated=("MCP server",)), notes

    def _found(self, text: str) -> ServerEntry | None:
        if self.file.vendor == CODEX:
            return codex_server_in(text)
        return server_settings.server_in(text, server_settings.SHAPES[self.file.vendor])

    def _taken(self) -> RequestError:
        return RequestError(
            f"{self.file.path} has a server called {SERVER_NAME} already, and it does not start `atm mcp`",
            "rename or remove that entry, then try again",
            self.file.path,
        )


def _words(found: ServerEntry | None, wish: WantedEntries) -> tuple[str, ...]:
    """Names that were given replace all that stand there; where none were given, those stay."""
    if wish.identity is not None:
        return wish.identity.words
    return found.words if found is not None else ()


def parts_of(file: ConfigFile, kinds: Iterable[str]) -> list[SettingsPart]:
    """What these kinds are in a file."""
    return [_PARTS[kind](file) for kind in kinds]


_PARTS: dict[str, Callable[[ConfigFile], SettingsPart]] = {
    HOOKS: lambda file: HooksPart(file, GROUPED),
    NAMED_HOOKS: lambda file: HooksPart(file, NAMED),
    NOTIFY: Notify,
    PLUGIN: PluginPart,
    SERVER: Server,
}
