"""`atm tasks list` and `show`: what a person and a program see of a board, whoever wrote it."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.proving import proves

from atm.ui.cli.board.tables import VERBS


@pytest.fixture
def board(tasks):
    """Six tasks, each in another state."""
    for name in ("Done", "Doing", "Free", "Cancelled"):
        tasks("add", name)
    tasks("add", "Blocked", "--depends-on", "2", "3", "--priority", "high")
    tasks("add", "Lost", "--depends-on", "4")
    tasks("claim", "1", "--as", "ann")
    tasks("complete", "1", "--as", "ann", "--result", "fine")
    tasks("claim", "2", "--as", "bob")
    tasks("cancel", "4", "--reason", "no need")
    return tasks


@proves("R004-target-06", "R004-target-13", "R004-files-10")
def test_json_has_the_team_and_its_tasks_with_derived_states(board):
    answer = board("list", "--json").json
    assert answer["team"] == "crew"
    states = {task["id"]: task["state"] for task in answer["tasks"]}
    assert states == {
        "1": "completed",
        "2": "in_progress",
        "3": "pending",
        "4": "cancelled",
        "5": "blocked",
        "6": "unreachable",
    }
    assert {task["status"] for task in answer["tasks"]} <= {"pending", "in_progress", "completed"}
    blocked = answer["tasks"][4]
    assert (blocked["blockedBy"], blocked["blocked_by_open"]) == (["2", "3"], ["2", "3"])


@proves("R004-files-10")
def test_blocked_by_open_leaves_out_what_is_done(board):
    board("complete", "2", "--as", "bob")
    blocked = board("list", "--json").json["tasks"][4]
    assert (blocked["blockedBy"], blocked["blocked_by_open"]) == (["2", "3"], ["3"])


def test_people_see_blocked_apart_from_ready_and_by_what(board):
    lines = {line.split()[0]: line for line in board("list").out.splitlines() if line.strip().startswith("#")}
    assert lines["#3"].split()[1:3] == ["○", "ready"]
    assert lines["#5"].split()[1:3] == ["◌", "blocked"]
    assert lines["#5"].rstrip().endswith("#2 #3")
    assert "high" in lines["#5"]
    assert "#4 was cancelled" in lines["#6"]
    assert "bob" in lines["#2"]


def test_the_last_line_says_how_far_it_is(board):
    assert board("list").out.rstrip().splitlines()[-1].strip().startswith("1 of 6 done")


def test_tasks_alone_means_the_list(board):
    assert board().out == board("list").out


def test_an_empty_board_says_how_to_begin(tasks):
    done = tasks("list")
    assert "atm tasks add" in done.out
    assert tasks("list", "--json").json["tasks"] == []


def test_looking_does_not_make_a_folder(tasks, atm):
    tasks("list")
    assert not (atm.home / ".claude/tasks").exists()


class TestChoosing:
    @proves("R004-task-system-T5")
    @pytest.mark.parametrize(
        ("words", "ids"),
        [
            (["--state", "blocked"], ["5"]),
            (["--state", "blocked", "unreachable"], ["5", "6"]),
            (["--state", "blocked", "--state", "unreachable"], ["5", "6"]),
            (["--owner", "bob"], ["2"]),
            (["--owner", "BOB"], ["2"]),
            (["--owner", "nobody"], []),
            (["--limit", "2"], ["1", "2"]),
            (["--limit", "0"], []),
            (["--state", "pending", "--limit", "1"], ["3"]),
        ],
        ids=" ".join,
    )
    def test_only_these(self, board, words, ids):
        assert [task["id"] for task in board("list", *words, "--json").json["tasks"]] == ids

    def test_a_state_that_does_not_exist_is_answered_with_those_that_do(self, board):
        assert "blocked" in board("list", "--state", "bloked", code=1).err


class TestShow:
    def test_everything_about_a_task(self, board):
        board("comment", "5", "look at the fixture", "--as", "ann")
        text = board("show", "5").out
        for part in ("◌ #5 Blocked", "blocked (#2 #3)", "high", "#2 #3", "look at the fixture", "task created"):
            assert part in text

    def test_json_has_the_events_and_the_file(self, board, atm):
        task = board("show", "1", "--json").json["task"]
        assert [event["type"] for event in task["events"]] == ["task_created", "status_changed", "status_changed"]
        assert task["file"] == str(atm.home / ".claude/tasks/crew/1.json")
        assert (task["result"], task["finishedBy"]) == ("fine", "ann")

    @proves("R004-task-system-T5")
    @pytest.mark.parametrize("id", ["1", "#1", "001", " 1 "])
    def test_a_number_in_any_spelling(self, board, id):
        assert board("show", id, "--json").json["task"]["id"] == "1"

    @pytest.mark.parametrize("verb", ["show", "claim", "start", "complete", "fail", "release", "cancel", "history"])
    @pytest.mark.parametrize("id", ["0", "-1", "99", "007", "１２", "99999999999999999999", "1.5", "x", "", "1e3", "²"])
    def test_a_number_that_no_task_has_is_an_error_with_a_way_out(self, board, verb, id):
        who = () if verb in ("show", "history") else ("--as", "ann")
        done = board(verb, id, *who, code=1)
        assert (
            f"there is no task #{int(id)}\n" if id in ("0", "99", "007") else f"no task is called {id!r}\n"
        ) in done.err
        assert "atm tasks list" in done.err
        assert done.out == ""


class TestHelp:
    @pytest.mark.parametrize("name", VERBS)
    def test_every_verb_explains_itself_with_an_example(self, quickly, name):
        done = quickly(*name.split(), "--help")
        assert done.code == 0
        assert f"usage: atm {name}" in done.out
        assert "examples:\n" in done.out

    @pytest.mark.parametrize(
        "name",
        [
            *("review request", "review start", "review approve", "review changes"),
            *("plan submit", "plan approve", "plan reject"),
        ],
    )
    def test_so_do_the_verbs_below_them(self, quickly, name):
        done = quickly("tasks", *name.split(), "--help")
        assert done.code == 0
        assert f"usage: atm tasks {name}" in done.out

    def test_the_group_lists_all_promised_verbs(self, quickly):
        promised = "add import list show claim start complete fail release assign split cancel depend comment clarify"
        text = quickly("tasks", "--help").out
        for word in [*promised.split(), "review", "plan", "graph", "history", "watch", "beat"]:
            assert f"\n  {word} " in text

    @pytest.mark.parametrize(
        ("typed", "meant"), [("clam", "claim"), ("complet", "complete"), ("ADD", "add"), ("xyzzy", "")]
    )
    def test_an_unknown_verb_is_answered_with_the_nearest(self, quickly, typed, meant):
        done = quickly("tasks", typed)
        assert done.code == 1
        assert f"did you mean {meant!r}" in done.err if meant else "atm tasks --help" in done.err

    @pytest.mark.parametrize(
        ("words", "option"),
        [
            (["assign", "1"], "--to"),
            (["split", "1"], "--into"),
            (["depend", "1"], "--on"),
            (["clarify", "1"], "--answer"),
        ],
    )
    def test_a_missing_option_is_called_by_its_name(self, tasks, words, option):
        tasks("add", "A")
        assert option in tasks(*words, code=1).err

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_shells_complete_the_verbs_and_their_options(self, quickly, shell):
        script = quickly("completion", shell).out
        for word in ("claim", "clarify", "depends-on", "no-verify"):
            assert word in script


class TestClaudesLists:
    TASK = '{"id": "%d", "subject": "%s", "description": "", "status": "pending", "blocks": [], "blockedBy": []}'

    @pytest.fixture
    def session(self, atm, quickly):
        """The board of a running session of Claude Code, with two tasks of its own."""
        team = atm.home / ".claude/teams/session-1a2b3c4d"
        team.mkdir(parents=True)
        (team / "config.json").write_text('{"name": "session-1a2b3c4d", "members": [{"name": "team-lead"}]}')
        board = atm.home / ".claude/tasks/session-1a2b3c4d"
        board.mkdir(parents=True)
        (board / "1.json").write_text(self.TASK % (1, "Theirs"))
        (board / "2.json").write_text(self.TASK % (2, "Theirs too"))
        return lambda *words: quickly("tasks", *words, "--team", "session-1a2b3c4d")

    def test_it_is_listed_and_worked_on_like_any_other(self, session):
        assert [task["subject"] for task in session("list", "--json").json["tasks"]] == ["Theirs", "Theirs too"]
        assert session("claim", "--as", "team-lead").code == 0
        assert session("complete", "1", "--as", "team-lead").code == 0
        assert session("add", "Ours").code == 0

    def test_nothing_of_ours_lies_in_the_folder_of_its_team(self, session, atm):
        session("claim", "--as", "team-lead")
        session("add", "Ours")
        names = {path.name for path in (atm.home / ".claude/teams/session-1a2b3c4d").rglob("*")}
        assert names == {"config.json"}
        assert (atm.home / ".local/state/atm/teams/session-1a2b3c4d/tasks.jsonl").exists()

    def test_when_the_session_is_over_its_list_can_still_be_read(self, session, atm):
        session("claim", "--as", "team-lead")
        shutil.rmtree(atm.home / ".claude/teams/session-1a2b3c4d")
        assert len(session("list", "--json").json["tasks"]) == 2
        for words in (["show", "1"], ["graph"], ["history"], ["history", "1"], ["list"], ["watch", "--timeout", "0"]):
            assert session(*words).code == 0, words

    @pytest.mark.parametrize(
        "words", [["add", "New"], ["claim", "--as", "x"], ["cancel", "1"], ["comment", "1", "x"], ["import", "p.md"]]
    )
    def test_but_not_changed(self, session, atm, words, contents):
        (atm.folder / "p.md").write_text("- [ ] A\n")
        shutil.rmtree(atm.home / ".claude/teams/session-1a2b3c4d")
        before = contents(atm.home / ".claude")
        done = session(*words)
        assert done.code == 1
        assert "session-1a2b3c4d" in done.err
        assert contents(atm.home / ".claude") == before


class TestSpellingOfTheTeam:
    """`--team CREW` is crew, in every answer and in every look at the board."""

    def test_reading(self, board):
        assert board("list", "--team", "CREW", "--json").json == board("list", "--json").json

    @pytest.mark.parametrize(
        "words",
        [
            ["add", "New", "--depends-on", "3"],
            ["claim", "3", "--as", "ann"],
            ["comment", "3", "x"],
            ["depend", "5", "--on", "1"],
            ["assign", "3", "--to", "ann"],
            ["cancel", "3"],
            ["complete", "2", "--as", "bob"],
        ],
        ids=lambda words: words[0],
    )
    def test_writing_says_the_real_name_and_knows_the_whole_board(self, board, words):
        answer = board(*words, "--team", "CREW", "--json").json
        assert answer["team"] == "crew"
        listed = {task["id"]: task for task in board("list", "--json").json["tasks"]}
        task = answer["task"]
        for key in ("state", "blockedBy", "blocks", "blocked_by_open"):
            assert task[key] == listed[task["id"]][key]
        assert "blocked_by_missing" not in task

    def test_no_second_board_comes_into_being(self, board, atm):
        board("add", "New", "--team", "CREW")
        board("beat", "--as", "ann", "--team", "CREW")
        assert {path.name for path in (atm.home / ".claude/tasks").iterdir()} == {"crew"}
        assert {path.name for path in (atm.home / ".local/state/atm/boards").iterdir()} == {"crew.index"}

    def test_two_teams_that_differ_by_case_alone_are_told_apart(self, board, atm, quickly):
        other = atm.home / ".claude/teams/Crew"
        shutil.copytree(atm.home / ".claude/teams/crew", other)
        config = json.loads((other / "config.json").read_text())
        (other / "config.json").write_text(json.dumps({**config, "name": "Crew"}))
        assert quickly("tasks", "list", "--team", "Crew", "--json").json["tasks"] == []
        assert len(board("list", "--team", "crew", "--json").json["tasks"]) == 6


@pytest.mark.parametrize("words", [["list"], ["add", "x"], ["claim", "--as", "a"], ["graph"], ["history"], ["watch"]])
class TestNoTeam:
    def test_a_mistyped_team_is_answered_with_the_nearest(self, tasks, words):
        assert "did you mean 'crew'" in tasks(*words, "--team", "crow", code=1).err

    def test_a_name_that_leads_elsewhere_is_refused(self, tasks, words):
        assert "path separator" in tasks(*words, "--team", "../../etc", code=1).err

    def test_without_any_team_the_way_to_one_is_shown(self, quickly, words):
        done = quickly("tasks", *words)
        assert done.code == 1
        assert "atm teams create" in done.err
