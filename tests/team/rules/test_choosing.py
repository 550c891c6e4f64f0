"""Which team is meant where nobody says so."""

from __future__ import annotations

from atm.team.rules.choosing import FOLDER, ONLY, PROCESS, REPOSITORY, ROSTER, Candidate, Whereabouts, choose

SHOP = Candidate("shop", {"ann": "/work/shop", "zoe": "/work/shop"})
BANK = Candidate("bank", {"bob": "/work/bank/api", "zoe": "/work/bank"})
SESSION = Candidate("session-1a2b3c4d", {"team-lead": "/work/shop", "scout": "/work/shop"})


def test_the_only_team_is_meant_whatever_sessions_of_claude_code_are_beside_it():
    assert choose([SHOP], Whereabouts()) == ("shop", ONLY)
    assert choose([SHOP, SESSION], Whereabouts(root="/work/shop", folder="/work/shop")) == ("shop", ONLY)


def test_a_session_is_never_meant_by_somebody_else():
    assert choose([SESSION], Whereabouts(me="zoe", root="/work/shop", folder="/work/shop")) == ("", "")
    assert choose([SESSION], Whereabouts()) == ("", "")


def test_a_session_is_meant_by_its_own_agents():
    assert choose([SHOP, SESSION], Whereabouts(), own=["session-1a2b3c4d"]) == ("session-1a2b3c4d", PROCESS)
    assert choose([SHOP, BANK, SESSION], Whereabouts(me="scout")) == ("session-1a2b3c4d", ROSTER)


def test_the_team_that_works_in_the_repository_is_meant():
    here = Whereabouts(me="zoe", root="/work/bank", folder="/work/bank/web")
    assert choose([SHOP, BANK], here) == ("bank", REPOSITORY)


def test_a_folder_whose_name_only_begins_alike_is_another():
    assert choose([SHOP, BANK], Whereabouts(root="/work/ban", folder="/work/ban")) == ("", "")


def test_the_team_that_one_is_in_is_meant_where_the_place_says_nothing():
    assert choose([SHOP, BANK], Whereabouts(me="ANN", root="/tmp", folder="/tmp")) == ("shop", ROSTER)


def test_the_place_outweighs_the_roster():
    assert choose([SHOP, BANK], Whereabouts(me="ann", root="/work/bank", folder="/work/bank")) == ("bank", REPOSITORY)


def test_the_folder_decides_among_several_of_one_repository():
    web, api = Candidate("web", {"cat": "/work/bank/web"}), Candidate("api", {"bob": "/work/bank/api"})
    assert choose([web, api], Whereabouts(root="/work/bank", folder="/work/bank/api")) == ("api", FOLDER)
    assert choose([SHOP, BANK], Whereabouts(me="zoe", root="/tmp/shop", folder="/tmp/shop")) == ("shop", FOLDER)


def test_what_cannot_be_told_is_not_guessed():
    assert choose([SHOP, BANK], Whereabouts(me="zoe", root="/tmp", folder="/tmp")) == ("", "")
    assert choose([], Whereabouts()) == ("", "")


def bound(name: str, *, here: bool, folders: dict[str, str] | None = None) -> Candidate:
    return Candidate(name, folders or {}, is_bound_here=here, is_bound_elsewhere=not here)


def test_a_team_that_is_bound_to_this_repository_is_meant_whatever_the_folder_is_called():
    teams = [bound("shop", here=False), bound("shop-2", here=True), Candidate("bank", {})]
    assert choose(teams, Whereabouts(root="/b/shop", folder="/b/shop")) == ("shop-2", REPOSITORY)


def test_a_team_of_another_repository_is_never_meant_by_a_folder():
    at = Whereabouts(root="/b/shop", folder="/b/shop")
    there = bound("shop", here=False, folders={"ann": "/b/shop"})
    assert choose([there, BANK], at) == ("", "")
    assert choose([there, Candidate("b", {"bob": "/b/shop/api"})], at) == ("b", REPOSITORY)
    me = Whereabouts(me="ann", root="/b/shop", folder="/b/shop")
    assert choose([there, BANK], me) == ("shop", ROSTER)  # mail reaches a member anywhere
