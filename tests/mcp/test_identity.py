"""Who a connection is and what it may do: from the launcher and the roster, never more than that."""

from __future__ import annotations

import pytest
from tests.mcp.conftest import claim
from tests.trusting import trust

from atm.core.errors import AtmError, BadName, BadSetting, UsageError
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member, Team
from atm.ui.mcp.hello import (
    BadHello,
    IdentityClaim,
    check_welcome,
    decode_hello,
    encode_hello,
    encode_refusal,
    encode_welcome,
)
from atm.ui.mcp.identity import admit
from atm.ui.mcp.serving.roles import allowed_role
from atm.ui.mcp.stdio.early import EarlyWords, early_words

TEAM = Team(
    name="crew", lead="lena", members=[Member("lena"), Member("ann"), Member("hugo", backend="human")], read_from=""
)

CASES = [
    *(("lena", "", "lead"), ("lena", "lead", "lead"), ("lena", "teammate", "teammate"), ("LENA", "lead", "lead")),
    *(("lena", "human", "teammate"), ("lena", "observer", "observer")),
    *(
        ("ann", "", "teammate"),
        ("ann", "lead", "teammate"),
        ("ann", "human", "teammate"),
        ("ann", "observer", "observer"),
    ),
    *(
        ("hugo", "", "human"),
        ("hugo", "human", "human"),
        ("hugo", "lead", "teammate"),
        ("hugo", "teammate", "teammate"),
    ),
    *(
        ("zed", "", "observer"),
        ("zed", "lead", "observer"),
        ("zed", "human", "observer"),
        ("zed", "teammate", "observer"),
    ),
    *(("", "", "observer"), ("", "lead", "observer"), ("", "human", "observer")),
    *(("human", "human", "human"), ("human", "", "observer"), ("human", "lead", "observer")),
]


@pytest.mark.parametrize(("name", "asked", "role"), CASES)
def test_a_role_is_what_was_asked_for_but_never_more_than_the_roster_allows(name, asked, role):
    assert allowed_role(TEAM, name, asked) == role


def test_without_a_team_everybody_only_looks():
    assert {allowed_role(None, name, asked) for name, asked, _ in CASES} == {"observer"}


def test_an_agent_that_took_the_name_human_is_none():
    team = Team(name="crew", members=[Member("human")], lead="lena")
    assert allowed_role(team, "human", "human") == "teammate"


@pytest.mark.parametrize("name", ["user", "system", "User", "system@crew", "../ann", "a/b", "x\n"])
def test_names_that_nobody_may_bear_are_refused(room, layout, name):
    with pytest.raises(BadName):
        admit(layout, claim(member=name), has_daemon=True)


def test_a_role_that_does_not_exist_is_refused(room, layout):
    with pytest.raises(UsageError):
        admit(layout, claim(role="king"), has_daemon=True)


def test_names_come_out_as_the_roster_spells_them(room, layout):
    caller = admit(layout, claim(team="CREW", member="ANN"), has_daemon=True)
    assert (caller.team, caller.member, caller.role, caller.source) == ("crew", "ann", "teammate", "environment")


def test_whoever_is_named_by_nobody_is_nobody_and_not_the_person_at_the_terminal(room, layout):
    caller = admit(layout, claim(member=""), has_daemon=True)
    assert (caller.team, caller.member, caller.role, caller.source) == ("crew", "", "observer", "nobody")


def test_the_settings_of_the_folder_name_whom_the_launcher_does_not(room, layout, home, tmp_path):
    (tmp_path / ".atm.toml").write_text('[core]\ndefault_team = "crew"\nidentity = "bob"\n')
    trust(home, tmp_path)
    caller = admit(layout, IdentityClaim(folder=str(tmp_path)), has_daemon=False)
    assert (caller.team, caller.member, caller.role) == ("crew", "bob", "teammate")
    named = admit(layout, IdentityClaim(folder=str(tmp_path), member="ann"), has_daemon=False)
    assert named.member == "ann"


