"""
When a pattern over commands allows a program with its words.

A pattern is compared with words, not with a text: its first word names the program, the second the verb of a program
that has verbs, and an option counts only if it is known to be harmless or the pattern spells it. `git diff *` allows
`git diff --stat HEAD` and neither `git difftool` nor `git diff --output=x`.
"""

from __future__ import annotations

from atm.approvals.rules.options import VERBED, known_options
from atm.approvals.rules.programs import PRIVILEGED, SHELLS, known_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.approvals.rules.act import Act
    from atm.approvals.rules.options import NamedOption

_WILD = "*?"


def allows_words(pattern: str, act: Act) -> bool:
    """Does an allowing pattern, whose text fits already, name this program, its verb and its options?"""
    return not why_not_allowed(pattern, act)


def why_not_allowed(pattern: str, act: Act) -> str:
    """Why a pattern whose text fits does not allow an act; empty if it does."""
    named = pattern.split()
    program = named[0].rstrip("*") if named else ""
    if not program:
        return "" if act.is_known_inside else act.why or "no rule names it"
    if any(sign in program for sign in _WILD) or program != act.words[0]:
        return f"the pattern {pattern!r} does not name {act.words[0]}"
    verb = named[1].rstrip("*") if len(named) > 1 else ""
    if program in VERBED and verb and act.words[1:2] != [verb]:
        return f"the pattern {pattern!r} names another verb"
    fixed = next((at for at, word in enumerate(named) if any(sign in word for sign in _WILD)), len(named))
    if list(act.words[1:fixed]) != named[1:fixed]:
        return f"the pattern {pattern!r} spells other words"  # "a b" in quotes is one word, and reads like two
    if act.script and act.script not in named:
        return f"the pattern {pattern!r} does not name the file {act.script}"
    odd = next((one for one in act.options if not one.is_harmless and not _is_spelled(one, named)), None)
    if odd is not None:
        return f"what {odd.name} makes {program} do is not known to be harmless, and the pattern does not spell it"
    return ""


def _is_spelled(option: NamedOption, named: Sequence[str]) -> bool:
    """`--output=build/*` spells its option, `*` spells none."""
    for word in named:
        spelled, is_open = word.partition("*")[0], "*" in word
        if not is_open and word in (option.word, option.name):
            return True
        if is_open and spelled.startswith("-") and "=" in spelled and option.word.startswith(spelled):
            return True
    return False


def why_narrower(pattern: str) -> str:
    """Why an allowing pattern allows less than its text seems to say; empty if it does not. For `atm doctor`."""
    named = pattern.split()
    program = named[0].rstrip("*") if named else ""
    if not program:
        return "it names no program, so it allows only programs that change nothing outside of the worktree"
    if any(sign in program for sign in _WILD):
        return "its first word is a pattern, and a rule must name the program"
    if "=" in program and "/" not in program.partition("=")[0]:
        return "it begins with an assignment, and a command with one is asked for"
    if any(sign in word for word in named for sign in "<>|;&"):
        return "it holds a redirection or an operator, and each command of a line is compared by itself"
    if program in VERBED and len(named) > 1 and not named[1].rstrip("*"):
        return ""
    known = known_options([known_name(program), *(word.rstrip("*") for word in named[1:])])
    is_open = any("*" in word for word in (*named[1:], named[0].removeprefix(program)))
    if known is None and is_open and program not in (*SHELLS, *PRIVILEGED):
        return f"the options of {program} are not known, so only those that the rule spells are allowed"
    return ""
