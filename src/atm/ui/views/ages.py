"""Ages in one short word."""

from __future__ import annotations


def ago(seconds: float) -> str:
    """How long ago."""
    if seconds < 0:
        return "in the future" if seconds < -5 else "now"
    if seconds < 1:
        return "now"
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "now"
