"""
What a role leaves of an agent's tools, before any policy: who must plan first only looks; a lead in delegate mode only
looks and coordinates.
"""

from __future__ import annotations

from atm.domain.approvals.calls import EDIT, EXIT_PLAN, SHELL, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.approvals.act import Act
    from atm.domain.approvals.calls import Understood

PLANS, DELEGATES = "plans", "delegates"

_LOOKING = frozenset(
    (
        *("ls", "cat", "head", "tail", "grep", "egrep", "fgrep", "rg", "wc", "pwd", "file", "stat", "tree"),
        *("du", "echo"),
        *("sort", "uniq", "cut", "diff", "cmp", "which", "type", "date", "true", "false", "nl", "basename", "dirname"),
        *("realpath", "readlink", "find", "jq", "cd"),
    )
)
_LOOKING_GIT = (
    *("git status", "git log", "git diff", "git show", "git blame", "git grep", "git ls-files", "git rev-parse"),
    *("git describe", "git shortlog", "git ls-tree", "git cat-file", "git merge-base"),
)
_WRITING = {
    "sort": ("--o", "--compress"),
    "tree": ("--o",),
    "rg": ("--pre", "--hostname-bin"),
    "file": ("-C", "--compile"),
    "date": ("-s", "--s"),
    "git": ("--ou", "--op", "-O", "--ext-diff"),
}
_COORDINATING = ("mcp__atm__", "mcp_atm_", "atm_")
_OF_ITSELF = ("Task", "Agent", "TodoWrite", EXIT_PLAN, "AskUserQuestion", "SendMessage", "TeamCreate")


def refusal(understood: Understood, role: str) -> str:
    """Why a call is not for this role; empty if it is."""
    call = understood.call
    if call.tool == SHELL:
        is_fine = not understood.unclear and all(_only_looks(act) or _is_ours(act) for act in understood.acts)
    elif call.tool in (WRITE, EDIT):
        is_fine = False
    else:
        named = call.own_name.startswith(_COORDINATING) or call.tool in _OF_ITSELF
        is_fine = named or not call.changes_something
    if is_fine:
        return ""
    if role == PLANS:
        return (
            "your task needs an approved plan before anything is changed: read what you need, submit the plan "
            "(`atm tasks plan submit`, or plan_submit), and wait; no answer means no"
        )
    return "you lead in delegate mode: give this to a teammate as a task, with files and a check"


def _only_looks(act: Act) -> bool:
    if act.writes or act.is_sensitive:
        return False
    texts = act.needs or act.texts
    return all((text.partition(" ")[0] in _LOOKING or _begins(text)) and not _also_writes(text) for text in texts)


def _also_writes(text: str) -> bool:
    """Some that look can be told to write what they saw into a file, or to start another program."""
    name, *words = text.split(" ")
    options = [word for word in words if word.startswith("-")]
    if name == "uniq" and len(words) - len(options) > 1:
        return True
    return any(word.startswith(one) for word in options for one in _WRITING.get(name, ())) or (
        name in ("sort", "tree") and any("o" in word for word in options if not word.startswith("--"))
    )


def _begins(text: str) -> bool:
    return any(text == one or text.startswith(f"{one} ") for one in _LOOKING_GIT)


def _is_ours(act: Act) -> bool:
    return bool(act.needs) and not act.writes and all(need.partition(" ")[0] == "atm" for need in act.needs)
