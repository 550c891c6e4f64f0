"""Where Claude Code keeps its conversations."""

from __future__ import annotations

from atm.vendors.conversations import Conversations

CONVERSATIONS = Conversations(
    folder="{home}/.claude",
    files="projects/*/{id}.jsonl",
    variable="CLAUDE_CONFIG_DIR",
    resume="claude --resume {}",
)
