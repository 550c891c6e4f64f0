"""
May this file be shown to that reader? Claude Code's permission rules, as far as they speak of reading files.

`Read(pattern)` rules use gitignore patterns with four anchors: `//x` from the root of the file system, `~/x` from
home, `/x` from the folder the settings belong to, `x` and `./x` from the working folder. A deny at any level wins;
then allow rules, additional folders, and the repository itself permit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule about reading, anchored and ready to match absolute paths."""

    text: str
    scope: str
    expression: re.Pattern[str]

    def covers(self, path: str) -> bool:
        return self.expression.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Scope:
    """One settings file's word on reading files."""

    name: str
    deny: tuple[AccessRule, ...] = ()
    allow: tuple[AccessRule, ...] = ()
    folders: tuple[str, ...] = ()
    only_managed_rules: bool = False


@dataclass(frozen=True, slots=True)
class AccessVerdict:
    """Whether a path is permitted, and by or because of what."""

    permitted: bool
    denied: bool
    reason: str


def parse_rule(text: str, scope: str, *, settings_root: str, working_folder: str, home: str) -> AccessRule | None:
    """A rule about reading, or None for rules about other tools."""
    tool, paren, rest = text.strip().partition("(")
    if tool.strip() != "Read" or (paren and not rest.endswith(")")):
        return None
    pattern = rest[:-1].strip() if paren else "**"
    return AccessRule(text, scope, re.compile(_anchored(pattern, settings_root, working_folder, home), re.DOTALL))


def _anchored(pattern: str, settings_root: str, working_folder: str, home: str) -> str:
    if pattern in ("", "*", "**") or not pattern:
        return ".*"
    if pattern.startswith("//"):
        return _expression("", pattern[1:])
    if pattern == "~" or pattern.startswith("~/"):
        return _expression(home, pattern[1:])
    if pattern.startswith("/"):
        return _expression(settings_root, pattern)
    relative = pattern.removeprefix("./")
    anywhere = "/" not in relative.rstrip("/") and pattern == relative
    return _expression(working_folder, f"/**/{relative}" if anywhere else f"/{relative}")


def _expression(base: str, pattern: str) -> str:
    out, i = [re.escape(base.rstrip("/"))], 0
    pattern = pattern.rstrip("/")
    while i < len(pattern):
        if pattern.startswith("/**/", i):
            out.append("/(?:.*/)?")
            i += 4
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif pattern[i] == "*":
            out.append("[^/]*")
            i += 1
        elif pattern[i] == "?":
            out.append("[^/]")
            i += 1
        elif pattern[i] == "[" and "]" in pattern[i + 2 :]:
            end = pattern.index("]", i + 2)
            out.append(_one_of(pattern[i + 1 : end]))
            i = end + 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return "".join(out) + "(?:/.*)?"  # a rule about a folder covers what is in it


def _one_of(body: str) -> str:
    """`[abc]`, `[a-z]`, `[!x]`: one character, never a slash. A range that runs backwards matches nothing."""
    negated = body[0] in "!^"
    body = body[1:] if negated else body
    parts, i = [], 0
    while i < len(body):
        if i + 2 < len(body) and body[i + 1] == "-":
            first, last = body[i], body[i + 2]
            parts.append(f"{re.escape(first)}-{re.escape(last)}" if first <= last else "")
            i += 3
        else:
            parts.append(re.escape(body[i]))
            i += 1
    inside = "".join(parts)
    if not inside:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{inside}]"


def judge(path: str, root: str, scopes: list[Scope]) -> AccessVerdict:
    """Decide about a real path. `scopes` come highest first: managed, flags, local, project, user."""
    if scopes and scopes[0].only_managed_rules:
        scopes = [scopes[0], *(Scope(scope.name, folders=scope.folders) for scope in scopes[1:])]
    for scope in scopes:
        for rule in scope.deny:
            if rule.covers(path):
                return AccessVerdict(False, True, f"{rule.text} is denied in {rule.scope}")
    for scope in scopes:
        for rule in scope.allow:
            if rule.covers(path):
                return AccessVerdict(True, False, f"{rule.text} is allowed in {rule.scope}")
        for folder in scope.folders:
            if is_inside(path, folder):
                return AccessVerdict(True, False, f"{folder} is an additional folder in {scope.name}")
    if is_inside(path, root):
        return AccessVerdict(True, False, f"inside {root}")
    return AccessVerdict(False, False, f"outside {root}, and no setting permits it")


def is_inside(path: str, folder: str) -> bool:
    folder = folder.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")
