"""Who asks: `--as`, then ATM_IDENTITY, then the settings; and what nobody in particular may do."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves


def creator(tasks, *words):
    return tasks("add", "x", *words, "--json").json["task"]["createdBy"]


def test_the_flag_comes_before_the_environment_before_the_settings_before_human(tasks, atm, configure):
    assert creator(tasks) == "human"
    configure(core={"identity": "from-settings"})
    assert creator(tasks) == "from-settings"
    atm.environment["ATM_IDENTITY"] = "from-environment"
    assert creator(tasks) == "from-environment"
    assert creator(tasks, "--as", "from-flag") == "from-flag"


def test_the_environment_is_enough_to_claim_and_complete(tasks, atm):
    tasks("add", "First")
    atm.environment["ATM_IDENTITY"] = "ann"
    assert tasks("claim", "--json").json["task"]["owner"] == "ann"
    assert tasks("complete", "1", "--json").json["task"]["finishedBy"] == "ann"


@pytest.mark.parametrize("words", [["claim"], ["claim", "1"], ["start", "1"], ["beat"]])
def test_working_needs_a_name(tasks, words):
    tasks("add", "First")
    done = tasks(*words, code=1)
    assert "--as NAME" in done.err
    assert "ATM_IDENTITY" in done.err
    assert tasks("show", "1", "--json").json["task"]["status"] == "pending"


def test_an_empty_variable_is_no_name(tasks, atm):
    atm.environment["ATM_IDENTITY"] = ""
    tasks("add", "First")
    assert "--as NAME" in tasks("claim", code=1).err


def test_a_human_who_says_so_may_claim(tasks):
    tasks("add", "First")
    done = tasks("claim", "--as", "human")
    assert done.out.startswith("claimed #1")
    assert done.err == ""


def test_a_name_in_another_case_is_the_member(tasks, atm):
    tasks("add", "First")
    assert tasks("claim", "--as", "ANN", "--json").json["task"]["owner"] == "ann"
    tasks("complete", "1", "--as", "Ann")
    assert json.loads((atm.home / ".claude/tasks/crew/1.json").read_bytes())["owner"] == "ann"


def test_a_name_that_is_not_in_the_roster_works_and_is_told_so(tasks):
    tasks("add", "First")
    done = tasks("claim", "--as", "zed")
    assert done.out.startswith("claimed #1")
    assert "atm teams add-member crew zed" in done.err


@pytest.mark.parametrize(
    "name",
    ["user", "system", "USER", "user@crew", "../ann", "a/b", " ", "a\x1b[2Jb", "a\nb", ".ann", "x.lock", "n" * 129],
)
@pytest.mark.parametrize("verb", [["claim"], ["comment", "1", "x"], ["add", "y"]], ids=lambda verb: verb[0])
def test_a_name_that_nobody_may_have_is_refused(tasks, verb, name, contents, atm):
    tasks("add", "First")
    before = contents(atm.home / ".claude")
    done = tasks(*verb, "--as", name, code=1)
    assert "\x1b" not in done.err
    assert "\n  fix: " in done.err
    assert contents(atm.home / ".claude") == before


@pytest.mark.parametrize("verb", [["claim"], ["comment", "1", "x"], ["beat"]], ids=lambda verb: verb[0])
def test_an_empty_name_is_not_the_human(tasks, verb):
    """`--as "$NAME"` of a script whose variable is not set: all of them would share one claim, and a human's rights."""
    tasks("add", "First")
    tasks(*verb, "--as", "", code=1)


@pytest.mark.parametrize("to", ["../ann", "a\x1b[2Jb", ".ann", ""])
def test_nor_can_such_a_name_be_given_a_task(tasks, to, contents, atm):
    tasks("add", "First")
    before = contents(atm.home / ".claude")
    assert "\x1b" not in tasks("assign", "1", "--to", to, code=1).err
    assert contents(atm.home / ".claude") == before


class TestWhoMayWhat:
    @pytest.fixture
    def held(self, tasks):
        tasks("add", "First", "--as", "human")
        tasks("claim", "--as", "ann")
        return tasks

    @pytest.mark.parametrize(
        "words",
        [
            ["complete", "1"],
            ["fail", "1"],
            ["release", "1"],
            ["cancel", "1"],
            ["assign", "1", "--to", "bob"],
            ["split", "1", "--into", "a", "b"],
            ["review", "request", "1"],
            ["plan", "submit", "1", "--text", "x"],
        ],
        ids=lambda words: words[0],
    )
    def test_another_agent_may_not_touch_somebodys_work(self, held, words, contents, atm):
        before = contents(atm.home / ".claude/tasks")
        done = held(*words, "--as", "bob", code=1)
        assert "ann" in done.err
        assert "\n  fix: " in done.err
        assert contents(atm.home / ".claude/tasks") == before

    @proves("R003-2.3-15", "R004-orchestration-O3d")
    @pytest.mark.parametrize("who", ["human", "team-lead"])
    @pytest.mark.parametrize(
        "words",
        [["release", "1"], ["cancel", "1"], ["assign", "1", "--to", "bob"], ["split", "1", "--into", "a", "b"]],
        ids=lambda words: words[0],
    )
    def test_humans_and_the_lead_may_take_it_away(self, held, words, who):
        held(*words, "--as", who)
        assert held("show", "1", "--json").json["task"]["claim"] is None

    def test_whoever_made_a_task_may_take_it_back(self, tasks):
        tasks("add", "First", "--as", "bob")
        tasks("claim", "--as", "ann")
        tasks("cancel", "1", "--as", "bob")

    @pytest.mark.parametrize("words", [["release", "1", "--reopen"], ["plan", "approve", "1"]])
    def test_only_they_reopen_and_approve_plans(self, held, words):
        held("complete", "1", "--as", "ann")
        assert held(*words, "--as", "bob", "--json", code=1).json["error"]["code"] == "not-allowed"
