"""
Which versions of the agent programs the lab has run: what atm does inside of them was seen in what their models got.

Vendors change hooks, screens and files from one version to the next. One that is not here may work as well; nobody has
looked. `tests/lab/programs.json` pins what the lab installs, and a test says when the two disagree.
"""

from __future__ import annotations

from atm.vendors.claude_version import parse_version
from atm.vendors.moments import CLAUDE, CODEX, GEMINI, OPENCODE

SEEN: dict[str, tuple[str, ...]] = {
    CLAUDE: ("2.1.197",),
    CODEX: ("0.166.0",),
    GEMINI: ("0.61.0",),
    OPENCODE: ("1.18.33",),
}
"""Newest last."""

PACKAGES = {
    CLAUDE: "@anthropic-ai/claude-code",
    CODEX: "@openai/codex",
    GEMINI: "@google/gemini-cli",
    OPENCODE: "opencode-ai",
}
"""What npm calls them; the packages of one platform begin with it or with the program's name."""

TEAM_FOLDER = ("config.json", "inboxes")
"""What Claude Code keeps in the folder of a team of its own."""


def is_unseen(vendor: str, version: str) -> bool:
    """Is this a version that we can name and the lab has not run? Of other vendors, and without a version: no."""
    return vendor in SEEN and parse_version(version) is not None and version not in SEEN[vendor]


def strange_in_team(names: list[str]) -> list[str]:
    """What lies in a team's folder of Claude Code's and was never seen there. Locks and hidden files come and go."""
    passing = (name for name in names if not name.startswith(".") and not name.endswith(".lock"))
    return sorted(name for name in passing if name not in TEAM_FOLDER)
