"""Who reports: the table of seed 002, section 13.2, to the letter; and what proves it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.team.rules.team import Member, Team
from atm.worksync.rules.identity import (
    CLAIMED_MEMBER,
    NOBODY,
    PROCESS_TEAM,
    REPORT_TOKEN,
    RUNTIME_SESSION,
    Author,
    Trusted,
    disagreement,
    distrust,
    providers,
    resolve_author,
)


def team(*names: str, lead: str = "team-lead") -> Team:
    return Team(name="crew", members=[Member(name) for name in names], lead=lead)


CREW = team("team-lead", "alice", "Bob")
BOSSED = team("boss", "alice", lead="boss")


@proves(
    "R002-8.0-28",
    "R002-8.4.2-09",
    "R002-8.4.2-10",
    "R002-8.4.2-11",
    "R002-8.4.2-13",
    "R002-10.1-03",
    "R002-10.1-05",
    "R002-10.1-06",
    "R002-10.1-40",
    "R002-13.2-15",
    "R002-13.2-16",
    "R002-13.2-17",
    "R002-13.2-18",
    "R002-13.2-19",
    "R002-13.2-20",
    "R002-13.2-24",
    "R002-13.2-25",
    "R002-20.1-18",
    "R002-23-02",
    "R002-23-03",
)
@pytest.mark.parametrize(
    ("claimed", "roster", "expected"),
    [
        ("alice", CREW, Author("alice")),
        ("ALICE", CREW, Author("alice")),
        ("bob", CREW, Author("Bob")),
        (" alice ", CREW, Author("alice")),
        ("user", CREW, Author(refused="reserved_author")),
        ("system", CREW, Author(refused="reserved_author")),
        ("User", CREW, Author(refused="reserved_author")),
        (" SYSTEM\n", CREW, Author(refused="reserved_author")),
        ("ſystem", CREW, Author(refused="reserved_author")),  # folded, it is the same word
        ("user", team("user", "team-lead"), Author(refused="reserved_author")),  # whatever a foreign roster says
        ("codex", CREW, Author(refused="unsafe_provider_alias")),
        ("Codex", CREW, Author(refused="unsafe_provider_alias")),
        ("codex", team("codex", "team-lead"), Author("codex")),  # configured as a member
        ("team-lead", CREW, Author("team-lead")),
        ("lead", CREW, Author("team-lead")),
        ("LEAD", CREW, Author("team-lead")),
        ("team-lead", BOSSED, Author("boss")),
        ("lead", BOSSED, Author("boss")),
        ("lead", team("lead", "boss", lead="boss"), Author("lead")),  # a member of that name is meant first
        ("lead", team("alice"), Author(refused="member_inactive")),  # the lead is not in the roster
        ("lead", team("alice", lead=""), Author(refused="member_inactive")),
        ("removed", CREW, Author(refused="member_inactive")),
        ("", CREW, Author(refused="member_inactive")),
        ("  ", CREW, Author(refused="member_inactive")),
        ("alice@crew", CREW, Author(refused="member_inactive")),
        ("../alice", CREW, Author(refused="member_inactive")),
        ("alice\0", CREW, Author(refused="member_inactive")),
        ("user\u200b", CREW, Author(refused="member_inactive")),
        ("\ud800", CREW, Author(refused="member_inactive")),
        ("alice", team(), Author(refused="member_inactive")),
    ],
)
def test_a_name_means_whom_the_table_says(claimed, roster, expected):
    assert resolve_author(claimed, roster) == expected


@proves("R002-8.0-27", "R002-8.0-93", "R002-8.4.2-12", "R002-20.1-18", "R002-26-08", "R002-27.2-17")
@pytest.mark.parametrize("provider", [*providers(), *(name.upper() for name in providers())])
def test_no_vendor_is_a_member_unless_it_was_configured_as_one(provider):
    assert resolve_author(provider, CREW).refused == "unsafe_provider_alias"
    assert resolve_author(provider, team(provider)).name == provider


@given(st.text(max_size=70) | st.sampled_from([*CREW.names, *map(str.upper, CREW.names)]))
def test_whoever_is_accepted_is_in_the_roster_and_whoever_is_not_is_told_why(claimed):
    author = resolve_author(claimed, CREW)
    if claimed.strip().casefold() in map(str.casefold, CREW.names):
        assert (author.name in CREW.names, author.refused) == (True, "")
    else:
        assert author.name == ""
        assert author.refused


def trusted(source: str = RUNTIME_SESSION, team: str = "crew", member: str = "ann") -> Trusted:
    return Trusted("mcp", 0.0, source, team, member)


@proves("R002-8.4-06", "R002-8.4-07", "R002-8.4.2-08", "R002-8.4.2-16", "R002-13.2-22", "R002-13.2-23")
@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (trusted(), ""),
        (trusted(member="ANN", team="CREW"), ""),
        (trusted(member=""), ""),
        (trusted(team="", member=""), ""),
        (trusted(member="bob"), "identity_mismatch"),
        (trusted(team="other"), "team_mismatch"),
        (trusted(team="other", member="bob"), "team_mismatch"),
        (trusted(team="other", member=""), "team_mismatch"),
        (trusted(CLAIMED_MEMBER, member="bob"), "identity_mismatch"),
        (trusted(REPORT_TOKEN, member="bob"), "identity_mismatch"),
    ],
)
def test_a_context_that_says_somebody_else_contradicts_the_claim(context, expected):
    assert disagreement("ann", "crew", context) == expected


@proves("R002-8.4.2-15", "R002-10.1-21", "R002-25-03", "R002-25-11")
def test_the_lead_reports_for_nobody_else():
    author = resolve_author("lead", BOSSED)
    assert disagreement(author.name, "crew", trusted(member="boss")) == ""
    assert disagreement("alice", "crew", trusted(member="boss")) == "identity_mismatch"
    assert disagreement(author.name, "crew", trusted(member="alice")) == "identity_mismatch"


SOURCES = (RUNTIME_SESSION, PROCESS_TEAM, REPORT_TOKEN, CLAIMED_MEMBER, NOBODY, "", "made_up")


@proves(
    "R002-8.0-25",
    "R002-8.0-26",
    "R002-8.0-71",
    "R002-8.4-11",
    "R002-8.4-12",
    "R002-8.4-13",
    "R002-8.4-14",
    "R002-8.4-15",
    "R002-8.4.2-02",
    "R002-8.4.2-03",
    "R002-8.4.2-05",
    "R002-8.4.2-07",
    "R002-10.1-92",
    "R002-10.1-93",
    "R002-13.2-05",
    "R002-13.2-14",
    "R002-23-17",
    "R002-26-25",
    "R002-27.2-51",
    "R002-28-19",
)
@pytest.mark.parametrize(
    ("source", "member", "token"), list(product(SOURCES, ("ann", ""), ("ok", "missing", "expired", "invalid", "")))
)
def test_a_claim_is_believed_by_a_good_token_or_a_context_that_knows_the_member_and_by_nothing_else(
    source, member, token
):
    reason = distrust(trusted(source, member=member), token)
    if token in ("expired", "invalid"):
        assert reason == "invalid_report_token"
    elif token == "ok" or (source in (RUNTIME_SESSION, PROCESS_TEAM) and member):
        assert reason == ""
    else:
        assert reason == "identity_untrusted"
