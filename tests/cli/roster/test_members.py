"""`atm members`: who is in a team, with the age and the source of every state."""

from __future__ import annotations

import os
import time

import pytest
from tests.proving import proves


@pytest.fixture
def mixed(crew):
    crew("teams", "add-member", "crew", "cat", "--inactive", "--model", "gpt-5", "--backend-type", "codex")
    return crew


@proves("R001-4.1-09", "R001-4.3-05", "R001-4.3-07", "R001-4.3-08", "R001-4.3-09", "R001-4.3-10", "R004-storage-02")
def test_a_line_for_each_member(mixed):
    lines = [line.split() for line in mixed("members").out.splitlines()]
    assert lines[0] == ["Agent", "Type", "Model", "Backend", "State", "Liveness"]
    assert lines[2] == ["ann", "general-purpose", "-", "-", "unknown", "unknown"]
    assert lines[4][:5] == ["cat", "general-purpose", "gpt-5", "codex", "inactive"]


@proves("R001-4.3-10")
def test_a_state_has_its_source_and_its_age(mixed):
    changed = time.time() - 125
    os.utime(mixed.home / ".claude/teams/crew/config.json", (changed, changed))
    assert "inactive (roster file, 2m ago)" in mixed("members").out
    members = {member["name"]: member for member in mixed("members", "--json").json["members"]}
    assert members["cat"]["state"] == "inactive"
    assert "config.json" in members["cat"]["state_source"]
    assert 125 <= members["cat"]["state_age_seconds"] < 125 + 120


def test_what_is_not_known_is_called_unknown(mixed):
    members = {member["name"]: member for member in mixed("members", "--json").json["members"]}
    assert members["ann"]["state"] == "unknown"
    assert members["ann"]["state_age_seconds"] is None
    assert {member["liveness"] for member in members.values()} == {"unknown"}
    assert all(member["liveness_source"] for member in members.values())


@proves("R001-4.3-06")
def test_a_team_can_be_named_in_any_case(mixed):
    assert mixed("members", "CREW", "--json").json["team"] == "crew"
    assert mixed("members", "--team", "crew", "--json").json["team"] == "crew"


def test_a_name_and_a_flag_that_disagree_are_refused(mixed):
    mixed("teams", "create", "other")
    mixed("members", "crew", "--team", "other", code=1)


def test_a_team_without_members_says_how_to_add_one(atm):
    atm("teams", "create", "empty", env={"ATM_IDENTITY": "ann"})
    assert "atm teams add-member empty" in atm("members").out
    assert atm("members", "--json").json["members"] == []


def test_an_unknown_team_is_answered_with_the_nearest(crew):
    assert "did you mean 'crew'" in crew("members", "crow", code=1).err


def test_entries_that_are_no_members_are_passed_over(crew):
    (crew.home / ".claude/teams/crew/config.json").write_text(
        '{"members": [17, {"x": 1}, {"name": ""}, {"name": "ann"}]}'
    )
    assert [member["name"] for member in crew("members", "--json").json["members"]] == ["ann"]
