"""Access tokens: a secret that stands for one member of one team. Kept as a digest; the secret is shown once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class AccessToken:
    """What is known of a token."""

    id: str
    """A short name, for people: no secret."""
    sha256: str
    team: str
    member: str
    role: str
    """What its bearer may do at most; empty for what the roster says."""
    created: float
    life: str = ""
    """Of the member in its team, when it was made. With that life the token ends."""
