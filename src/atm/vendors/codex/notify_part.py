"""The `notify` of Codex among what `atm init` enters."""

from __future__ import annotations

from atm.vendors.codex import notify as codex_notify
from atm.vendors.codex.notify import notify_words
from atm.vendors.settings import ConfigFile, HookStanding, WantedEntries
from atm.vendors.settings_hooks import is_blank


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
