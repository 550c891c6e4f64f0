"""Names: what we create is safe everywhere; what exists must only stay in its folder (D21)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.core.errors import BadName
from atm.core.names import (
    LONGEST_CREATED,
    LONGEST_KNOWN,
    RESERVED,
    as_new_name,
    check_known_name,
    check_new_name,
    find_name,
    is_claudes_team,
    nearest_name,
    parse_address,
    same_name,
)

CREATED = re.compile(r"[a-z0-9][a-z0-9._+-]{0,63}")

ESCAPES = [
    ("", "empty"),
    (" ", "empty"),
    ("\u3000", "empty"),
    ("a/b", "separator"),
    ("/etc", "separator"),
    ("a\\b", "separator"),
    ("c:", "separator"),
    ("ann:stream", "separator"),
    ("..", "folder"),
    (".", "folder"),
    ("...", "folder"),
    (".ann", "folder"),
    ("a..b", "folder"),
    ("ann..", "folder"),
    ("../../etc/passwd", "separator"),
    ("a\0b", "control"),
    ("a\nb", "control"),
    ("a\tb", "control"),
    ("a\x1b[31m", "control"),
    ("a\x7f", "control"),
    ("ann.lock", "lock"),
    ("ann.json.lock", "lock"),
    ("a" * 129, "129 characters"),
    ("a" * 300, "300 characters"),
]


@pytest.mark.parametrize(("name", "reason"), ESCAPES)
@pytest.mark.parametrize("check", [check_known_name, check_new_name])
def test_what_could_leave_its_folder_is_refused_known_or_new(check, name, reason):
    with pytest.raises(BadName, match=reason) as raised:
        check(name, "member")
    assert str(raised.value).startswith("member name ")
    assert raised.value.remedy


@pytest.mark.parametrize("name", ["a\x80b", "a\x85b", "a\x9b31m"])
def test_the_other_control_characters_are_refused_too(name):
    with pytest.raises(BadName):
        check_known_name(name, "member")


def test_a_refusal_shows_only_the_beginning_of_a_long_name():
    with pytest.raises(BadName) as raised:
        check_known_name("x" * 10_000, "team")
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    "name",
    [
        *("ann", "Ann", "ANN-2", "Zoë", "日本", "----", "-x", "_x", "+x", "a b", "ann.json", "user", "system", "lock"),
        *("a.locks", "x" * LONGEST_KNOWN, "session-1a2b3c4d", "a@b", "😀"),
    ],
)
def test_names_that_others_created_are_known(name):
    assert check_known_name(name, "member") == name


@pytest.mark.parametrize(
    "name", ["a", "7", "ann", "team-lead", "v1.2", "a_b", "exp+cache", "0-0", "a.", "x" * LONGEST_CREATED]
)
@pytest.mark.parametrize("what", ["team", "member"])
def test_plain_names_may_be_created(name, what):
    assert check_new_name(name, what) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Ann", "characters"),
        ("a b", "characters"),
        ("Zoë", "characters"),
        ("日本", "characters"),
        ("-a", "characters"),
        ("_a", "characters"),
        ("+a", "characters"),
        ("a@b", "characters"),
        ("a,b", "characters"),
        ("a*", "characters"),
        ("ı", "characters"),
        ("٣", "characters"),
        ("x" * 65, "65 characters"),
        ("user", "reserved"),
        ("system", "reserved"),
    ],
)
def test_names_that_exist_elsewhere_are_not_created_by_us(name, reason):
    assert check_known_name(name, "member") == name
    with pytest.raises(BadName, match=reason):
        check_new_name(name, "member")


def test_a_team_of_claude_codes_naming_is_not_ours_to_create():
    with pytest.raises(BadName, match="Claude Code"):
        check_new_name("session-1a2b3c4d", "team")
    assert check_new_name("session-1a2b3c4d", "member") == "session-1a2b3c4d"
    assert check_new_name("sessions", "team") == "sessions"


@given(st.text(max_size=70) | st.text("abc.-_+0", max_size=70))
def test_what_may_be_created_is_what_the_design_says(name):
    by_design = (
        CREATED.fullmatch(name) is not None and ".." not in name and not name.endswith(".lock") and name not in RESERVED
    )
    try:
        check_new_name(name, "member")
    except BadName:
        assert not by_design
    else:
        assert by_design


@given(st.text())
def test_no_known_name_leads_out_of_its_folder(name):
    import posixpath

    try:
        check_known_name(name, "member")
    except BadName:
        return
    assert posixpath.normpath(f"/inboxes/{name}.json") == f"/inboxes/{name}.json"
    assert posixpath.basename(f"/inboxes/{name}.json") == f"{name}.json"
    assert not name.startswith(".")


@pytest.mark.parametrize(
    ("address", "agent", "team"),
    [
        ("ann", "ann", None),
        ("ann@crew", "ann", "crew"),
        ("team-lead@session-1a2b3c4d", "team-lead", "session-1a2b3c4d"),
        ("Zoë@Ünï", "Zoë", "Ünï"),
        ("a.b+c@d_e", "a.b+c", "d_e"),
    ],
)
def test_an_address_is_an_agent_and_perhaps_a_team(address, agent, team):
    assert parse_address(address) == (agent, team)


@pytest.mark.parametrize(
    "address", ["", "@", "@crew", "ann@", "ann@ ", "../x@crew", "ann@../x", "a/b@c", "ann@c.lock", "\0@a"]
)
def test_an_address_with_a_bad_part_is_refused(address):
    with pytest.raises(BadName):
        parse_address(address)


@pytest.mark.parametrize(("one", "other"), [("ann", "ANN"), ("Straße", "STRASSE"), ("É", "é"), ("a", "a")])
def test_names_are_compared_without_case(one, other):
    assert same_name(one, other)
    assert same_name(other, one)


def test_different_names_are_different():
    assert not same_name("ann", "anna")


def test_the_known_spelling_of_a_name_is_found():
    assert find_name("TEAM-lead", ["ann", "Team-Lead"]) == "Team-Lead"
    assert find_name("bob", ["ann"]) is None
    assert find_name("bob", []) is None


@pytest.mark.parametrize(
    ("typed", "known", "meant"),
    [
        ("scuot", ["scout", "fixer"], "scout"),
        ("SCOUTT", ["Scout", "fixer"], "Scout"),
        ("fixr", ["scout", "fixer"], "fixer"),
        ("zzz", ["scout", "fixer"], None),
        ("scout", [], None),
    ],
)
def test_the_nearest_name_is_what_was_probably_meant(typed, known, meant):
    assert nearest_name(typed, known) == meant


@pytest.mark.parametrize("length", [201, 1_000_000])
def test_what_nobody_types_is_near_to_nothing_and_costs_nothing(length):
    """Letter by letter this would take hours."""
    assert nearest_name("y" * length, [f"{'y' * 190}{number}" for number in range(10_000)]) is None


def test_among_many_long_names_it_is_looked_for_with_bounded_patience():
    """Letter by letter this would take hours, too."""
    names = ["abcdefghi " * 19 + str(number) for number in range(100_000)]
    assert nearest_name("ihgfedcba " * 19 + "1234", names) is None
    assert nearest_name("abcdefgih " * 19 + "0", names) == names[0]


def test_names_of_another_length_are_not_looked_at_letter_by_letter():
    assert nearest_name("annn", ["a" * 1_000_000] * 100 + ["ann"]) == "ann"


@pytest.mark.parametrize(
    ("team", "claudes"),
    [("session-1a2b3c4d", True), ("session-", True), ("session", False), ("my-session-1", False), ("crew", False)],
)
def test_claudes_teams_are_told_by_their_name(team, claudes):
    assert is_claudes_team(team) is claudes


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("Zoë Ó Briain", "zoe-o-briain"),
        ("Ann O'Neil", "ann-oneil"),
        ("  J. R. R.  Tolkien ", "j-r-r-tolkien"),
        ("ann", "ann"),
        ("../../etc", "etc"),
        ("-rf", "rf"),
        ("a\x1b[31m\nb", "a-31m-b"),
        ("system", ""),
        ("李小龙", ""),
        ("", ""),
        ("x" * 500, "x" * 64),
    ],
)
def test_what_somebody_is_called_becomes_a_name_that_we_may_create(called, name):
    assert as_new_name(called) == name


@given(st.text())
def test_whatever_somebody_is_called_the_name_is_one_that_we_may_create(called):
    name = as_new_name(called) or "nobody"
    assert check_new_name(name, "member") == name
