"""What Claude Code keeps in the folder of a team of its own."""

from __future__ import annotations

KNOWN = ("config.json", "inboxes")


def strange_in_team(names: list[str]) -> list[str]:
    """What lies there and was never seen there. Locks and hidden files come and go."""
    passing = (name for name in names if not name.startswith(".") and not name.endswith(".lock"))
    return sorted(name for name in passing if name not in KNOWN)
