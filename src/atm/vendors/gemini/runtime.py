"""How Gemini CLI is run."""

from __future__ import annotations

from atm.vendors.acp import ACP
from atm.vendors.runtime import Runtime

RUNTIME = Runtime(
    "gemini",
    protocol=ACP,
    program="gemini",
    headless=("gemini", "--acp", "-m", "{model}", "--approval-mode", "{mode}"),
    terminal=("gemini", "-m", "{model}", "--approval-mode", "{mode}", "-i", "{prompt}"),
    resume=("--resume", "{resume}"),
    modes={"default": "default", "edits": "auto_edit", "plan": "plan", "asks": "default"},
    environment={"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    version=("gemini", "--version"),
    brings="npm install -g @google/gemini-cli",
    vendor="gemini",
    ends_by_signal=True,
    driver="atm.vendors.gemini.driver:GeminiDriver",
    remarks=(
        "it hides the user's git identity from its shells: the worktree gets one",
        "it would write over a session that it loads in the minute in which it began: that is refused",
    ),
)
