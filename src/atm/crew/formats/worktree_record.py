"""
What we note about a worktree.

    {"version": 1, "branch": "atm/work/b/7-ann", "base": "4f0c…", "ignored": ["*.log"], "copies": {".env": "9a1b…"},
     "path": "/…/7-ann", "notes": "/…/.git/worktrees/7-ann", "common": "/…/.git"}

One is in git's own folder of notes on it and goes when the worktree goes. The one that counts is in a folder of ours:
an agent can write its worktree and git's notes on it. Both are written last: a worktree without one was never finished.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atm.core.plain import Plain

VERSION = 1
PLACES = ("path", "notes", "common")


class WorktreeRecord:
    """What a worktree began with."""

    __slots__ = ("base", "branch", "common", "copies", "ignored", "notes", "path")

    def __init__(
        self,
        *,
        branch: str,
        base: str,
        ignored: Sequence[str],
        copies: Mapping[str, str],
        path: str = "",
        notes: str = "",
        common: str = "",
    ) -> None:
        self.path = path
        self.notes = notes
        """Git's folder of notes on it."""
        self.common = common
        """The git folder of its repository."""
        self.branch = branch
        self.base = base
        self.ignored = [*ignored]
        """Patterns of files that are never committed or saved."""
        self.copies = dict(copies)
        """Files that were copied into it, and the object that each was."""


def encode_record(record: WorktreeRecord) -> bytes:
    fields: dict[str, Plain] = {"version": VERSION, "branch": record.branch, "base": record.base}
    fields |= {name: getattr(record, name) for name in PLACES if getattr(record, name)}
    fields |= {"ignored": [*record.ignored], "copies": {**record.copies}}
    return to_bytes(encode(fields) + "\n")


def decode_record(data: bytes) -> WorktreeRecord | None:
    """None for what we did not write."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return None
    branch, base = fields.get("branch"), fields.get("base")
    ignored, copies = fields.get("ignored"), fields.get("copies")
    if fields.get("version") != VERSION or not isinstance(branch, str) or not isinstance(base, str):
        return None
    return WorktreeRecord(
        branch=branch,
        base=base,
        ignored=[each for each in ignored if isinstance(each, str)] if isinstance(ignored, list) else [],
        copies={key: str(value) for key, value in copies.items()} if isinstance(copies, dict) else {},
        **{name: str(fields.get(name) or "") for name in PLACES},
    )
