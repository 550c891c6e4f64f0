"""The plugin file for OpenCode among what `atm init` enters."""

from __future__ import annotations

from atm.vendors.opencode import plugin as opencode_plugin
from atm.vendors.settings import ConfigFile, HookStanding, WantedEntries
from atm.vendors.settings_hooks import NotEditable, is_blank
from atm.vendors.settings_parts import has_policy


class PluginPart:
    """The plugin file for OpenCode: all of it is ours, or none."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file

    def put(self, text: str, wish: WantedEntries) -> str:
        self._check(text)
        wanted = opencode_plugin.plugin_text(wish.program, permits=has_policy(self.file, wish))
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
        wanted = opencode_plugin.plugin_text(wish.program, permits=has_policy(self.file, wish))
        is_current = opencode_plugin.says_the_same(text, wanted)
        return (HookStanding() if is_current else HookStanding(outdated=("plugin",))), ()

    @staticmethod
    def _check(text: str) -> None:
        if not is_blank(text) and not opencode_plugin.is_ours(text):
            raise NotEditable("it is not a plugin that atm wrote")
        if not is_blank(text) and not opencode_plugin.is_untouched(text):
            raise NotEditable("somebody has changed it by hand since atm wrote it; move it away to have a new one")
