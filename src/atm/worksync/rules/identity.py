"""
Who reports? A name in a report is a claim and never an authority (seed 002, sections 8.4.2 and 13.2).

A claim is resolved to a configured member first; whether it is true is proven by the connection that it came over, or
by a token that was given to this member for this agenda.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from atm.core.names import same_name
from atm.vendors.known import every

if TYPE_CHECKING:
    from atm.team.rules.team import Team

RESERVED = ("user", "system")
LEAD_ALIASES = ("lead", "team-lead")
OTHER_PROVIDERS = ("copilot", "grok", "xai", "mistral", "deepseek", "qwen", "ollama")
"""Beside the vendors that atm knows."""

RUNTIME_SESSION, PROCESS_TEAM, REPORT_TOKEN = "runtime_session", "process_team", "report_token"
CLAIMED_MEMBER, NOBODY = "claimed_member", "unknown"
PROVEN_BY_CONTEXT = (RUNTIME_SESSION, PROCESS_TEAM)

TOKEN_OK, TOKEN_MISSING, TOKEN_EXPIRED, TOKEN_INVALID = "ok", "missing", "expired", "invalid"


@dataclass(frozen=True, slots=True)
class Trusted:
    """What we know ourselves about whoever reports, and when it reached us."""

    origin: str
    """mcp, app or intent_replay."""
    received_at: float
    source: str = NOBODY
    team: str = ""
    member: str = ""
    """Empty: the context does not know."""


@dataclass(frozen=True, slots=True)
class Author:
    """The member that a claimed name means, or why there is none."""

    name: str = ""
    refused: str = ""


@cache
def providers() -> tuple[str, ...]:
    """Names with which a model signs that does not know who it is."""
    ours = [name for vendor in every() if vendor.thinks for name in (vendor.name, *vendor.aliases)]
    return (*ours, *OTHER_PROVIDERS)


def resolve_author(claimed: str, team: Team) -> Author:
    """By the table of section 13.2. A configured member wins over everything but the reserved names."""
    name = claimed.strip()
    if any(same_name(name, reserved) for reserved in RESERVED):
        return Author(refused="reserved_author")
    member = team.member(name) if name else None
    if member is not None:
        return Author(member.name)
    if any(same_name(name, alias) for alias in LEAD_ALIASES):
        lead = team.member(team.lead)
        return Author(lead.name) if lead is not None else Author(refused="member_inactive")
    if any(same_name(name, provider) for provider in providers()):
        return Author(refused="unsafe_provider_alias")
    return Author(refused="member_inactive")


def disagreement(author: str, team: str, trusted: Trusted) -> str:
    """Why the context contradicts the claim; empty if it does not. Final: asking again cannot make it true."""
    if trusted.team and not same_name(trusted.team, team):
        return "team_mismatch"
    if trusted.member and not same_name(trusted.member, author):
        return "identity_mismatch"
    return ""


def proof(trusted: Trusted) -> str:
    """What proved an identity that was not distrusted: what we know ourselves, else the token."""
    return trusted.source if trusted.source in PROVEN_BY_CONTEXT else REPORT_TOKEN


def distrust(trusted: Trusted, token: str) -> str:
    """
    Why nothing vouches for the claim; empty if the context or a token does.

    A token that was given must be good, whoever vouches besides: one that is copied or old shows that the reporter
    looks at something else than its own current agenda.
    """
    if token in (TOKEN_EXPIRED, TOKEN_INVALID):
        return "invalid_report_token"
    if token == TOKEN_OK or (trusted.source in PROVEN_BY_CONTEXT and trusted.member and trusted.team):
        return ""
    return "identity_untrusted"
