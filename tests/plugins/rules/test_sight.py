"""Which teams a plugin may see: all for the user's own, those at work in a repository for that repository's."""

from __future__ import annotations

import pytest

from atm.plugins.rules.sight import PluginScope, Workplace, may_hear, may_see, names_in, sight_in_words

REPO = "/home/you/api"
MACHINE = PluginScope("webhook")
REPOSITORYS = PluginScope("webhook", REPO, REPO)


def at(folder: str, **more: str) -> Workplace:
    return Workplace(folder, **more)


def test_a_plugin_of_the_machine_sees_every_team_wherever_it_works():
    assert may_see(MACHINE, "crew", ())
    assert may_see(MACHINE, "crew", [at("/somewhere/else")])


@pytest.mark.parametrize("folder", [REPO, f"{REPO}/src", f"{REPO}/.claude/worktrees/one"])
def test_a_plugin_of_a_repository_sees_a_team_of_which_one_member_works_in_it(folder):
    assert may_see(REPOSITORYS, "crew", [at("/somewhere/else"), at(folder)])


@pytest.mark.parametrize("folder", ["", "/", "/home/you", f"{REPO}-2", f"{REPO}2/src", "/home/you/ap", "api"])
def test_it_sees_no_team_that_works_beside_or_above_it_or_says_not_where(folder):
    assert not may_see(REPOSITORYS, "crew", [at(folder)])


def test_it_sees_no_team_without_members():
    assert not may_see(REPOSITORYS, "crew", ())


def test_a_worktree_of_the_repository_is_the_repository_and_that_of_another_is_not():
    assert may_see(REPOSITORYS, "crew", [at("/tmp/fix", worktree_of=REPO)])
    assert not may_see(REPOSITORYS, "crew", [at("/tmp/fix", worktree_of="/home/you/other")])


def test_a_plugin_does_not_let_itself_in_by_a_member_that_it_plays():
    assert not may_see(REPOSITORYS, "crew", [at(REPO, played_by="webhook")])
    assert may_see(REPOSITORYS, "crew", [at(REPO, played_by="bridge")])


def test_the_root_of_the_file_system_holds_everything():
    assert may_see(PluginScope("webhook", "/", "/"), "crew", [at("/anywhere")])


@pytest.mark.parametrize("repo", [None, REPO])
def test_teams_in_its_section_narrow_a_plugin_and_never_widen_it(repo):
    scope = PluginScope("webhook", "place", repo, only=("Crew", "night"))
    assert may_see(scope, "crew", [at(REPO)])  # names are compared without case
    assert not may_see(scope, "other", [at(REPO)])
    assert may_see(scope, "night", [at("/else")]) is (repo is None)
    assert not may_see(PluginScope("webhook", "place", repo, only=()), "crew", [at(REPO)])


def test_of_events_without_a_team_a_repository_hears_those_about_its_own_place():
    assert may_hear(REPOSITORYS, "", REPO, ())
    assert not may_hear(REPOSITORYS, "", "/home/you/other", ())
    assert not may_hear(REPOSITORYS, "", None, ())
    assert may_hear(MACHINE, "", "/home/you/other", ())
    assert may_hear(PluginScope("webhook", only=("crew",)), "", None, ())


def test_of_events_of_a_team_it_hears_those_that_it_may_see():
    assert may_hear(REPOSITORYS, "crew", None, [at(REPO)])
    assert not may_hear(REPOSITORYS, "crew", REPO, [at("/else")])


SETTINGS = [(None, None), ([], ()), (["a", "b"], ("a", "b")), (("a",), ("a",)), ("a", ("a",))]
SLIPS = [(5, ()), (True, ()), ({"a": 1}, ()), ("", ()), ([5, "a", ""], ("a",))]


@pytest.mark.parametrize(("setting", "names"), [*SETTINGS, *SLIPS])
def test_what_is_no_name_in_the_section_widens_nothing(setting, names):
    assert names_in(setting) == names


def test_what_it_will_see_is_said_in_words():
    assert sight_in_words(MACHINE) == "it sees all teams"
    assert sight_in_words(PluginScope("webhook", only=("a", "b"))) == "it sees these teams alone: a, b"
    words = sight_in_words(PluginScope("webhook", REPO, REPO, only=("a",)))
    assert words.startswith(f"it sees the teams of which somebody works in {REPO} or a worktree of it, and no others")
    assert words.endswith("of these only: a")
    assert sight_in_words(PluginScope("webhook", REPO, REPO, only=())).endswith("of these only: none")
