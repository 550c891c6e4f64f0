"""Where Codex keeps its conversations."""

from __future__ import annotations

from atm.vendors.conversations import Conversations

CONVERSATIONS = Conversations(
    folder="{home}/.codex",
    files="sessions/*/*/*/rollout-*{id}.jsonl",
    variable="CODEX_HOME",
    resume="codex resume {}",
)
