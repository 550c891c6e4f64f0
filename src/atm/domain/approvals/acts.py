"""
What a command line would do: each program it starts, under the name that counts, and what kind of operation that is.

`/usr/bin/git -C x push` is `git push`, `sh -c "…"` is what stands in the quotes, `find -delete` is `rm`. A wrapper that
changes nothing is passed through; one that changes much (`sudo`) must be allowed together with what it starts. What
takes its program or its arguments from elsewhere is unclear, and so is a git command that may be somebody's alias.
"""

from __future__ import annotations

from atm.domain.approvals.programs import (
    AGENTS,
    ALIASES_OF_REMOVAL,
    CLOUDS,
    CODE_FLAGS,
    GIT_KNOWN,
    GIT_NETWORK,
    GIT_VALUES,
    HARMLESS_VARIABLES,
    NETWORK,
    NETWORK_VERBS,
    OVERWRITING,
    PRIVILEGED,
    PUSH_VALUES,
    SHELLS,
    STRANGE,
    WRAPPERS,
)
from atm.domain.approvals.shell import parse_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.domain.approvals.shell import ShellCommand

GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM = (
    *("git_push", "delete", "network", "spend"),
    *("tool", "plan", "custom"),
)
OPERATIONS = (GIT_PUSH, DELETE, NETWORK_USE, SPEND, TOOL, PLAN, CUSTOM)

DEEPEST = 4
"""Shells within shells."""

_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


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


class Ground:
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


class Line:
    """All that a command line would do, and why it is not quite clear, if it is not."""

    __slots__ = ("acts", "unclear")

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.unclear = ""

    def doubt(self, why: str) -> None:
        self.unclear = self.unclear or why


def acts_of(line: str, ground: Ground) -> Line:
    found = Line()
    _take_line(found, line, ground, 0)
    return found


def _take_line(found: Line, line: str, ground: Ground, depth: int) -> None:
    parsed = parse_line(line)
    if parsed.unclear:
        found.doubt(parsed.unclear)
    for command in parsed.commands:
        ground = _take(found, command, ground, depth)


def _take(found: Line, command: ShellCommand, ground: Ground, depth: int) -> Ground:
    """Note one command; where the next one runs."""
    for name in command.assigned:
        if name not in HARMLESS_VARIABLES:
            found.doubt(f"it sets {name}, which may change what programs do")
    words, first = command.words, len(found.acts)
    if words and words[0] in ("cd", "pushd", "popd"):
        ground = _moved(found, words, ground)
    elif words:
        _take_words(found, words, ground, depth)
    for operator, target in command.redirected:
        _redirect(found, operator, target, ground, first)
    return ground


def _moved(found: Line, words: Sequence[str], ground: Ground) -> Ground:
    """After `cd` other words mean other files."""
    if words[0] != "cd" or len(words) != 2 or words[1].startswith("-"):
        found.doubt("it changes to a folder that is not named")
        return Ground("/", ground.root, ground.real)
    act = Act(f"cd {words[1]}")
    act.paths = [ground.whole(words[1])]
    act.needs = []  # to go somewhere is nothing yet
    found.acts.append(act)
    return Ground(act.paths[0], ground.root, ground.real)


def _redirect(found: Line, operator: str, target: str, ground: Ground, first: int) -> None:
    if target in _NOWHERE or (operator.endswith("&") and (target.isdecimal() or target == "-")) or operator == "<<<":
        return
    if len(found.acts) == first:
        found.acts.append(Act(f"{operator} {target}"))
    path = ground.whole(target)
    found.acts[-1].paths.append(path)
    found.acts[-1].writes = found.acts[-1].writes or ">" in operator
    if ">" in operator and not ground.holds(path):
        _overwrites(found.acts[-1], path)
        found.acts[-1].texts.append(f"> {path}")
        found.acts[-1].needs.append(f"> {path}")  # to allow `echo` is not to allow this


def _overwrites(act: Act, path: str) -> None:
    """What lies outside of the worktree is removed, or written over, which is the same to whoever misses it."""
    if act.operation == TOOL:
        act.operation = DELETE
    act.is_sensitive = True
    if path not in act.paths:
        act.paths.append(path)


# Programs.


