"""Plain values: what JSON can say, and what crosses a process or a file as it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
    Record = dict[str, Plain]


def dicts_in(value: Plain) -> list[Record]:
    """The objects in a list, where another program may have written anything."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words: `1 task`, `2 tasks`, `1,000 boxes`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
