"""The person who makes a team is in it, by a name of their own, and can be answered. No agent becomes that person."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def members(atm, team="crew"):
    config = json.loads((atm.home / f".claude/teams/{team}/config.json").read_text())
    return {member["name"]: member.get("backendType", "") for member in config["members"]}


@pytest.fixture
def zoe(atm):
    (atm.home / ".gitconfig").write_text("[user]\n\tname = Zoë O'Hara\n")
    return atm


def test_whoever_makes_a_team_is_a_human_in_it_with_an_inbox(zoe):
    made = zoe("teams", "create", "crew", "--json").json
    assert (made["you"], members(zoe)) == ("zoe-ohara", {"zoe-ohara": "human"})
    assert zoe.rows("zoe-ohara") == []


def test_that_is_the_default_identity_from_then_on_and_it_is_said(zoe):
    said = zoe("teams", "create", "crew").out
    assert "you are in it as zoe-ohara" in said
    assert "atm config set core.identity NAME" in said
    assert zoe("config", "get", "core.identity").out == "zoe-ohara\n"
    assert "core.identity" not in zoe("teams", "create", "other").out
    assert members(zoe, "other") == {"zoe-ohara": "human"}


def test_a_conversation_goes_there_and_back(zoe):
    zoe("teams", "create", "crew")
    zoe("teams", "add-member", "crew", "ann")
    zoe("send", "ann", "hello")
    assert zoe.rows("ann")[0]["from"] == "zoe-ohara"
    zoe("send", "zoe-ohara", "and hello to you", "--from", "ann")
    assert "and hello to you" in zoe("read").out


def test_a_repository_names_nobody(zoe):
    subprocess.run(["git", "init", "-q", zoe.folder], check=True)
    subprocess.run(["git", "-C", zoe.folder, "config", "user.name", "Mallory"], check=True)
    assert zoe("teams", "create", "crew", "--json").json["you"] == "zoe-ohara"


def test_without_a_name_in_git_it_is_the_login(atm):
    from atm.files.adapters.machine import login_name

    assert atm("teams", "create", "crew", "--json").json["you"] == login_name().lower()


@pytest.mark.parametrize("name", ["user", "../..", "李", "☃"])
def test_a_name_that_no_member_may_have_is_passed_over(atm, name):
    (atm.home / ".gitconfig").write_text(f'[user]\n\tname = "{name}"\n')
    from atm.files.adapters.machine import login_name

    assert atm("teams", "create", "crew", "--json").json["you"] == login_name().lower()


@pytest.mark.parametrize("named", [{"ATM_IDENTITY": "ann"}, {"CLAUDECODE": "1"}, {"CODEX_THREAD_ID": "7"}])
def test_whoever_has_a_name_and_whoever_is_an_agent_is_not_entered(zoe, named):
    assert zoe("teams", "create", "crew", "--json", env=named).json["you"] is None
    assert members(zoe) == {}
    assert not (zoe.home / ".config/atm/config.toml").exists()


def test_nor_is_whoever_runs_under_a_members_process(zoe):
    zoe("teams", "create", "crew")
    zoe("teams", "add-member", "crew", "bob")
    words = f"{sys.executable} -m atm"
    script = f"{words} tasks beat --as bob --pid $$; {words} teams create theirs --json; true"
    done = subprocess.run(
        ["/bin/sh", "-c", script], check=True, env=zoe.environment, cwd=zoe.folder, capture_output=True, text=True
    )
    assert json.loads(done.stdout.splitlines()[-1])["you"] is None, done
    assert members(zoe, "theirs") == {}


def test_the_rest_of_the_settings_stays(zoe, configure):
    configure(display={"timestamps": "absolute"})
    zoe("teams", "create", "crew")
    assert zoe("config", "get", "display.timestamps").out == "absolute\n"


def test_who_was_named_in_the_users_own_file_is_entered_by_that_name(zoe, configure):
    configure(core={"identity": "lena"})
    assert zoe("teams", "create", "crew", "--json").json["you"] == "lena"


def test_a_team_is_made_also_where_the_settings_cannot_be_written(zoe):
    (zoe.home / ".config").write_text("no folder")
    done = zoe("teams", "create", "crew")
    assert "created team crew" in done.out
    assert "Warning" in done.err


# An agent that nobody named is nobody.


def test_the_hook_of_an_agent_without_a_name_brings_no_mail_of_the_person(zoe):
    zoe("teams", "create", "crew")
    zoe("send", "zoe-ohara", "for your eyes", "--from", "ann")
    call = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(zoe.folder)})
    assert zoe("hook", "claude", "UserPromptSubmit", stdin=call).out == ""
    assert "for your eyes" in zoe("read").out


def test_a_script_without_a_name_claims_nothing_for_the_person(zoe):
    zoe("teams", "create", "crew")
    zoe("tasks", "add", "Write the parser")
    assert "this needs a name" in zoe("tasks", "claim", code=1).err