def test_the_environment_of_the_daemon_names_nobody(room, layout, monkeypatch):
    monkeypatch.setenv("ATM_IDENTITY", "bob")
    monkeypatch.setenv("ATM_TEAM", "other")
    caller = admit(layout, IdentityClaim(), has_daemon=True)
    assert (caller.team, caller.member) == ("crew", "")


def test_broken_settings_let_nobody_in(room, layout, tmp_path):
    (tmp_path / ".atm.toml").write_text("[core\n")
    with pytest.raises(BadSetting):
        admit(layout, IdentityClaim(folder=str(tmp_path)), has_daemon=True)


def test_a_team_that_is_not_there_yet_is_waited_for_as_an_observer(room, layout):
    caller = admit(layout, claim(team="later"), has_daemon=True)
    assert (caller.team, caller.role) == ("later", "observer")


def test_of_several_teams_none_is_guessed(room, layout):
    create_team(room, "other")
    caller = admit(layout, IdentityClaim(member="ann"), has_daemon=True)
    assert (caller.team, caller.role) == ("", "observer")


def test_a_human_of_the_roster_is_one(room, layout):
    add_member(room, "crew", Member("rita", backend="human"))
    assert admit(layout, claim(member="rita"), has_daemon=True).role == "human"


# The greeting.


def test_a_greeting_survives_the_way(layout):
    said = decode_hello(encode_hello(claim(role="lead", folder="/a b/\u00e4", config="/c.toml")))
    assert (said.team, said.member, said.role, said.folder, said.config) == (
        *("crew", "ann", "lead", "/a b/\u00e4"),
        "/c.toml",
    )


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"\n", b"GET / HTTP/1.1\r\n", b"[]", b"{}", b"\xff\xfe", b'{"v":1}', b'{"v":2,"hello":"mcp"}'),
        *(b'{"v":1,"hello":"mcp","team":7}', b'{"v":1,"hello":"mcp","member":["ann"]}', b"[" * 10_000),
        b'{"v":1,"hello":"mcp","folder":"' + b"x" * 5000 + b'"}',
        b'{"v":1,"hello":"mcp","team":"' + b" " * 20_000 + b'"}',
        b'{"v":1,"hello":"mcp","team":"a\\u0000b"}',
    ],
)
def test_anything_else_is_no_greeting(line):
    with pytest.raises(BadHello):
        decode_hello(line)


def test_a_refusal_arrives_with_its_code_and_remedy():
    with pytest.raises(AtmError) as refused:
        check_welcome(encode_refusal(BadName("not that name", "take another")))
    assert (refused.value.code, str(refused.value), refused.value.remedy) == (
        "bad-name",
        "not that name",
        "take another",
    )
    check_welcome(encode_welcome())


@pytest.mark.parametrize("line", [b"", b"nonsense", b"{}", b'{"ok":"true"}', b'{"ok":false,"error":7}'])
def test_an_answer_that_is_no_welcome_is_none(line):
    with pytest.raises(AtmError):
        check_welcome(line)


def test_an_agent_that_nobody_named_is_not_the_person_of_this_machine(room, layout, home):
    """The user's own file names who sits here, since they made a team; the launcher of an agent says nothing of it."""
    add_member(room, "crew", Member("zoe", backend="human"))
    (home / ".config/atm").mkdir(parents=True)
    (home / ".config/atm/config.toml").write_text('[core]\nidentity = "zoe"\n')
    caller = admit(layout, claim(member=""), has_daemon=False)
    assert (caller.member, caller.role, caller.source) == ("", "observer", "nobody")
    early = early_words(layout, claim(member=""))
    assert early is not None
    assert early.answer("tools/list", None) == EarlyWords("observer").answer("tools/list", None)
    assert admit(layout, claim(member="", role="human"), has_daemon=False).role == "human"
