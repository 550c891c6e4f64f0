"""A run that was killed, on the page: its first row, told to a page that is open, and the button that resumes it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.crew.conftest import NOTHING, Crew, crew
from tests.crew.test_runs import PLAN, Slow, plan
from tests.web.served import Browser, PageServer

__all__ = ["crew", "plan"]


@pytest.fixture
def slow(crew: Crew, plan) -> Iterator[Slow]:
    made = Slow(crew, plan, PLAN)
    yield made
    made.go.write_text("")
    made.process.kill()
    made.process.communicate(timeout=60)


@pytest.fixture
def server(crew: Crew) -> Iterator[PageServer]:
    made = PageServer({**crew.atm.environment}, str(crew.folder))
    yield made
    made.stop()


@pytest.fixture
def browser(server: PageServer) -> Browser:
    return server.browser()


def kill(slow: Slow) -> None:
    """Its lock goes with it, so it has to be gone before anything is asked."""
    slow.process.kill()
    slow.process.wait(timeout=60)


def first_row(whole: dict[str, Any]) -> dict[str, Any]:
    return dict(whole["rows"][0])


def test_a_killed_run_is_the_first_row_with_a_button_that_resumes_it(crew: Crew, slow: Slow, browser: Browser) -> None:
    assert browser.get("/api/teams/crew").json["snapshot"]["runs"][0]["state"] == "running"
    kill(slow)
    whole = browser.get("/api/teams/crew").json
    (found,) = whole["snapshot"]["runs"]
    assert (found["state"], found["resumable"]) == ("died", True)
    row = first_row(whole)
    assert (row["group"], row["word"], row["target"]) == ("Needs you", "run died", ["run", found["run"]])
    assert found["resume"] in row["next"]
    assert whole["counts"]["needs"] >= 1
    assert browser.get("/api/teams").json["teams"][0]["needs"] >= 1
    (offer,) = row["offers"]
    assert (offer["word"], offer["twice"]) == ("resume", True)
    done = browser.deed("crew", "run", found["run"], "resume")
    assert done.status == 200, done.body
    assert done.json["command"] == f"atm run --resume {found['run']} --detach --team crew"
    whole = browser.get("/api/teams/crew").json
    assert whole["snapshot"]["runs"][0]["state"] == "running"
    assert [row for row in whole["rows"] if row["word"] == "run died"] == []
    again = browser.deed("crew", "run", found["run"], "resume")
    assert again.status == 409
    slow.go.write_text("")
    crew.eventually(lambda: browser.get("/api/teams/crew").json["snapshot"]["runs"] == [])
    report = crew("runs", "show", "--team", "crew", "--json").json
    assert report["outcome"] == "success"
    crew.eventually(lambda: crew.left() == NOTHING)


def test_an_open_page_is_told_though_no_file_changed(crew: Crew, slow: Slow, browser: Browser) -> None:
    with browser.listen("crew") as events:
        events.next("snapshot")
        kill(slow)
        states = (said["snapshot"].get("runs") for kind, _, said in events if kind in ("change", "snapshot"))
        assert next(runs for runs in states if runs and runs[0]["state"] == "died")


def test_who_only_looks_resumes_nothing(crew: Crew, slow: Slow, server: PageServer) -> None:
    kill(slow)
    looker = server.browser("observer")
    (found,) = looker.get("/api/teams/crew").json["snapshot"]["runs"]
    assert looker.deed("crew", "run", found["run"], "resume").status == 403
    assert looker.get("/api/teams/crew").json["snapshot"]["runs"][0]["state"] == "died"


def test_the_page_of_the_run_says_died_and_shows_no_report_of_before(crew: Crew, slow: Slow, browser: Browser) -> None:
    kill(slow)
    said = browser.get("/api/teams/crew/read/run?id=").json
    (found,) = browser.get("/api/teams/crew").json["snapshot"]["runs"]
    value = browser.get(f"/api/teams/crew/read/run?id={found['run']}").json["value"]
    assert (value["state"], value["report"], value["resume"]) == ("died", None, found["resume"])
    assert said["error"]
    assert browser.get("/api/teams/crew/read/runs").json["value"]["runs"][0]["state"] == "died"


def test_an_open_page_is_told_of_a_suspended_run_and_its_first_row_names_what_continues_it(
    crew: Crew, slow: Slow, browser: Browser
) -> None:
    with browser.listen("crew") as events:
        events.next("snapshot")
        slow.process.send_signal(signal.SIGSTOP)
        states = (said["snapshot"].get("runs") for kind, _, said in events if kind in ("change", "snapshot"))
        assert next(runs for runs in states if runs and runs[0]["state"] == "suspended")
    row = first_row(browser.get("/api/teams/crew").json)
    assert (row["group"], row["word"]) == ("Needs you", "run suspended")
    assert row["next"] == f"continue it: kill -CONT {slow.process.pid} (or `fg` in its terminal)"
    assert row["offers"] == []
    slow.process.send_signal(signal.SIGCONT)
    crew.eventually(lambda: browser.get("/api/teams/crew").json["snapshot"]["runs"][0]["state"] == "running")
