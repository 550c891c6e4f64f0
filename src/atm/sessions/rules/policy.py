"""How long things may take, in seconds. Every number of the seed is a setting (`sessions.*`) with that default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class SessionPolicy:
    """Of leads, teammates, checkpoints and consolidations."""

    lead_away: float = 300.0
    """Silence of the lead after which its teammates are zombies, and a team counts as dormant."""
    takeover: float = 1800.0
    """Silence of the lead after which another session may take its place."""
    zombie: float = 1800.0
    """How long zombies wait for a lead."""
    zombie_idle: float = 600.0
    """How long an idle zombie keeps its task."""
    blocked: float = 600.0
    """How long a task waits for the word of a lead that is away."""
    checkpoint: float = 30.0
    git: float = 30.0
    """Between two commits of checkpoints, unless something is finished."""
    undelivered: float = 300.0
    """How long a message may lie unseen before an agent that is there."""
    restart: float = 300.0
    """How long a teammate that died in the middle of its task is waited for; it is started again once."""
    confirm: float = 300.0
    """How long teammates have to look at their changes after an interrupted consolidation."""
    keep_commits: int = 200
    checks: tuple[str, ...] = ()
    """Commands that must pass before a team's work is committed."""
    task: float = 3600.0
    """For one of these."""
