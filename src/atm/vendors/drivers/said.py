"""
What another program's JSON says, taken with care: it may be of any shape, and of a version that nobody has tried.

What is not there, or is something else, is empty: no message of a vendor ends the thread that reads it.
"""

from __future__ import annotations

from atm.core.plain import dicts_in
from atm.files.formats.json_record import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record

LONGEST_OUTPUT = 4096
"""Characters of one line for people."""

TELLING = ("command", "cmd", "file_path", "filePath", "path", "url", "query", "pattern", "title", "plan")
"""The argument that says what a tool call is about, most telling first."""


def value_in(value: Plain, *path: str) -> Plain:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_in(value: Plain, *path: str) -> str:
    found = value_in(value, *path)
    return found if isinstance(found, str) else ""


def number_in(value: Plain, *path: str) -> int | float | None:
    found = value_in(value, *path)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def count_in(value: Plain, *path: str) -> int:
    """A number of tokens; none is nothing."""
    return int(number_in(value, *path) or 0)


def record_in(value: Plain, *path: str) -> Record:
    found = value_in(value, *path)
    return found if isinstance(found, dict) else {}


def records_in(value: Plain, *path: str) -> list[Record]:
    return dicts_in(value_in(value, *path))


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]} …"


def call_in_words(tool: str, arguments: Record) -> str:
    """A tool call on one line, for people."""
    about = next((text for key in TELLING if (text := text_in(arguments, key))), "") or encode(arguments)
    return shortened(f"{tool}: {' '.join(about.split())}")


def percent_of(part: int, whole: int) -> float | None:
    """None if the whole is not known."""
    return round(100 * part / whole, 1) if whole > 0 else None
