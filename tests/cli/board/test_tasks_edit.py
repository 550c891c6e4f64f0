"""`atm tasks edit`, and tasks that are called by their titles."""

from __future__ import annotations

import pytest


@pytest.fixture
def board(tasks):
    tasks("add", "Write the parser", "--description", "old", "--files", "a.py", "--accept", "make test", "--as", "bob")
    tasks("add", "Write the manual", "--as", "ann")
    return tasks


def task(tasks, id="1"):
    return tasks("show", id, "--json").json["task"]


def test_everything_that_is_given_takes_the_place_of_what_was(board):
    done = board(
        *("edit", "1", "--title", "Write a lexer", "--description", "new", "--priority", "high"),
        *("--files", "b.py", "c.py", "--accept", "make lint", "--accept-file", "out/*", "--as", "bob"),
    )
    assert done.out == "changed #1 Write a lexer: title, description, priority, files, accept\n"
    now = task(board)
    assert (now["subject"], now["description"], now["priority"]) == ("Write a lexer", "new", "high")
    assert now["files"] == ["b.py", "c.py"]
    assert [one["kind"] for one in now["acceptance"]] == ["command", "file"]
    assert now["acceptance"][0]["by"] == "bob"
    assert now["acceptance"][0]["trusted"] is True
    assert "task changed" in board("history", "1").out


def test_what_is_not_given_stays(board):
    board("edit", "1", "--priority", "low", "--as", "bob")
    now = task(board)
    assert (now["subject"], now["description"], now["files"]) == ("Write the parser", "old", ["a.py"])
    assert now["acceptance"][0]["trusted"] is True


def test_the_limit_of_an_attempt_can_be_changed_and_taken_away(board):
    assert board("edit", "1", "--timeout", "10m", "--as", "bob").out == "changed #1 Write the parser: timeout\n"
    assert task(board)["timeout"] == 600
    board("edit", "1", "--priority", "low", "--as", "bob")
    assert task(board)["timeout"] == 600
    board("edit", "1", "--timeout", "", "--as", "bob")
    assert "timeout" not in task(board)
    assert "not a length of time" in board("edit", "1", "--timeout", "soon", "--as", "bob", code=1).err


def test_an_empty_word_clears(board):
    board("edit", "1", "--files", "", "--accept", "", "--description", "", "--as", "bob")
    now = task(board)
    assert (now["files"], now["acceptance"], now["description"]) == ([], [], "")


def test_nothing_new_is_said_to_be_nothing_new(board):
    assert "is so already" in board("edit", "1", "--priority", "normal", "--as", "bob").out
    assert board("edit", "1", "--priority", "normal", "--as", "bob", "--json").json["changed"] == []
    assert "--title" in board("edit", "1", "--as", "bob", code=1).err


def test_what_another_member_added_is_theirs(board):
    refused = board("edit", "Write the manual", "--title", "x", "--as", "bob", code=1)
    assert "ann added it" in refused.err
    board("edit", "Write the manual", "--title", "The manual")  # a person may
    assert task(board, "2")["subject"] == "The manual"


def test_who_works_on_it_is_told_and_cannot_make_it_easier(board, quickly):
    board("claim", "1", "--as", "bob")
    refused = board("edit", "1", "--accept", "true", "--as", "bob", code=1)
    assert "may not change the checks" in refused.err
    board("edit", "1", "--title", "Write a good parser", "--accept", "make all")
    mail = quickly("read", "--as", "bob", "--json").json["messages"]
    assert any("changed: title, accept" in one["text"] for one in mail)


def test_what_is_finished_is_not_changed(board):
    board("cancel", "2", "--as", "ann")
    assert "cancelled" in board("edit", "2", "--title", "x", "--as", "ann", code=1).err


@pytest.mark.parametrize("verb", ["show", "history"])
def test_titles_name_tasks_where_one_looks(board, verb):
    assert board(verb, "write the p", "--json").code == 0
    assert "#1, #2" in board(verb, "write the", code=1).err


def test_titles_name_tasks_where_one_works(board):
    assert "#2 waits for #1" in board("depend", "write the manual", "--on", "write the parser").out
    board("depend", "write the manual", "--off", "write the parser", "--as", "ann", code=1)
    board("depend", "write the manual", "--off", "write the parser")
    assert "claimed #1" in board("claim", "write the parser", "--as", "bob").out
    assert board("comment", "write the m", "see there", "--as", "ann").code == 0
    assert task(board, "2")["comments"][0]["text"] == "see there"
    board("start", "write the m", "--as", "ann")
    board("done", "write the m", "--as", "ann")
    assert task(board, "2")["state"] == "completed"


def test_the_checks_and_the_limit_of_a_failed_task_can_be_edited_before_it_is_reopened(board):
    board("claim", "1", "--as", "ann")
    board("fail", "1", "--error", "exit 2", "--final", "--as", "ann")
    board("edit", "1", "--accept", "make lint", "--timeout", "1h")
    assert task(board)["shown"]["state"] == "failed"
    board("reopen", "1")
    now = task(board)
    assert (now["shown"]["state"], now["timeout"]) == ("pending", 3600)
    assert [one["command"] for one in now["acceptance"]] == ["make lint"]


@pytest.mark.parametrize("how", ["complete", "cancel"])
def test_a_task_that_is_completed_or_cancelled_is_not_edited(board, how):
    board("claim", "2", "--as", "ann")
    board(how, "2", *(("--as", "ann") if how == "complete" else ()))
    assert board("edit", "2", "--priority", "low", "--json", code=1).json["error"]["code"] == "task-closed"
