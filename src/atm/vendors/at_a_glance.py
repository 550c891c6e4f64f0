"""
What is asked of vendors before any of them is loaded: every command looks whether it runs in an agent's shell, and
every hook which program called it. A test compares this with what the vendors say of themselves.
"""

from __future__ import annotations

SHELL_VARIABLES = ("CLAUDECODE", "CODEX_THREAD_ID")
"""What programs set for commands that their models run."""

PROCESSES = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "agy": "agy",
    "opencode": "opencode",
    "opencode2": "opencode",
}
"""Names of processes, and whose they are."""
