"""
One thing that a call would do, and where it would do it: what rules are about.

`acts` finds such acts in a command line; other calls are one act each.
"""

from __future__ import annotations

from atm.approvals.rules.options import CHANGES_INSIDE, MAY_DO_ANYTHING, READS, NamedOption, options_of
from atm.vendors.known import every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.approvals.rules.options import KnownOptions

GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM = (
    *("git_push", "delete", "network", "spend"),
    *("tool", "plan", "custom"),
)
OPERATIONS = (GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM)


class Act:
    """One thing that a call would do."""

    __slots__ = (
        *(
            "branches",
            "effect",
            "is_elsewhere",
            "is_sensitive",
            "needs",
            "operation",
            "options",
            "paths",
            "script",
            "texts",
            "why",
        ),
        *("words", "writes"),
    )

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
        self.words: list[str] = []
        """The program under the name that counts, and its words: what a rule that allows is compared with."""
        self.options: list[NamedOption] = []
        """Every option among the words, one letter at a time, and whether it is known to be harmless."""
        self.is_elsewhere = False
        """Does git run in another folder than the top of the worktree?"""
        self.script = ""
        """The file with commands that a shell is given: a rule allows it only if it names that very file."""
        self.effect = MAY_DO_ANYTHING
        """What is known of its effects: see `options`."""
        self.why = ""
        """Why its effects are not known."""

    @property
    def is_known_inside(self) -> bool:
        """Is it known to be without effect outside of the worktree?"""
        return self.effect != MAY_DO_ANYTHING and not self.is_sensitive

    def runs(self, words: Sequence[str], known: KnownOptions | None, own: int = 0) -> None:
        """It starts a program whose options may be known; of a wrapper only the first `own` words are options."""
        self.words = [*words]
        self.options = [*options_of(words[1 : own or None], known)]
        odd = next((option for option in self.options if not option.is_harmless), None)
        if known is None:
            self.why = f"what {words[0]} does is not known"
        elif odd is not None:
            self.why = f"what {odd.name} makes {words[0]} do is not known to be harmless"
        elif known.effect == MAY_DO_ANYTHING:
            self.why = f"what {words[0]} does depends on files"
        else:
            self.effect = known.effect

    def may_do_anything(self, why: str) -> None:
        self.effect, self.why = MAY_DO_ANYTHING, self.why or why

    def takes(self, word: str, why: str) -> None:
        """A word that counts like an option that is not known to be harmless."""
        self.options.append(NamedOption(word, word, is_harmless=False))
        self.may_do_anything(why)

    def reads_only(self) -> None:
        """As it is called here, it changes nothing."""
        self.effect = READS if self.effect == CHANGES_INSIDE else self.effect

    def stays_inside(self, files: Sequence[str], place: CallPlace) -> None:
        """What it changes must be in the worktree."""
        if self.effect == CHANGES_INSIDE and not all(place.holds(path) for path in files):
            self.may_do_anything("it may change files outside of the worktree")

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


def is_protected(name: str) -> bool:
    """
    Is this, within a worktree, never written as a matter of course: git's own folder, and what decides what agents may
    do and what runs by itself?
    """
    return name in PROTECTED or any(name in vendor.own_names for vendor in every())


PROTECTED = frozenset((".git", ".atm", ".atm.toml", ".mcp.json", ".envrc", ".husky"))


class CallPlace:
    """Where a call runs: its folder, and the worktree that it may change."""

    __slots__ = ("folders", "has_nested", "home", "program", "real", "repository", "root")

    def __init__(
        self,
        folder: str,
        root: str = "",
        real: Callable[[str], str] | None = None,
        home: str = "",
        program: Callable[[str], str] | None = None,
        repository: Callable[[str, str], str] | None = None,
        has_nested: Callable[[str], bool] | None = None,
    ) -> None:
        self.folders: tuple[str, ...] = (folder or "/",)
        """The folder; more than one where it cannot be seen whether a `cd` came to be."""
        self.root = root or self.folders[0]
        self.real = real or _as_it_is
        """A path without links, as far as it is there."""
        self.home = home
        """What `~` means; empty if that is not known."""
        self.program = program or _in_the_usual_place
        """The real path of the program that a name means on PATH; empty if there is none."""
        self.repository = repository or _is_its_own
        """Why git in a folder would not use the repository of the worktree as it is; empty if it would."""
        self.has_nested = has_nested or _has_none
        """Could there be a repository in a worktree, besides its own?"""

    def at(self, folders: Sequence[str]) -> CallPlace:
        """The same worktree, from other folders."""
        moved = CallPlace("/", self.root, self.real, self.home, self.program, self.repository, self.has_nested)
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
        """Is it below the worktree, and neither the worktree itself nor protected, in whatever letters?"""
        root = self.real(self.root).rstrip("/")
        real = self.real(path) if not path.startswith("~") else path
        inside = real.removeprefix(f"{root}/")
        return inside != real and bool(inside) and not any(map(is_protected, inside.lower().split("/")))

    def is_within(self, path: str) -> bool:
        """Is it the worktree, or anything in it?"""
        root = self.real(self.root).rstrip("/")
        return f"{self.real(path)}/".startswith(f"{root}/")

    def why_git_differs(self) -> str:
        """Why git would not use the worktree's own repository here; empty if it would."""
        return next(filter(None, (self.repository(folder, self.root) for folder in self.folders)), "")


def _as_it_is(path: str) -> str:
    return path


def _in_the_usual_place(name: str) -> str:
    return f"/bin/{name}"


def _is_its_own(_folder: str, _root: str) -> str:
    return ""


def _has_none(_root: str) -> bool:
    return False


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
    is_over = False
    for word in words:
        if is_over or not word.startswith("-"):
            named.append(word)
        is_over = is_over or word == "--"
        if "=" in word:
            named.append(word.partition("=")[2])
    return list(dict.fromkeys(path for word in named if word and "://" not in word for path in place.every(word)))


class ShellLine:
    """All that a command line would do, and why it is not quite clear, if it is not."""

    __slots__ = ("acts", "stored", "unclear")

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.stored: list[str] = []
        """Command lines that it has atm run later, as checks of a task: they are judged as if they ran now."""
        self.unclear = ""

    def doubt(self, why: str) -> None:
        self.unclear = self.unclear or why
