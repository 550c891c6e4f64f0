"""Where Gemini CLI keeps its conversations."""

from __future__ import annotations

from atm.vendors.conversations import Conversations

CONVERSATIONS = Conversations(
    folder="{home}/.gemini",
    files="tmp/*/chats/session-*{short}*.json*",  # named by the beginning of its id
    resume="gemini --resume {}",
)
