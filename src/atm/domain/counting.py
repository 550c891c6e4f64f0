"""Numbers of things, in words."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`, `1,000 boxes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
