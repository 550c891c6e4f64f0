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
    "sequence": ("editor",),
    "interactive": ("difffilter",),
    "trailer": ("command", "cmd"),
    "tar": ("command",),
    "include": ("path",),
    "includeif": ("path",),
    "uploadpack": ("packobjectshook",),
}
"""Section and keys, with or without a subsection. What is included is another file that could name programs."""

_SWITCHES = ("true", "false", "yes", "no", "on", "off", "1", "0", "")


def setting_with_a_program(text: str) -> str:
    """The first setting that names a program, or that cannot be read; empty if there is none."""
    for section, key, value in _settings(text):
        if section == "pager" or key in _BY_SECTION.get(section, ()):
            is_switch = section == "pager" or key == "fsmonitor"
            if not (is_switch and value.strip('"').lower() in _SWITCHES):
                return f"{section}.{key}"
    return ""


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value. A continued line is read as a key as well: rather one too many than one too few."""
    section = ""
    for line in text.split("\n"):
        rest = line.strip().lstrip("\ufeff")
        while rest.startswith("["):
            name, _, rest = _after_header(rest)
            section = name.lower()
            rest = rest.strip()
        if rest and rest[0] not in "#;":
            key, _, value = rest.partition("=")
            yield section, key.split()[0].lower() if key.split() else "", value.partition("#")[0].strip()


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
