"""
A long command where there is no room for all of it: its beginning, its size, the command that shows it, and its end.

What a line does may stand at its end. So it is never cut there.
"""

from __future__ import annotations


def excerpt(text: str, most: int, id: str = "") -> str:
    """At most about so many characters of the text, from both ends. `id`: of the request that shows all of it."""
    if len(text) <= most:
        return text
    half = max(1, most // 2)
    left_out = f"{len(text) - 2 * half:,} of {len(text):,} characters are left out"
    whole = f"; all of it: atm approvals show {id}" if id else ""
    return f"{text[:half]} … ({left_out}{whole}) … {text[-half:]}"
