"""One thing that a call of an agent would do, and where: what rules are about."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM = (
    *("git_push", "delete", "network", "spend"),
    *("tool", "plan", "custom"),
)
OPERATIONS = (GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM)


class Act:
    """One thing that a call would do."""

    __slots__ = ("branches", "is_sensitive", "needs", "operation", "paths", "texts", "writes")

    def __init__(self, text: str, operation: str = TOOL) -> None:
        self.texts = [text] if text else []
        """Every way to spell it: a rule that restricts sees all of them."""
        self.needs = [text] if text else []
        """What has to be allowed, each of these, before it is."""
        self.operation = operation
        self.is_sensitive = operation in (GIT_PUSH, NETWORK_USE, SPEND)
        """Is it for a person to grant, unless a rule says otherwise?"""
        self.paths: list[str] = []
        """Files that it names, each with its whole path."""
        self.branches: list[str] | None = []
        """Branches that a push would change; None if that cannot be seen."""
        self.writes = False
        """Does what it prints go into a file?"""


class Workplace:
    """Where a call runs: its folder, and the worktree that it may change."""

    __slots__ = ("folder", "real", "root")

    def __init__(self, folder: str, root: str = "", real: Callable[[str], str] | None = None) -> None:
        self.folder = folder or "/"
        self.root = root or self.folder
        self.real = real or _as_it_is
        """A path without links, as far as it is there."""

    def whole(self, word: str) -> str:
        """The path that a word means here."""
        if word.startswith("~"):
            return word  # somebody's home; never within
        return normal(word if word.startswith("/") else f"{self.folder}/{word}")

    def holds(self, path: str) -> bool:
        """Is it below the worktree, and not the worktree itself or its git folder?"""
        root = self.real(self.root).rstrip("/")
        real = self.real(path) if not path.startswith("~") else path
        inside = real.removeprefix(f"{root}/")
        return inside != real and bool(inside) and inside.partition("/")[0] != ".git"


def _as_it_is(path: str) -> str:
    return path


def normal(path: str) -> str:
    """Without `.`, `..` and doubled slashes."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


class ShellLine:
    """All that a command line would do, and why it is not quite clear, if it is not."""

    __slots__ = ("acts", "unclear")

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.unclear = ""

    def doubt(self, why: str) -> None:
        self.unclear = self.unclear or why


def files_in(words: Sequence[str], place: Workplace) -> list[str]:
    named = [
        word.partition("=")[2] if "=" in word else word for word in words if "=" in word or not word.startswith("-")
    ]
    return [place.whole(word) for word in named if word and "://" not in word]


def removes(act: Act, paths: Sequence[str], place: Workplace) -> None:
    act.operation = DELETE
    act.is_sensitive = not paths or not all(place.holds(path) for path in paths)


def overwrites(act: Act, path: str) -> None:
    """What lies outside of the worktree is removed, or written over, which is the same to whoever misses it."""
    if act.operation == TOOL:
        act.operation = DELETE
    act.is_sensitive = True
    if path not in act.paths:
        act.paths.append(path)
