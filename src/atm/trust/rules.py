"""
Consent (D25): what a repository's settings may say by themselves, and what counts only after the user's yes.

A repository is somebody's text. It may say how things look here and forbid something; it may not run anything, speak
as a member, send anything anywhere or widen a permission. The user's yes holds for one file at one real path with one
content: a changed byte, and it is gone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TRUSTED, UNTRUSTED, CHANGED, FOREIGN, NONE = "trusted", "untrusted", "changed", "foreign", "none"
"""Of a file: the yes holds; there is none; there is one for another content; it is another user's; there is no file."""

NEEDS_CONSENT, HARMLESS = "consent", "harmless"

_HARMLESS_SECTIONS = ("display.", "approvals.default", "approvals.rules")
"""Of approvals a repository can only narrow what the user allows, so these count at once."""


class Consent:
    """The user's yes, or no, to one file."""

    __slots__ = ("at", "by", "file", "path", "sha256")

    def __init__(self, *, path: str, file: str, sha256: str, at: str, by: str) -> None:
        self.path = path
        """The folder that the file speaks for."""
        self.file = file
        self.sha256 = sha256
        self.at = at
        self.by = by


class Ask:
    """One thing that a file says."""

    __slots__ = ("key", "kind", "sees", "value")

    def __init__(self, key: str, value: object, kind: str, sees: str = "") -> None:
        self.key = key
        self.value = value
        self.kind = kind
        self.sees = sees
        """In words, what a plugin that it enables would see; empty for everything else."""


def kind_of(key: str) -> str:
    """Does a setting count without consent? The default team depends on who asks, so by itself it does not."""
    return HARMLESS if key.startswith(_HARMLESS_SECTIONS) else NEEDS_CONSENT


def state_of(given: Iterable[Consent], path: str, file: str, sha256: str) -> str:
    """
    Whether the user has said yes to this content of this file for this folder. A clone may hold a link to a file that
    is trusted elsewhere; what `./check` is depends on where it runs.
    """
    known = [one for one in given if one.file == file and one.path == path]
    if any(one.sha256 == sha256 for one in known):
        return TRUSTED
    return CHANGED if known else UNTRUSTED
