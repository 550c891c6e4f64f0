"""Access tokens: a secret that stands for one member of one team. Kept as a digest; the secret is shown once."""

from __future__ import annotations


class AccessToken:
    """What is known of a token."""

    __slots__ = ("created", "id", "life", "member", "role", "sha256", "team")

    def __init__(
        self, *, id: str, sha256: str, team: str, member: str, role: str, created: float, life: str = ""
    ) -> None:
        self.id = id
        """A short name, for people: no secret."""
        self.sha256 = sha256
        self.team = team
        self.member = member
        self.role = role
        """What its bearer may do at most; empty for what the roster says."""
        self.created = created
        self.life = life
        """Of the member in its team, when it was made. With that life the token ends."""
