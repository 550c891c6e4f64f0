"""Files of a working tree as git's trees hold them: their kinds, their names, and names that git accepts."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FILE, PROGRAM, LINK = "100644", "100755", "120000"
"""Modes in a tree."""

SAVED_AS = ".atm-saved"
"""Behind the name of a git folder, which no tree may have."""


@dataclass(slots=True, eq=False)
class TreeEntry:
    """One file on its way into a tree."""

    file: str
    """Where it lies."""
    path: str
    """Where it belongs in the tree."""
    mode: str
    """Empty for what is gone."""

    @classmethod
    def gone(cls, path: str) -> TreeEntry:
        return cls("", path, "")

    @property
    def is_link(self) -> bool:
        return self.mode == LINK


def entry_of(file: str, path: str) -> TreeEntry | None:
    """What lies there now. None for a folder, and for what is no content: pipes, sockets, devices."""
    try:
        mode = os.lstat(file).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return TreeEntry.gone(path)
    if stat.S_ISLNK(mode):
        return TreeEntry(file, path, LINK)
    if not stat.S_ISREG(mode):
        return None
    if not os.access(file, os.R_OK):
        os.chmod(file, stat.S_IMODE(mode) | stat.S_IRUSR)
    return TreeEntry(file, path, PROGRAM if mode & stat.S_IXUSR else FILE)


def entries_below(folder: str, path: str) -> Iterator[TreeEntry]:
    """All files in a folder. Links are kept, and not followed."""
    for at, folders, files in os.walk(folder):
        for name in (*files, *(each for each in folders if os.path.islink(f"{at}/{each}"))):
            file = f"{at}/{name}"
            entry = entry_of(file, f"{path}{file[len(folder) :]}")
            if entry is not None and entry.mode:
                yield entry


def mend_modes(root: str) -> None:
    """Give ourselves the right to look into every folder: an agent may have taken it away."""
    for at, folders, _ in os.walk(root):
        for name in folders:
            path = f"{at}/{name}"
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            if not os.path.islink(path) and mode & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(path, mode | stat.S_IRWXU)


def escaped(path: str, mode: str) -> str:
    """A path with every part that git refuses under another name."""
    parts = path.split("/")
    links = [False] * (len(parts) - 1) + [mode == LINK]
    return "/".join(
        f"{part}{SAVED_AS}" if _is_refused(part, is_link) else part for part, is_link in zip(parts, links, strict=True)
    )


def unescaped(path: str) -> str:
    return "/".join(part.removesuffix(SAVED_AS) if _is_marked(part) else part for part in path.split("/"))


def _is_refused(part: str, is_link: bool) -> bool:
    name = _without_marks(part)
    return name == ".git" or (name == ".gitmodules" and (is_link or _is_marked(part)))


def _is_marked(part: str) -> bool:
    return part.endswith(SAVED_AS) and _without_marks(part) in (".git", ".gitmodules")


def _without_marks(part: str) -> str:
    while part.endswith(SAVED_AS):
        part = part.removesuffix(SAVED_AS)
    return part.lower()


def quoted(path: str) -> str:
    """As git reads a path on a line of its own: every byte that could mean something is written as a number."""
    told = [chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in os.fsencode(path)]
    return f'"{"".join(told)}"'
