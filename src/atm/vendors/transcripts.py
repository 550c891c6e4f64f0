"""
Where vendors keep conversations: implements `sessions.ports.surroundings.Transcripts`.

As tried with the programs (docs/vendors.md). "Resumable" is said only of what was found here.
"""

from __future__ import annotations

import glob
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PLACES = {
    "claude": ("CLAUDE_CONFIG_DIR", "{home}/.claude", "projects/*/{id}.jsonl"),
    "codex": ("CODEX_HOME", "{home}/.codex", "sessions/*/*/*/rollout-*{id}.jsonl"),
    "gemini": ("", "{home}/.gemini", "tmp/*/chats/session-*{short}*.json*"),
    "opencode": ("", "{home}/.local/share/opencode", "storage/session/*/{id}.json"),
}
"""For each vendor: the variable that moves its folder, the folder, and where a conversation lies in it."""

SHORT = 8
"""Gemini CLI names a transcript by the beginning of its id."""


class TranscriptFiles:
    """Looks for a file; reads none."""

    __slots__ = ("_environment",)

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def is_there(self, vendor: str, session: str) -> bool | None:
        place = PLACES.get(vendor)
        if place is None or not session or not session.replace("-", "").replace("_", "").isalnum():
            return None
        variable, folder, pattern = place
        home = self._environment.get("HOME", "")
        root = self._environment.get(variable, "") or folder.format(home=home)
        if not os.path.isdir(root):
            return False
        if vendor == "opencode" and os.path.exists(f"{root}/opencode.db"):
            return None  # newer ones keep them in a database of their own
        found = glob.iglob(pattern.format(id=session, short=session[:SHORT]), root_dir=root)
        return next(found, None) is not None
