"""A session of Claude Code beside a team changes nothing; of several teams the one of this place is meant, and said."""

from __future__ import annotations

import json

import pytest

LEAD = {"name": "team-lead", "agentId": "team-lead@session-1a2b3c4d"}


@pytest.fixture
def session_team(atm):
    """As Claude Code makes one."""
    folder = atm.home / ".claude/teams/session-1a2b3c4d"
    (folder / "inboxes").mkdir(parents=True)
    members = [{**LEAD, "cwd": str(atm.folder)}, {"name": "scout", "cwd": str(atm.folder)}]
    (folder / "config.json").write_text(json.dumps({"name": "session-1a2b3c4d", "members": members}))
    return atm


@pytest.fixture
def two(atm, tmp_path):
    """Two teams, each of a folder of its own."""
    for name in ("shop", "bank"):
        (tmp_path / name).mkdir()
        atm("teams", "create", name, cwd=tmp_path / name)
        atm("teams", "add-member", name, f"{name}-ann", cwd=tmp_path / name)
    return atm


def test_beside_a_session_every_command_means_the_own_team(session_team, room):
    session_team("send", "ann", "hello", "--from", "bob")
    assert session_team.rows("ann")[0]["text"] == "hello"
    session_team("tasks", "add", "Write the parser")
    assert session_team("tasks", "--json").json["team"] == "crew"
    assert "hello" in session_team("read", "ann").out


def test_with_nothing_but_a_session_nothing_is_guessed(session_team):
    said = session_team("send", "scout", "hello", code=1).err
    assert "atm teams create NAME" in said
    assert "--team session-1a2b3c4d" in said
    session_team("send", "scout", "hello", "--team", "session-1a2b3c4d")


def test_an_agent_of_the_session_means_its_own(session_team, room):
    session_team("teams", "create", "other")
    session_team("send", "team-lead", "done", env={"ATM_IDENTITY": "scout"})
    assert session_team.rows("team-lead", "session-1a2b3c4d")[0]["from"] == "scout"


def test_a_hook_finds_the_team_of_its_agent_beside_a_session(session_team, room):
    session_team("send", "ann", "hello", "--from", "bob")
    call = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(session_team.folder)})
    assert "hello" in session_team("hook", "claude", "UserPromptSubmit", stdin=call, env={"ATM_IDENTITY": "ann"}).out


def test_of_two_teams_the_one_of_this_folder_is_meant(two, tmp_path):
    done = two("tasks", "add", "Count the money", "--json", cwd=tmp_path / "bank").json
    assert (done["team"], done["team_chosen_by"]) == ("bank", "repository")
    assert two("tasks", "--json", cwd=tmp_path / "shop").json["tasks"] == []


def test_the_choice_is_said_to_a_person_and_to_nobody_else(two, tmp_path, on_terminal):
    assert two("tasks", "add", "Count", cwd=tmp_path / "bank").err == ""
    two.folder = tmp_path / "bank"
    said = on_terminal("tasks", "add", "Count again").read_until(lambda _: False)
    assert "team bank: the one that works in this repository (--team for another)" in said


@pytest.mark.parametrize("command", ["status", "members", "inbox", "tasks", "sync"])
def test_who_only_looks_sees_all_teams_where_none_is_meant(two, tmp_path, command):
    said = two(command, cwd=tmp_path).out
    assert "shop" in said
    assert "bank" in said


@pytest.mark.parametrize("command", ["status", "members", "tasks", "sync"])
def test_for_programs_that_is_one_object(two, tmp_path, command):
    assert [one["team"] for one in two(command, "--json", cwd=tmp_path).json["teams"]] == ["bank", "shop"]


def test_who_only_looks_at_one_hears_of_the_others(two, tmp_path):
    assert "other teams here, with --team: shop" in two("status", cwd=tmp_path / "bank").out
    assert "other teams" not in two("status", "--team", "bank", cwd=tmp_path / "bank").out


def test_who_changes_something_has_to_name_the_team(two, tmp_path):
    assert "known: bank, shop" in two("tasks", "add", "Count", cwd=tmp_path, code=1).err


def test_a_person_is_asked_which_team_is_meant(two, tmp_path, on_terminal):
    two.folder = tmp_path
    terminal = on_terminal("tasks", "add", "Count")
    terminal.read_until(lambda text: "Which team? [1-2]" in text)
    terminal.type("1\n")
    terminal.read_until(lambda _: False)
    assert [one["subject"] for one in two("tasks", "--team", "bank", "--json").json["tasks"]] == ["Count"]


def test_an_answer_that_names_no_team_changes_nothing(two, tmp_path, on_terminal):
    two.folder = tmp_path
    terminal = on_terminal("tasks", "add", "Count")
    terminal.read_until(lambda text: "Which team? [1-2]" in text)
    terminal.type("\n")
    assert "several teams are here" in terminal.read_until(lambda _: False)


def test_mail_to_another_team_can_be_answered_without_any_setting(two, tmp_path):
    two("send", "bank-ann@bank", "hello", "--from", "shop-ann", cwd=tmp_path)
    assert two.rows("bank-ann", "bank")[0]["from"] == "shop-ann@shop"
    two("send", "shop-ann@shop", "and to you", "--from", "bank-ann", cwd=tmp_path)
    assert two.rows("shop-ann", "shop")[0]["from"] == "bank-ann@bank"
