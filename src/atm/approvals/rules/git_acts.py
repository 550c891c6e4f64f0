"""
What a command of git would do: push, fetch, remove, write elsewhere, or run something that cannot be seen.

Git runs programs that the settings of a repository name (a file system monitor, a diff program, filters). So a command
of git is clear only where git uses the worktree's own repository, and that repository names no programs.
"""

from __future__ import annotations

from atm.approvals.rules.act import GIT_PUSH, files_in
from atm.approvals.rules.options import known_options
from atm.approvals.rules.programs import (
    GIT_KNOWN,
    GIT_NETWORK,
    GIT_NETWORK_PAIRS,
    GIT_PLACES,
    GIT_PUSHES,
    GIT_QUIET,
    GIT_RUNS,
    GIT_SETTINGS,
    GIT_VALUES,
    PUSH_VALUES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.approvals.rules.act import Act, CallPlace, ShellLine


def take_git(found: ShellLine, act: Act, words: Sequence[str], place: CallPlace) -> None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        option = words[at].partition("=")[0]
        if option in GIT_SETTINGS or (option.startswith("-c") and len(option) > 2):
            found.doubt("git is given settings on the line, which can be commands")
        elif option in GIT_PLACES:
            found.doubt("git is told to work on other files than those of its folder")
        elif option == "-C" and at + 1 < len(words):
            place = place.at(place.every(words[at + 1]))
        elif option not in GIT_QUIET:
            found.doubt(f"what git does with {option} is not known")
        at += 2 if words[at] in GIT_VALUES else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", [])
    if at > 1:
        plain = " ".join(["git", verb, *rest])
        act.texts.append(plain)
        if act.words[0] == "git":
            act.needs = [plain]  # to say where, or without a pager, allows and forbids nothing
            act.runs(["git", verb, *rest], known_options(["git", verb]))
    act.paths = files_in(rest, place)
    _take_verb(found, act, verb, rest, place)
    act.is_elsewhere = {place.real(folder) for folder in place.folders} != {place.real(place.root)}
    why = place.why_git_differs() if verb else ""
    if why:
        found.doubt(why)
    signed = next((word for word in rest if _asks_about_signatures(word)), "")
    if signed:
        act.takes(signed, "git asks gpg about signatures")
    if _opens_editor(verb, rest):
        act.takes(verb, f"git {verb} opens an editor without a message (-m) or --no-edit")
    operands = [word for word in rest if not word.startswith("-")]
    if operands and (verb in _CHANGING_WITH_OPERANDS or (verb == "stash" and operands[0] in ("drop", "clear"))):
        act.may_do_anything(f"git {verb} {operands[0]} changes what other worktrees share")


def _asks_about_signatures(word: str) -> bool:
    plain = word.replace("%+", "%").replace("%-", "%").replace("% ", "%")
    return "%G" in plain or (word.startswith("--") and "signature" in word)


_WITH_MESSAGE = ("--message", "--no-edit", "--file", "--fixup", "--reuse-message", "--dry-run", "--abort", "--quit")
"""Options with which git needs no editor; `-m`, `-C` and `-F` beside them."""


def _opens_editor(verb: str, rest: Sequence[str]) -> bool:
    """Is a message needed that the line does not give?"""
    has_message = any(
        (word.partition("=")[0] in _WITH_MESSAGE and not word.startswith(("--fixup=amend:", "--fixup=reword:")))
        or (word[:1] == "-" and word[:2] != "--" and any(letter in word for letter in "mCF"))
        for word in rest
    )
    if verb == "commit":
        return not has_message
    if verb == "tag":
        return any(word in ("-a", "--annotate", "-s", "--sign") for word in rest) and not has_message
    if verb == "merge":
        goes_by_itself = any(word in ("--ff-only", "--squash", "--no-commit") for word in rest)
        return not (has_message or goes_by_itself)
    if verb in ("revert", "cherry-pick", "rebase"):
        return not has_message and (verb == "revert" or "--continue" in rest) and "--skip" not in rest
    return False


_CHANGING_WITH_OPERANDS = ("remote", "reflog", "tag", "branch")
"""Verbs that only tell something as long as they are given no names."""


def _take_verb(found: ShellLine, act: Act, verb: str, rest: Sequence[str], place: CallPlace) -> None:
    pair = (verb, *rest[:1])
    if verb and verb not in GIT_KNOWN:
        found.doubt(f"git {verb} may be an alias of anything")
    elif verb == "push" or pair in GIT_PUSHES:
        act.operation, act.is_sensitive, act.branches = GIT_PUSH, True, _pushed(rest) if verb == "push" else None
    elif verb == "config" and len([word for word in rest if not word.startswith("-")]) > 1:
        found.doubt("git config can make any command run later")
    elif verb in GIT_NETWORK or pair in GIT_NETWORK_PAIRS or (verb == "archive" and _has(rest, "--remote")):
        act.uses_network()
    elif verb in ("clean", "rm") or pair == ("worktree", "remove"):
        files = [path for word in rest if not word.startswith("-") for path in place.every(word)]
        act.removes(files or place.every("x"), place)
    elif _has(rest, *GIT_RUNS.get(verb, ())):
        found.doubt(f"git {verb} runs a command that stands on the line, or comes from elsewhere")
    if _has(rest, "--output") or (verb in ("format-patch", "archive") and _has(rest, "-o")):
        act.saves_to([*act.paths], place)


def _has(words: Sequence[str], *options: str) -> bool:
    """Is one of these options given, with its value or without? Git takes the beginning of a long one."""
    return any(
        word == option
        or (word.startswith(option) and (option.startswith("-") and not option.startswith("--")))
        or (len(word) > 3 and word.startswith("--") and option.startswith(word.partition("=")[0]))
        for word in words
        for option in options
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
    refs = [_branch(word.lstrip("+").rpartition(":")[2]) for word in named[1:]]
    return refs if refs and all(ref and ref not in ("HEAD", "@") and "*" not in ref for ref in refs) else None


def _branch(ref: str) -> str:
    """`refs/heads/main` and `heads/main` are `main`."""
    return ref.removeprefix("refs/heads/").removeprefix("heads/")
