"""
Which of Claude Code's formats a version speaks.

There is no schema number in its files, so the version of the program has to stand for it. Unknown means: assume
the newest known format and be careful.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from atm.vendors.versions import parse_version


class Maturity(Enum):
    """How far the format can be relied upon."""

    PRE_RELEASE = "PreRelease"
    STABLE = "Stable"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """A version of Claude Code and what is known of its files."""

    maturity: Maturity
    claude_version: str


def schema_for(text: str) -> SchemaVersion:
    """Classify what `claude --version` printed; an empty text means that there is no Claude Code here."""
    version = parse_version(text)
    if version is None:
        return SchemaVersion(Maturity.UNKNOWN, "")
    named_early = re.search(r"\d\.\d+-[a-z]", text) is not None
    return SchemaVersion(
        maturity=Maturity.STABLE if version >= (3, 0, 0) and not named_early else Maturity.PRE_RELEASE,
        claude_version=".".join(map(str, version)),
    )