def _take_words(found: Line, words: Sequence[str], ground: Ground, depth: int) -> None:
    name = words[0].rpartition("/")[2]
    if depth > DEEPEST:
        found.doubt("it starts shells within shells")
    elif name in ("busybox", "toybox") and len(words) > 1:
        _take_words(found, words[1:], ground, depth + 1)
    elif name in WRAPPERS or name in PRIVILEGED:
        _take_wrapped(found, name, words, ground, depth)
    elif name in SHELLS:
        _take_shell(found, words, ground, depth)
    elif name == "eval":
        _take_line(found, " ".join(words[1:]), ground, depth + 1)
    elif name in ("xargs", "parallel"):
        _take_fed(found, words, ground, depth)
    else:
        _take_program(found, name, words, ground, depth)


def _take_program(found: Line, name: str, words: Sequence[str], ground: Ground, depth: int) -> None:
    act = _named(words, ground)
    found.acts.append(act)
    if name in STRANGE:
        found.doubt(f"{name} takes its commands from elsewhere, or changes what others mean")
    elif name in CODE_FLAGS:
        _look_at_code(found, name, words)
    elif name == "git":
        _take_git(found, act, words, ground)
    elif name == "find":
        _take_find(found, act, words, ground, depth)
    elif name in ALIASES_OF_REMOVAL:
        _removes(act, _files(words[1:], ground), ground)
    elif name in OVERWRITING:
        for path in _targets(name, words, ground):
            if not ground.holds(path):
                _overwrites(act, path)
    elif name in CLOUDS or name in AGENTS or (name == "atm" and words[1:2] in (["up"], ["spawn"], ["run"])):
        act.operation, act.is_sensitive = SPEND, True
    elif (
        name in NETWORK
        or _verb(words) in NETWORK_VERBS.get(name, ())
        or (name == "rsync" and any(":" in word for word in words[1:]))
    ):
        act.operation, act.is_sensitive = NETWORK_USE, True


def _named(words: Sequence[str], ground: Ground) -> Act:
    """An act under the program's own name, whatever path it was called by."""
    name = words[0].rpartition("/")[2]
    act = Act(" ".join([name, *words[1:]]))
    if name != words[0]:
        act.texts.append(" ".join(words))
        if not words[0].startswith(("/bin/", "/usr/")):
            act.needs = [" ".join(words)]  # some file that is called so
    act.paths = _files(words[1:], ground)
    return act


def _files(words: Sequence[str], ground: Ground) -> list[str]:
    named = [
        word.partition("=")[2] if "=" in word else word for word in words if "=" in word or not word.startswith("-")
    ]
    return [ground.whole(word) for word in named if word and "://" not in word]


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words[1:] if not word.startswith("-")), "")


def _targets(name: str, words: Sequence[str], ground: Ground) -> list[str]:
    """What a program writes: all files of some, the last one of others."""
    files = _files([word for word in words[1:] if not word.startswith(("if=", "bs=", "count="))], ground)
    return files if name in ("mv", "tee", "dd", "truncate") else files[-1:]


def _removes(act: Act, paths: Sequence[str], ground: Ground) -> None:
    act.operation = DELETE
    act.is_sensitive = not paths or not all(ground.holds(path) for path in paths)


def _take_wrapped(found: Line, name: str, words: Sequence[str], ground: Ground, depth: int) -> None:
    inner = _inside(name, words)
    if inner is None:
        found.acts.append(_named(words, ground))
        found.doubt(f"what {name} starts cannot be seen")
        return
    first = len(found.acts)
    for name_set in [word.partition("=")[0] for word in words[1 : len(words) - len(inner)] if "=" in word]:
        if name_set not in HARMLESS_VARIABLES and not name_set.startswith("-"):
            found.doubt(f"it sets {name_set}, which may change what programs do")
    if inner:
        _take_words(found, inner, ground, depth + 1)
    outer = " ".join([name, *words[1:]])
    for act in found.acts[first:] or [_added(found, outer)]:
        act.texts.append(outer)
        if name in PRIVILEGED:
            act.needs.append(outer)
            act.is_sensitive = True


def _added(found: Line, text: str) -> Act:
    """A wrapper by itself."""
    found.acts.append(Act(text))
    return found.acts[-1]


def _inside(name: str, words: Sequence[str]) -> Sequence[str] | None:
    """The words of the program that a wrapper starts; none for itself alone; None if that cannot be seen."""
    with_value, plain = {**WRAPPERS, **PRIVILEGED}[name]
    at = 1
    while at < len(words) and (words[at].startswith("-") or (name == "env" and "=" in words[at])):
        word = words[at]
        if word in with_value:
            at += 1
        elif (
            word.startswith("-")
            and word not in plain
            and not any(word.startswith(one) and len(word) > len(one) for one in with_value)
        ):
            return None
        at += 1
    return words[at + 1 :] if name == "timeout" else words[at:]


