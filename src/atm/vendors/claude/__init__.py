"""Claude Code."""

from __future__ import annotations

from atm.vendors.vendor import Vendor

VENDOR = Vendor(
    "claude",
    "Claude Code",
    letters="CC",
    processes=("claude",),
    aliases=("claude-code", "anthropic"),
    backends=("in-process", "iterm2"),
    models=("claude", "opus", "sonnet", "haiku"),
    own_names=(".claude", ".mcp.json"),
    variables=("CLAUDECODE",),
    package="@anthropic-ai/claude-code",
    seen=("2.1.197",),
    hooks="atm.vendors.claude.hooks:HOOKS",
    calls="atm.vendors.claude.calls:CALLS",
    runtime="atm.vendors.claude.runtime:RUNTIME",
    screen="atm.vendors.claude.screen:SCREEN",
    settings="atm.vendors.claude.settings:SETTINGS",
    session_notes="atm.vendors.claude.sessions:read_notes",
    conversations="atm.vendors.claude.conversations:CONVERSATIONS",
)
