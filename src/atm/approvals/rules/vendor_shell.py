"""
The shell that a vendor's own protocol puts around a command: `/bin/bash -lc 'make test'`.

Only Codex's app-server does that. What a model wrote itself is never read in this way: to the shell that a vendor
starts it is one line like any other.
"""

from __future__ import annotations

_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin")
"""Where a shell of the system is. One in any other folder may be anything that is called like a shell."""

_SHELLS = ("bash", "sh", "zsh")
_OPTIONS = ("-lc", "-c")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/:,=@%")


def wrapped_line(command: str) -> str | None:
    """The line inside [shell of the system, -lc or -c, line]; None for everything else."""
    words = _words(command)
    if words is None or len(words) != 3 or words[1] not in _OPTIONS:
        return None
    folder, _, name = words[0].rpartition("/")
    return words[2] if folder in _FOLDERS and name in _SHELLS else None


def _words(command: str) -> list[str] | None:
    """Words and quotes alone. None where a shell would do anything else with the text."""
    words: list[str] = []
    now: str | None = None
    at = 0
    while at < len(command):
        sign = command[at]
        if sign == " ":
            words += [now] if now is not None else []
            now, at = None, at + 1
            continue
        if sign in "'\"":
            part, at = _quoted(command, at)
        elif sign in _PLAIN:
            part, at = sign, at + 1
        else:
            return None
        if part is None:
            return None
        now = (now or "") + part
    return [*words, now] if now is not None else words


def _quoted(command: str, at: int) -> tuple[str | None, int]:
    """The text in quotes that begin at `at`, and where they end; None if it is not literal."""
    quote, at, found = command[at], at + 1, ""
    while at < len(command):
        sign = command[at]
        if sign == quote:
            return found, at + 1
        if quote == '"' and sign in "$`!":
            return None, at
        if quote == '"' and sign == "\\":
            at += 1
            following = command[at : at + 1]
            if following not in ("$", "`", '"', "\\"):
                return None, at
            sign = following
        found, at = found + sign, at + 1
    return None, at
