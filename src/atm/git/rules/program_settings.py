"""
Settings of a git repository that make git run a program.

Git runs what `core.fsmonitor`, `diff.external` and some others name, even for `git status`. Only names are looked for:
a value decides nothing but whether a switch is merely on or off.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BY_SECTION: dict[str, tuple[str, ...]] = {
    "core": (
        *("fsmonitor", "hookspath", "pager", "editor", "sshcommand", "gitproxy", "askpass", "alternaterefscommand"),
        "worktree",
    ),
    "diff": ("external", "command", "textconv"),
    "filter": ("clean", "smudge", "process"),
    "merge": ("driver",),
    "gpg": ("program", "defaultkeycommand"),
    "log": ("showsignature",),
    "sequence": ("editor",),
    "interactive": ("difffilter",),
    "trailer": ("command", "cmd"),
    "tar": ("command",),
    "include": ("path",),
    "includeif": ("path",),
    "uploadpack": ("packobjectshook",),
    "hook": ("command",),
    "remote": ("uploadpack", "receivepack", "vcs"),
    "credential": ("helper",),
    "init": ("templatedir",),
    **dict.fromkeys(("difftool", "mergetool", "browser", "man"), ("cmd", "path")),
}
"""Section and keys, with or without a subsection. What is included is another file that could name programs."""

_SECTIONS = ("pager", "alias", "protocol")
"""Sections all of whose keys count; a switch in them, such as `pager.log = false`, names no program."""

_SWITCHES = ("true", "false", "yes", "no", "on", "off", "1", "0", "")
_SWITCHED = (*_SECTIONS, "core.fsmonitor")
CANNOT_BE_READ = "a line that this reader does not understand"


def setting_with_a_program(text: str, *, is_submodule: bool = False) -> str:
    """
    The first setting that names a program, or that cannot be read; empty if there is none. A submodule's settings say
    where its worktree is.
    """
    if "\r" in text.replace("\r\n", "\n"):
        return CANNOT_BE_READ
    for section, key, value in _settings(text):
        if value.endswith("\\"):
            return CANNOT_BE_READ  # the next line goes on with it, whatever it looks like
        name = f"{section}.{key}"
        if is_submodule and name == "core.worktree":
            continue
        if section in _SECTIONS or key in _BY_SECTION.get(section, ()):
            is_switch = name in _SWITCHED or section in _SWITCHED
            if not (is_switch and _plain(value) in _SWITCHES):
                return name
        if _names_a_program(section, key, value):
            return name
    return ""


def _plain(value: str) -> str:
    """Without a remark; a value with quotes or escapes is taken as it is, and is no switch."""
    if any(sign in value for sign in "\"'\\"):
        return value
    return value.partition(" #")[0].partition(" ;")[0].strip().lower()


def _names_a_program(section: str, key: str, value: str) -> bool:
    """Of some settings only the value tells."""
    if (section, key) == ("remote", "url") or (section, key) == ("remote", "pushurl"):
        return value.strip("\"' ").startswith("ext::")
    if (section, key) == ("submodule", "update"):
        return "!" in value
    return section in ("format", "pretty") and "%G" in value


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value with whatever follows it on its line."""
    section = ""
    for line in text.split("\n"):
        rest = line.strip().lstrip("\ufeff")
        while rest.startswith("["):
            name, _, rest = _after_header(rest)
            section = name.lower()
            rest = rest.strip()
        if rest and rest[0] not in "#;":
            key, _, value = rest.partition("=")
            yield section, key.split()[0].lower() if key.split() else "", value.strip()


def _after_header(line: str) -> tuple[str, str, str]:
    """`[filter "a]b"] clean = x`: the section, its subsection, what follows."""
    at, is_quoted = 1, False
    while at < len(line):
        sign = line[at]
        if sign == "\\" and is_quoted:
            at += 1
        elif sign == '"':
            is_quoted = not is_quoted
        elif sign == "]" and not is_quoted:
            break
        at += 1
    header = line[1:at]
    name = header.partition('"')[0].strip().partition(".")[0]
    return name, header.partition('"')[2], line[at + 1 :]
