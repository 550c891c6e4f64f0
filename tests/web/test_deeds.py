"""What a person does on the page is done by the command that the page shows."""

from __future__ import annotations

import ast
import inspect

import pytest
from tests.web import twice_asked

from atm.ui.faces import deeds as deeds_module

HOSTILE = ["--as=ann", "-h", "$(touch gone)", "`id`", "'; rm -rf / #", "two\nlines", "日本 🙂", "\u202eabc", "x" * 9000]


def deeds(browser, kind: str, id: str) -> dict[str, str]:
    offers = browser.get(f"/api/teams/crew/offers?kind={kind}&id={id}").json["offers"]
    return {offer["deed"]: offer["command"] for offer in offers}


def test_a_question_is_answered(browser, crew):
    row = browser.get("/api/teams/crew").json["rows"][0]
    assert (row["group"], row["text"], row["target"]) == ("Needs you", "which colour?", ["task", "3"])
    answer = browser.deed("crew", "task", "3", "answer", "blue")
    assert answer.json["command"].startswith("atm tasks clarify 3")
    assert answer.json["code"] == 0
    assert "blue" in crew("tasks", "show", "3").out
    assert browser.get("/api/teams/crew").json["counts"]["needs"] == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_a_message_arrives_as_it_was_typed(browser, crew, text):
    answer = browser.deed("crew", "member", "kite", "write", text)
    assert answer.status == 200, answer.body
    assert [row["text"] for row in crew.rows("kite")] == [text]
    assert not (crew.folder / "gone").exists()


def test_a_request_is_approved_with_the_exact_command_in_sight(browser, crew):
    crew("teams", "add-member", "crew", "human", "--backend-type", "human")
    crew("approvals", "ask", "--tool", "Bash", "--command", "git push --force", "--as", "bob", "--wait", "0", code=3)
    row = next(row for row in browser.get("/api/teams/crew").json["rows"] if row["word"] == "command")
    assert row["text"] == "git push --force"
    kind, id = row["target"]
    answer = browser.deed("crew", kind, id, "approve")
    assert answer.status == 200, answer.body
    found = crew("approvals", "list", "--all", "--json").json["approvals"][0]
    assert (found["state"], found["decided_by"]) == ("approved", "human")


def test_what_is_not_offered_is_not_done(browser, crew):
    for kind, id, deed in (
        ("task", "3", "delete"),
        ("task", "99", "answer"),
        ("nothing", "1", "answer"),
        ("member", "kite", "attach"),
        ("task", "3", ""),
    ):
        answer = browser.deed("crew", kind, id, deed, "x")
        assert answer.status == 409
    assert browser.deed("crew", "task", "3", "answer").status == 400


def test_what_a_command_refuses_is_said_in_its_words(browser, crew):
    answer = browser.deed("crew", "member", "nobody", "write", "hello")
    assert answer.status == 409
    assert answer.json["error"]
    assert answer.json["command"].startswith("atm send nobody")


def test_offers_are_those_of_the_screen(browser):
    assert deeds(browser, "task", "3")["answer"].startswith("atm tasks clarify 3")
    assert deeds(browser, "member", "kite")["write"].startswith("atm send kite")
    assert deeds(browser, "approval", "x")["approve"].startswith("atm approvals approve x")


def test_a_task_that_is_over_is_reopened(browser, crew):
    crew("tasks", "cancel", "2", "--reason", "not wanted")
    crew("tasks", "complete", "1", "--as", "bob")
    for id in ("1", "2"):
        offers = browser.get(f"/api/teams/crew/offers?kind=task&id={id}").json["offers"]
        (offer,) = (one for one in offers if one["deed"] == "reopen")
        assert offer["twice"] is True
        answer = browser.deed("crew", "task", id, "reopen")
        assert answer.status == 200, answer.body
        assert answer.json["command"] == offer["command"]
        assert answer.json["command"].startswith(f"atm tasks reopen {id} ")
        assert crew("tasks", "show", id, "--json").json["task"]["state"] in ("pending", "blocked")
    assert browser.deed("crew", "task", "2", "reopen").status == 409


def test_every_button_that_asks_twice_is_tapped_on_in_a_browser():
    """The table of tests/web/browser/test_taps.py, checked here, as few machines have the browser."""
    tree = ast.parse(inspect.getsource(deeds_module))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "KeyOffer"]
    twice = [node for node in calls if any(one.arg == "is_twice" for one in node.keywords)]
    words = {ast.literal_eval(node.args[1]) for node in twice}
    assert words == {word for _, word in twice_asked.offered_twice()} >= {"reopen", "resume"}
    assert len(twice) == len(twice_asked.offered_twice()) == len(twice_asked.PLACES)
    table = twice_asked.asking()
    assert ("/t/lantern/task/11", "Reopen the task", "reopen") in table
    assert ("/t/lantern", "Resume", "resume") in table


@pytest.mark.parametrize("id", HOSTILE)
def test_ids_are_words_and_never_options_or_commands(browser, crew, id):
    answer = browser.deed("crew", "member", id, "write", "hello")
    assert answer.status == 409
    assert not (crew.folder / "gone").exists()
