"""
What the message of a salvage commit says: why, where from, and which paths. For people and for us.

    atm salvage: the agent ended

    Why: "the agent ended"
    Base: "4f0c…"
    Dirty: "src/a.py"
    Untracked: "notes.txt"

Each value is a JSON string, so that a path can be anything. A message of another form gives what it has.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE = "atm salvage: "
WHY, BASE, DIRTY, UNTRACKED = "Why", "Base", "Dirty", "Untracked"
LONGEST_TITLE = 100


class SalvageNote:
    """Why something was saved, and what."""

    __slots__ = ("base", "dirty", "untracked", "why")

    def __init__(self, *, why: str, base: str, dirty: Sequence[str], untracked: Sequence[str]) -> None:
        self.why = why
        self.base = base
        self.dirty = [*dirty]
        self.untracked = [*untracked]


def encode_note(note: SalvageNote) -> str:
    title = " ".join(note.why.split())[:LONGEST_TITLE]
    rows = [(WHY, note.why), (BASE, note.base)]
    rows += [(DIRTY, path) for path in note.dirty]
    rows += [(UNTRACKED, path) for path in note.untracked]
    lines = [f"{key}: {encode(value)}" for key, value in rows]
    return "\n".join([f"{TITLE}{title}", "", *lines, ""])


def decode_note(message: str) -> SalvageNote:
    """What can be read of it. Anybody may have made such a commit."""
    title, _, body = message.partition("\n")
    found: dict[str, list[str]] = {key: [] for key in (WHY, BASE, DIRTY, UNTRACKED)}
    for line in body.split("\n"):
        key, _, told = line.partition(": ")
        value = _value(told)
        if key in found and value is not None:
            found[key].append(value)
    why = found[WHY][0] if found[WHY] else title.removeprefix(TITLE)
    base = found[BASE][0] if found[BASE] else ""
    return SalvageNote(why=why, base=base, dirty=found[DIRTY], untracked=found[UNTRACKED])


def _value(told: str) -> str | None:
    try:
        value = decode(told)
    except NotJson:
        return None
    return value if isinstance(value, str) else None
