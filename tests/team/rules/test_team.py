"""Members: state and liveness are two things, and either may be unknown (G10)."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import TeamCompleted
from atm.team.rules.team import CLAUDE_BACKENDS, Member, Team, appears_offline, check_open, claude_reads_inbox


@pytest.mark.parametrize(("is_active", "state"), [(None, "unknown"), (True, "active"), (False, "inactive")])
def test_a_members_state_is_what_the_file_says_or_unknown(is_active, state):
    assert Member(name="ann", is_active=is_active).state == state


def test_a_member_is_found_without_regard_to_case():
    team = Team(name="crew", members=[Member(name="Ann"), Member(name="bob")])
    found = team.member("ANN")
    assert found is not None
    assert found.name == "Ann"
    assert team.member("carol") is None
    assert team.names == ["Ann", "bob"]


def test_a_team_has_a_lead_even_if_nobody_named_one():
    assert Team(name="crew", members=[]).lead == "team-lead"


@proves("R001-4.2-send-19", "R001-4.2-send-20", "R001-4.2-send-21")
@pytest.mark.parametrize(
    ("member", "offline"),
    [
        (None, True),
        (Member(name="ann", is_active=False), True),
        (Member(name="ann", is_active=True), False),
        (Member(name="ann", is_active=None), False),
    ],
)
def test_offline_is_not_in_the_roster_or_inactive(member, offline):
    assert appears_offline(member) is offline


@pytest.mark.parametrize("backend", CLAUDE_BACKENDS)
def test_claude_code_reads_the_inbox_of_its_own_backends(backend):
    assert claude_reads_inbox(Member(name="ann", backend=backend), in_claudes_team=False)


@pytest.mark.parametrize("backend", ["", "codex", "opencode", "exomonad", "tmux-of-somebody"])
def test_other_backends_are_ours_to_keep_tidy(backend):
    assert not claude_reads_inbox(Member(name="ann", backend=backend), in_claudes_team=False)


def test_in_claudes_team_every_inbox_is_claudes():
    assert claude_reads_inbox(None, in_claudes_team=True)
    assert claude_reads_inbox(Member(name="ann", backend="codex"), in_claudes_team=True)


def test_an_inbox_of_nobody_in_our_team_is_not_claudes():
    assert not claude_reads_inbox(None, in_claudes_team=False)


@pytest.mark.parametrize(
    ("backend", "pane", "kind"),
    [
        ("", "", "agent"),
        ("codex", "%3", "agent"),
        ("humanoid", "", "agent"),
        ("human", "", "human"),
        ("human:rita", "", "human"),
        ("plugin:ci", "", "synthetic"),
        ("", "synthetic", "synthetic"),
    ],
)
def test_a_members_kind_follows_from_its_backend_and_pane(backend, pane, kind):
    assert Member("ann", backend=backend, pane_id=pane).kind == kind


@proves("R002-9-11")
def test_the_lead_is_known_in_any_case():
    team = Team(name="crew", members=[Member("Ann")], lead="ann")
    assert team.is_lead("ANN")
    assert not team.is_lead("bob")


def test_a_completed_team_is_refused_to_every_writer():
    team = Team(name="crew", members=[])
    assert check_open(team) is team
    team.completed = True
    with pytest.raises(TeamCompleted, match="complete"):
        check_open(team)
