"""
What a vendor's file can hold of ours, kind by kind: how it is put in, taken out, found and judged.

Pure changes of text. `vendor_setup` decides which kinds of which files are to be changed, and changes the files.
"""

from __future__ import annotations

from atm.core.errors import RequestError
from atm.vendors import settings_hooks
from atm.vendors.server_entries import SERVER_NAME
from atm.vendors.settings import HOOKS, PERMIT, SERVER, ConfigFile, HookEntry, HookStanding, compare
from atm.vendors.settings_files import entries_for, settings_of
from atm.vendors.settings_hooks import GROUPED, NAMED, is_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from atm.vendors.server_entries import ServerEntry
    from atm.vendors.settings import SettingsPart, WantedEntries


def has_policy(file: ConfigFile, wish: WantedEntries) -> bool:
    """A file of a project has a folder that it must lie in."""
    return wish.permits[bool(file.within)]


class HooksPart:
    """Hooks in JSON."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file
        self.shape = NAMED if settings_of(file.vendor).names_hooks else GROUPED

    def put(self, text: str, wish: WantedEntries) -> str:
        stays = has_policy(self.file, wish) or is_blank(text)
        kept = text if stays else settings_hooks.without_hooks(text, self.shape, PERMIT)
        return settings_hooks.with_hooks(kept, self._entries(wish), self.shape)

    def _entries(self, wish: WantedEntries) -> tuple[HookEntry, ...]:
        return entries_for(self.file.vendor, wish.program, permits=has_policy(self.file, wish))

    def take(self, text: str) -> str:
        return settings_hooks.without_hooks(text, self.shape)

    def is_in(self, text: str) -> bool:
        return bool(settings_hooks.hooks_in(text, self.shape))

    def leaves_nothing(self, text: str) -> bool:
        return settings_hooks.holds_nothing(text)

    def look(self, text: str, wish: WantedEntries) -> tuple[HookStanding, tuple[str, ...]]:
        found, off = settings_hooks.hooks_in(text, self.shape), settings_hooks.switched_off(text, self.shape)
        standing = compare(self._entries(wish), found, wish.program, self.file.vendor)
        return standing, (f"{off} in {self.file.path} keeps our hooks from running",) if off else ()


class Server:
    """The entry of the MCP server."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file
        self.entries = settings_of(file.vendor).server

    def put(self, text: str, wish: WantedEntries) -> str:
        found = self._found(text)
        if found is not None and not found.is_ours:
            if wish.is_gentle:
                return text
            raise self._taken()
        return self.entries.put_into(text, wish.program, _words(found, wish))

    def take(self, text: str) -> str:
        return self.entries.taken_from(text)

    def is_in(self, text: str) -> bool:
        found = self._found(text)
        return found is not None and found.is_ours

    def leaves_nothing(self, text: str) -> bool:
        return self.entries.leaves_nothing(text)

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
        return self.entries.found_in(text)

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
    makers = {**_PARTS, **(settings_of(file.vendor).parts or {})}
    return [makers[kind](file) for kind in kinds]


_PARTS: dict[str, Callable[[ConfigFile], SettingsPart]] = {HOOKS: HooksPart, SERVER: Server}
