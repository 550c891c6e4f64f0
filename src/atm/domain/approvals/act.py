"""
One thing that a call would do, and where it would do it: what rules are about.

`acts` finds such acts in a command line; other calls are one act each.
"""

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

    def uses_network(self) -> None:
        self.operation, self.is_sensitive = NETWORK_USE, True

    def removes(self, paths: Sequence[str], place: CallPlace) -> None:
        self.operation = DELETE
        self.is_sensitive = not paths or not all(place.holds(path) for path in paths)

    def overwrites(self, paths: Sequence[str], place: CallPlace) -> None:
        """What lies outside of the worktree is removed, or written over, which is the same to whoever misses it."""
        for path in paths:
            if not place.holds(path):
                self.operation = DELETE if self.operation == TOOL else self.operation
                self.is_sensitive = True
                if path not in self.paths:
                    self.paths.append(path)

    def saves_to(self, paths: Sequence[str], place: CallPlace) -> None:
        """What it prints goes there. To allow `echo` is not to allow that outside of the worktree."""
        self.writes = True
        outside = [path for path in paths if not place.holds(path)]
        self.overwrites(outside, place)
        for path in outside:
            self.also(f"> {path}")

    def also(self, text: str) -> None:
        """It is this as well, and both must be allowed."""
        self.texts.append(text)
        self.needs.append(text)


class CallPlace:
    """Where a call runs: its folder, and the worktree that it may change."""

    __slots__ = ("folders", "home", "real", "root")

    def __init__(self, folder: str, root: str = "", real: Callable[[str], str] | None = None, home: str = "") -> None:
        self.folders: tuple[str, ...] = (folder or "/",)
        """The folder; more than one where it cannot be seen whether a `cd` came to be."""
        self.root = root or self.folders[0]
        self.real = real or _as_it_is
        """A path without links, as far as it is there."""
        self.home = home
        """What `~` means; empty if that is not known."""

    def at(self, folders: Sequence[str]) -> CallPlace:
        """The same worktree, from other folders."""
        moved = CallPlace("/", self.root, self.real, self.home)
        moved.folders = tuple(dict.fromkeys(folders))
        return moved

    def whole(self, word: str) -> str:
        """The path that a word means here."""
        return self.every(word)[0]

    def every(self, word: str) -> list[str]:
        """The paths that a word may mean here."""
        word = self.at_home(word)
        if word.startswith("~"):
            return [word]  # somebody else's home; never within
        names = [word] if word.startswith("/") else [f"{folder}/{word}" for folder in self.folders]
        return list(dict.fromkeys(map(self._plain, names)))

    def at_home(self, word: str) -> str:
        return f"{self.home}{word[1:]}" if self.home and (word == "~" or word.startswith("~/")) else word

    def _plain(self, path: str) -> str:
        if ".." in path.split("/"):
            path = self.real(path)  # behind a link that leads elsewhere, so does `..`
        return normal(path)

    def holds(self, path: str) -> bool:
        """Is it below the worktree, and not the worktree itself or its git folder, in whatever letters?"""
        root = self.real(self.root).rstrip("/")
        real = self.real(path) if not path.startswith("~") else path
        inside = real.removeprefix(f"{root}/")
        return inside != real and bool(inside) and ".git" not in inside.lower().split("/")


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


def files_in(words: Sequence[str], place: CallPlace) -> list[str]:
    """Every word that may be the name of a file, and what stands behind the `=` of those that have one."""
    named: list[str] = []
    for word in words:
        if not word.startswith("-"):
            named.append(word)
        if "=" in word:
            named.append(word.partition("=")[2])
    return list(dict.fromkeys(path for word in named if word and "://" not in word for path in place.every(word)))


class ShellLine:
    """All that a command line would do, and why it is not quite clear, if it is not."""

    __slots__ = ("acts", "unclear")

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.unclear = ""

    def doubt(self, why: str) -> None:
        self.unclear = self.unclear or why
