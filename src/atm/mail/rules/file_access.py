"""
May this file be shown to that reader? Claude Code's permission rules, as far as they speak of reading files.

`Read(pattern)` rules use gitignore patterns with four anchors: `//x` from the root of the file system, `~/x` from
home, `/x` from the folder the settings belong to, `x` and `./x` from the working folder. A deny at any level wins;
then allow rules, additional folders, and the repository itself permit.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.mail.rules.path_globs import PathGlob, path_glob


@dataclass(frozen=True, slots=True)
class AccessRule:
    """One rule about reading, anchored and ready to match absolute paths."""

    text: str
    scope: str
    pattern: PathGlob

    def covers(self, path: str) -> bool:
        return self.pattern.matches(path)


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
    return AccessRule(text, scope, _anchored(pattern, settings_root, working_folder, home))


def _anchored(pattern: str, settings_root: str, working_folder: str, home: str) -> PathGlob:
    if pattern in ("", "*", "**"):
        return path_glob("", "**")
    if pattern.startswith("//"):
        return path_glob("", pattern[1:])
    if pattern == "~" or pattern.startswith("~/"):
        return path_glob(home, pattern[1:])
    if pattern.startswith("/"):
        return path_glob(settings_root, pattern)
    relative = pattern.removeprefix("./")
    anywhere = "/" not in relative.rstrip("/") and pattern == relative
    return path_glob(working_folder, f"/**/{relative}" if anywhere else f"/{relative}")


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
