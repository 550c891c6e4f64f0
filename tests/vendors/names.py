"""Names of vendors, as tests write them."""

from __future__ import annotations

CLAUDE, CODEX, GEMINI, AGY, OPENCODE = "claude", "codex", "gemini", "agy", "opencode"
VENDORS = (CLAUDE, CODEX, GEMINI, AGY, OPENCODE)

CODEX_SERVER, ACP, OPENCODE_SERVER = "codex/app-server", "acp", "opencode/server"
"""Protocols in which a program asks its host."""
