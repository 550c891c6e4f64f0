"""What the page reads of one thing is what the command prints; and the API says what it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from atm.ui.web.endpoints import ENDPOINTS, GET, openapi
from atm.ui.web.reading import READABLE

IDS = {
    "diagnose": "bob",
    "diff": "bob",
    "merge": "1",
    "output": "bob",
    "receipts": "nothing",
    "run": "nothing",
    "task": "1",
}
NOTHING_THERE = {"diff", "merge", "receipts", "run"}
"""Of these there is none in this team, which is said in words."""


def check(browser: Any, name: str, answer: Any) -> None:
    one = next(one for one in ENDPOINTS if one.name == name)
    jsonschema.validate(answer, {**one.answer, "components": openapi()["components"]})


@pytest.mark.parametrize("what", READABLE)
def test_everything_that_can_be_read_is_read_or_says_why_not(browser, what):
    answer = browser.get(f"/api/teams/crew/read/{what}?id={IDS.get(what, '')}")
    assert answer.status == (409 if what in NOTHING_THERE else 200), answer.body
    if what in NOTHING_THERE:
        assert answer.json["error"]
    else:
        check(browser, "read", answer.json)


def test_a_task_is_read_with_the_command_that_says_the_same(browser, crew):
    said = browser.get("/api/teams/crew/read/task?id=2").json
    assert said["command"] == "atm tasks show 2 --team crew"
    assert said["value"]["task"] == crew("tasks", "show", "2", "--json").json["task"]


def test_a_thread_has_its_messages_with_receipts_and_how_they_are_known(browser, crew):
    crew("read", "--as", "bob")
    found = browser.get("/api/teams/crew/read/threads").json["value"]
    thread = next(one for one in found if one["people"] == ["ann", "bob"])
    message = thread["messages"][0]
    assert message["text"] == "please look at the parser"
    assert message["stands"]["written"] == "yes"
    assert message["stands"]["read"] == "yes"
    assert message["stands"]["answered"] == "no"
    assert message["journeys"]["bob"]["read"]["evidence"]


def test_an_agent_that_atm_did_not_start_has_no_output_to_see(browser):
    said = browser.get("/api/teams/crew/read/output?id=bob").json["value"]
    assert said["lines"] == []
    assert "did not start bob" in said["why"]


@pytest.mark.parametrize(
    ("path", "status"),
    [("read/nothing", 404), ("read/task", 400), ("read/task?id=99", 409), ("read/task?id=--help", 409), ("no", 404)],
)
def test_what_cannot_be_read_says_what_can(browser, path, status):
    answer = browser.get(f"/api/teams/crew/{path}")
    assert answer.status == status
    assert answer.json["error"]


def test_all_teams_in_figures(browser):
    assert browser.get("/api/teams").json == {
        "teams": [
            {"name": "crew", "status": "active", "members": 3, "tasks": 3, "done": 0, "needs": 1, "problems": 0},
        ]
    }


@pytest.mark.parametrize("one", [one for one in ENDPOINTS if one.method == GET], ids=lambda one: one.name)
def test_every_answer_is_what_the_description_says(browser, one):
    path = one.path.replace("{team}", "crew").replace("{what}", "threads")
    if one.name == "events":
        with browser.listen("crew") as events:
            said = events.next("snapshot")[1]
        check(browser, "team", said)
        return
    answer = browser.get(f"{path}?moment=1&kind=task&id=1")
    assert answer.status == 200
    check(browser, one.name, answer.json)


def test_the_description_in_the_docs_is_the_one_that_is_served(browser):
    served = browser.get("/api/openapi.json").json
    kept = Path(__file__).parents[2] / "docs" / "reference" / "web-api.json"
    assert json.loads(kept.read_text()) == served, "run docs/generate_web_api.py"