def _take_shell(found: Line, words: Sequence[str], ground: Ground, depth: int) -> None:
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            if at + 1 < len(words):
                _take_line(found, words[at + 1], ground, depth + 1)
                return
        elif not word.startswith(("-", "+")):
            found.acts.append(_named(words, ground))
            return
    found.acts.append(_named(words, ground))
    found.doubt("a shell takes its commands from elsewhere")


def _take_fed(found: Line, words: Sequence[str], ground: Ground, depth: int) -> None:
    """The program is named, its arguments come from a pipe."""
    inner = [word for word in words[1:] if not word.startswith("-")]
    while inner and (inner[0].isdecimal() or inner[0] in ("{}", "%")):
        inner = inner[1:]
    found.acts.append(_named(words, ground))
    found.doubt(f"what {words[0]} is given cannot be seen")
    if inner:
        _take_words(found, inner, Ground("/", ground.root, ground.real), depth + 1)


def _look_at_code(found: Line, name: str, words: Sequence[str]) -> None:
    """An interpreter runs a file, which has a name; or what stands on the line or comes through a pipe."""
    flags = CODE_FLAGS[name]
    for word in words[1:]:
        if any(
            word == flag or (len(flag) == 2 and word.startswith("-") and not word.startswith("--") and flag[1] in word)
            for flag in flags
        ):
            found.doubt(f"{name} runs a program that stands on the line")
            return
        if not word.startswith("-"):
            return
    if not words[1:] or words[-1] == "-":
        found.doubt(f"{name} takes its program from elsewhere")


def _take_find(found: Line, act: Act, words: Sequence[str], ground: Ground, depth: int) -> None:
    starts = _files(_until(words[1:], lambda one: one[:1] in ("-", "(", "!")) or ["."], ground)
    if "-delete" in words:
        text = " ".join(["rm", *starts])
        act.texts.append(text)
        act.needs.append(text)
        _removes(act, [f"{path}/x" for path in starts], ground)
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = _until(words[at + 1 :], lambda one: one in (";", "+"))
            _take_fed(found, ["find -exec", *inner], ground, depth)


def _until(words: Sequence[str], is_end: Callable[[str], bool]) -> list[str]:
    taken: list[str] = []
    for word in words:
        if is_end(word):
            break
        taken.append(word)
    return taken


# Git.


def _take_git(found: Line, act: Act, words: Sequence[str], ground: Ground) -> None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        option = words[at].partition("=")[0]
        if option in ("-c", "--config-env", "--exec-path") or (option.startswith("-c") and len(option) > 2):
            found.doubt("git is given settings on the line, which can be commands")
        elif option == "-C" and at + 1 < len(words):
            ground = Ground(ground.whole(words[at + 1]), ground.root, ground.real)
        at += 2 if words[at] in GIT_VALUES else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", [])
    if at > 1:
        plain = " ".join(["git", verb, *rest])
        act.texts.append(plain)
        act.needs.append(plain)
    act.paths = _files(rest, ground)
    if verb and verb not in GIT_KNOWN:
        found.doubt(f"git {verb} may be an alias of anything")
    elif verb == "push" or (verb, *rest[:1]) in (("lfs", "push"), ("svn", "dcommit"), ("subtree", "push")):
        act.operation, act.is_sensitive, act.branches = GIT_PUSH, True, _pushed(rest) if verb == "push" else None
    elif verb == "config" and len([word for word in rest if not word.startswith("-")]) > 1:
        found.doubt("git config can make any command run later")
    elif verb in GIT_NETWORK or (verb, *rest[:1]) in (("remote", "update"), ("submodule", "update"), ("lfs", "pull")):
        act.operation, act.is_sensitive = NETWORK_USE, True
    elif verb in ("clean", "rm"):
        _removes(
            act, [ground.whole(word) for word in rest if not word.startswith("-")] or [f"{ground.folder}/x"], ground
        )


def _pushed(rest: Sequence[str]) -> list[str] | None:
    """Branches that are named; None for whatever git's settings say."""
    named: list[str] = []
    skip = False
    for word in rest:
        if skip:
            skip = False
        elif word in ("--all", "--branches", "--mirror", "--tags", "--follow-tags"):
            return None
        elif word in PUSH_VALUES:
            skip = True
        elif not word.startswith("-"):
            named.append(word)
    refs = [word.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") for word in named[1:]]
    return refs if refs and all(ref and ref != "HEAD" and "*" not in ref for ref in refs) else None
