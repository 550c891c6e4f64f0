"""Codex's shared server, and the terminals in front of it."""

from __future__ import annotations

from atm.vendors.shared_server import SharedServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HEADLESS = ("app-server", "exec", "e", "mcp", "mcp-server", "login", "logout", "completion", "debug", "apply", "review")
"""What Codex does without a terminal of its own."""


def _is_server(words: Sequence[str]) -> bool:
    """For any number of terminals: one on stdio belongs to the program that started it."""
    return "app-server" in words and any(word.startswith("--listen") for word in words)


def _is_terminal(words: Sequence[str]) -> bool:
    """Does a person, or an agent's launcher, have Codex before them in this process?"""
    given = [word for word in words[1:] if word]
    return next((word for word in given if not word.startswith("-")), "") not in HEADLESS


SHARED_SERVER = SharedServer(
    is_server=_is_server,
    is_terminal=_is_terminal,
    homes=("CODEX_HOME", "HOME"),
    trouble=(
        "atm cannot tell which member this session is: it runs on Codex's shared server, beside sessions of other "
        "members"
    ),
    remedy="start Codex with `--no-daemon`, and with ATM_TEAM and ATM_IDENTITY in its environment",
)
