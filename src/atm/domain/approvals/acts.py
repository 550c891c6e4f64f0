"""
What a command line would do: each program it starts, under the name that counts, and what kind of operation that is.

`/usr/bin/git -C x push` is `git push`, `sh -c "…"` is what stands in the quotes, `find -delete` is `rm`. A wrapper that
changes nothing is passed through; one that changes much (`sudo`) must be allowed together with what it starts. What
takes its program or its arguments from elsewhere is unclear, and so is a git command that may be somebody's alias.
"""

from __future__ import annotations

from atm.domain.approvals.act import (
    NETWORK_USE,
    SPEND,
    Act,
    ShellLine,
    Workplace,
    files_in,
    overwrites,
    removes,
)
from atm.domain.approvals.git_acts import take_git
from atm.domain.approvals.programs import (
    AGENTS,
    ALIASES_OF_REMOVAL,
    CLOUDS,
    CODE_FLAGS,
    HARMLESS_VARIABLES,
    NETWORK,
    NETWORK_VERBS,
    OVERWRITING,
    PRIVILEGED,
    SHELLS,
    STRANGE,
    WRAPPERS,
)
from atm.domain.approvals.shell import parse_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.domain.approvals.shell import ShellCommand

DEEPEST = 4
"""Shells within shells."""

_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def acts_of(line: str, place: Workplace) -> ShellLine:
    found = ShellLine()
    _take_line(found, line, place, 0)
    return found


def _take_line(found: ShellLine, line: str, place: Workplace, depth: int) -> None:
    parsed = parse_line(line)
    if parsed.unclear:
        found.doubt(parsed.unclear)
    for command in parsed.commands:
        place = _take(found, command, place, depth)


def _take(found: ShellLine, command: ShellCommand, place: Workplace, depth: int) -> Workplace:
    """Note one command; where the next one runs."""
    for name in command.assigned:
        if name not in HARMLESS_VARIABLES:
            found.doubt(f"it sets {name}, which may change what programs do")
    words, first = command.words, len(found.acts)
    if words and words[0] in ("cd", "pushd", "popd"):
        place = _moved(found, words, place)
    elif words:
        _take_words(found, words, place, depth)
    for operator, target in command.redirected:
        _redirect(found, operator, target, place, first)
    return place


def _moved(found: ShellLine, words: Sequence[str], place: Workplace) -> Workplace:
    """After `cd` other words mean other files."""
    if words[0] != "cd" or len(words) != 2 or words[1].startswith("-"):
        found.doubt("it changes to a folder that is not named")
        return Workplace("/", place.root, place.real)
    act = Act(f"cd {words[1]}")
    act.paths = [place.whole(words[1])]
    act.needs = []  # to go somewhere is nothing yet
    found.acts.append(act)
    return Workplace(act.paths[0], place.root, place.real)


def _redirect(found: ShellLine, operator: str, target: str, place: Workplace, first: int) -> None:
    if target in _NOWHERE or (operator.endswith("&") and (target.isdecimal() or target == "-")) or operator == "<<<":
        return
    if len(found.acts) == first:
        found.acts.append(Act(f"{operator} {target}"))
    path = place.whole(target)
    found.acts[-1].paths.append(path)
    found.acts[-1].writes = found.acts[-1].writes or ">" in operator
    if ">" in operator and not place.holds(path):
        overwrites(found.acts[-1], path)
        found.acts[-1].texts.append(f"> {path}")
        found.acts[-1].needs.append(f"> {path}")  # to allow `echo` is not to allow this


# Programs.


def _take_words(found: ShellLine, words: Sequence[str], place: Workplace, depth: int) -> None:
    name = words[0].rpartition("/")[2]
    if depth > DEEPEST:
        found.doubt("it starts shells within shells")
    elif name in ("busybox", "toybox") and len(words) > 1:
        _take_words(found, words[1:], place, depth + 1)
    elif name in WRAPPERS or name in PRIVILEGED:
        _take_wrapped(found, name, words, place, depth)
    elif name in SHELLS:
        _take_shell(found, words, place, depth)
    elif name == "eval":
        _take_line(found, " ".join(words[1:]), place, depth + 1)
    elif name in ("xargs", "parallel"):
        _take_fed(found, words, place, depth)
    else:
        _take_program(found, name, words, place, depth)


