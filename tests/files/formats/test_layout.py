"""Where everything lies: ours in our teams, and beside Claude Code's in its own."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.layout import Layout, inbox_owner, mark_of

LAYOUT = Layout(claude_root="/c", config_root="/k", state_root="/s")


@proves(
    "R001-2.3-03",
    "R001-2.3-04",
    "R001-3.3-01",
    "R001-3.3-02",
    "R001-3.3-03",
    "R002-11.3-02",
    "R004-architecture-10",
    "R004-architecture-13",
)
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (LAYOUT.teams, "/c/teams"),
        (LAYOUT.team("crew"), "/c/teams/crew"),
        (LAYOUT.team_config("crew"), "/c/teams/crew/config.json"),
        (LAYOUT.inboxes("crew"), "/c/teams/crew/inboxes"),
        (LAYOUT.inbox("crew", "ann"), "/c/teams/crew/inboxes/ann.json"),
        (LAYOUT.tasks("crew"), "/c/tasks/crew"),
        (LAYOUT.settings, "/k/config.toml"),
        (LAYOUT.claude_version, "/k/claude-version.json"),
        (LAYOUT.spool_pending, "/k/spool/pending"),
        (LAYOUT.spool_failed, "/k/spool/failed"),
        (LAYOUT.share("crew"), "/k/share/crew"),
        (LAYOUT.archive("crew", "ann"), "/k/archive/crew/ann"),
        (LAYOUT.locks, "/s/locks"),
        (LAYOUT.drift_log, "/s/format-drift.jsonl"),
        (LAYOUT.upkeep_mark("crew", "ann"), "/s/upkeep/crew/ann.json"),
        (LAYOUT.records("crew", "status"), "/c/teams/crew/.member-work-sync/status.json"),
        (LAYOUT.records("crew", "stall-monitor-journal"), "/c/teams/crew/stall-monitor-journal.json"),
        (LAYOUT.records("session-1a2b3c4d", "outbox"), "/s/teams/session-1a2b3c4d/.member-work-sync/outbox.json"),
        (LAYOUT.sync_journal("crew"), "/c/teams/crew/.member-work-sync/journal.jsonl"),
        (LAYOUT.report_secret("crew"), "/c/teams/crew/.member-work-sync/report-token-secret.json"),
        (LAYOUT.roster_intent("crew", "ann"), "/s/intents/crew/ann.json"),
    ],
)
def test_paths_are_those_of_the_design(found, expected):
    assert found == expected


@proves("R003-6-06")
def test_in_our_teams_our_data_lies_in_the_teams_folder():
    assert LAYOUT.our_data("crew") == "/c/teams/crew"
    assert LAYOUT.ledger("crew") == "/c/teams/crew/mailbox.log"


def test_in_claudes_teams_our_data_lies_beside_because_the_folder_goes_with_the_session():
    assert LAYOUT.our_data("session-1a2b3c4d") == "/s/teams/session-1a2b3c4d"
    assert LAYOUT.ledger("session-1a2b3c4d") == "/s/teams/session-1a2b3c4d/mailbox.log"


def test_what_is_shared_lies_in_the_same_place_in_every_team():
    assert LAYOUT.inbox("session-1a2b3c4d", "scout") == "/c/teams/session-1a2b3c4d/inboxes/scout.json"
    assert LAYOUT.team_config("session-1a2b3c4d") == "/c/teams/session-1a2b3c4d/config.json"


def test_a_name_that_only_contains_session_is_ours():
    assert LAYOUT.our_data("my-session-1") == "/c/teams/my-session-1"
    assert LAYOUT.our_data("session") == "/c/teams/session"


@pytest.mark.parametrize(
    ("file_name", "owner"),
    [
        ("ann.json", "ann"),
        ("team-lead.json", "team-lead"),
        ("a.json.json", "a.json"),
        ("Zoë.json", "Zoë"),
        (".ann.json.tmp", None),
        (".ann.json", None),
        (".ann.json.atm-17-1", None),
        ("ann.json.lock", None),
        ("ann.lock", None),
        ("ann.tmp", None),
        (".lock", None),
        ("ann.JSON", None),
        ("json", None),
    ],
)
def test_only_inboxes_have_an_owner(file_name, owner):
    assert inbox_owner(file_name) == owner


@given(st.binary(max_size=300))
def test_the_mark_of_a_path_is_the_one_that_zlib_would_make(path):
    assert mark_of(path) == f"{zlib.crc32(path):08x}{zlib.adler32(path):08x}", "older versions hold locks of that name"
