"""Where OpenCode keeps its conversations."""

from __future__ import annotations

from atm.vendors.conversations import Conversations

CONVERSATIONS = Conversations(
    folder="{home}/.local/share/opencode",
    files="storage/session/*/{id}.json",
    database="opencode.db",  # newer ones
    resume="opencode --session {}",
)