def _take_program(found: ShellLine, name: str, words: Sequence[str], place: Workplace, depth: int) -> None:
    act = _named(words, place)
    found.acts.append(act)
    if name in STRANGE:
        found.doubt(f"{name} takes its commands from elsewhere, or changes what others mean")
    elif name in CODE_FLAGS:
        _look_at_code(found, name, words)
    elif name == "git":
        take_git(found, act, words, place)
    elif name == "find":
        _take_find(found, act, words, place, depth)
    elif name in ALIASES_OF_REMOVAL:
        removes(act, files_in(words[1:], place), place)
    elif name in OVERWRITING:
        for path in _targets(name, words, place):
            if not place.holds(path):
                overwrites(act, path)
    elif name in CLOUDS or name in AGENTS or (name == "atm" and words[1:2] in (["up"], ["spawn"], ["run"])):
        act.operation, act.is_sensitive = SPEND, True
    elif (
        name in NETWORK
        or _verb(words) in NETWORK_VERBS.get(name, ())
        or (name == "rsync" and any(":" in word for word in words[1:]))
    ):
        act.operation, act.is_sensitive = NETWORK_USE, True


def _named(words: Sequence[str], place: Workplace) -> Act:
    """An act under the program's own name, whatever path it was called by."""
    name = words[0].rpartition("/")[2]
    act = Act(" ".join([name, *words[1:]]))
    if name != words[0]:
        act.texts.append(" ".join(words))
        if not words[0].startswith(("/bin/", "/usr/")):
            act.needs = [" ".join(words)]  # some file that is called so
    act.paths = files_in(words[1:], place)
    return act


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words[1:] if not word.startswith("-")), "")


def _targets(name: str, words: Sequence[str], place: Workplace) -> list[str]:
    """What a program writes: all files of some, the last one of others."""
    files = files_in([word for word in words[1:] if not word.startswith(("if=", "bs=", "count="))], place)
    return files if name in ("mv", "tee", "dd", "truncate") else files[-1:]


def _take_wrapped(found: ShellLine, name: str, words: Sequence[str], place: Workplace, depth: int) -> None:
    inner = _inside(name, words)
    if inner is None:
        found.acts.append(_named(words, place))
        found.doubt(f"what {name} starts cannot be seen")
        return
    first = len(found.acts)
    for name_set in [word.partition("=")[0] for word in words[1 : len(words) - len(inner)] if "=" in word]:
        if name_set not in HARMLESS_VARIABLES and not name_set.startswith("-"):
            found.doubt(f"it sets {name_set}, which may change what programs do")
    if inner:
        _take_words(found, inner, place, depth + 1)
    outer = " ".join([name, *words[1:]])
    for act in found.acts[first:] or [_added(found, outer)]:
        act.texts.append(outer)
        if name in PRIVILEGED:
            act.needs.append(outer)
            act.is_sensitive = True


def _added(found: ShellLine, text: str) -> Act:
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


def _take_shell(found: ShellLine, words: Sequence[str], place: Workplace, depth: int) -> None:
    for at, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            if at + 1 < len(words):
                _take_line(found, words[at + 1], place, depth + 1)
                return
        elif not word.startswith(("-", "+")):
            found.acts.append(_named(words, place))
            return
    found.acts.append(_named(words, place))
    found.doubt("a shell takes its commands from elsewhere")


def _take_fed(found: ShellLine, words: Sequence[str], place: Workplace, depth: int) -> None:
    """The program is named, its arguments come from a pipe."""
    inner = [word for word in words[1:] if not word.startswith("-")]
    while inner and (inner[0].isdecimal() or inner[0] in ("{}", "%")):
        inner = inner[1:]
    found.acts.append(_named(words, place))
    found.doubt(f"what {words[0]} is given cannot be seen")
    if inner:
        _take_words(found, inner, Workplace("/", place.root, place.real), depth + 1)


def _look_at_code(found: ShellLine, name: str, words: Sequence[str]) -> None:
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


def _take_find(found: ShellLine, act: Act, words: Sequence[str], place: Workplace, depth: int) -> None:
    starts = files_in(_until(words[1:], lambda one: one[:1] in ("-", "(", "!")) or ["."], place)
    if "-delete" in words:
        text = " ".join(["rm", *starts])
        act.texts.append(text)
        act.needs.append(text)
        removes(act, [f"{path}/x" for path in starts], place)
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = _until(words[at + 1 :], lambda one: one in (";", "+"))
            _take_fed(found, ["find -exec", *inner], place, depth)


def _until(words: Sequence[str], is_end: Callable[[str], bool]) -> list[str]:
    taken: list[str] = []
    for word in words:
        if is_end(word):
            break
        taken.append(word)
    return taken
