"""What is told to a browser besides the news: whether it may keep an answer, that a team is gone, and the time."""

from __future__ import annotations

import http.client
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm
from tests.web.served import SECONDS, Browser, EventLines, PageServer

from atm.ui.web import sending
from atm.ui.web.files import page_files

MOST_EVENTS = 1000
"""With a beat every 50 ms that is a minute, and more on a busy machine."""

# How long an answer may be kept.


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login",
        "/t/crew/approvals",
        "/static/no",
        "/api/hello",
        "/api/teams",
        "/api/teams/crew",
        "/api/teams/crew/read/threads",
        "/api/teams/crew/offers?kind=task&id=3",
        "/api/teams/crew/replay",
        "/api/openapi.json",
        "/api/no",
    ],
)
def test_no_answer_about_a_team_and_no_refusal_is_kept_by_a_browser(server: PageServer, path: str):
    for visitor in (server.browser(), Browser(server.port)):
        assert visitor.get(path).headers.get_all("cache-control") == ["no-store"]


def test_no_answer_to_a_call_that_changes_something_is_kept(browser: Browser):
    for answer in (
        browser.deed("crew", "member", "kite", "write", "hello"),
        browser.deed("crew", "task", "99", "write", "hello"),
        browser.post("/api/no", {}),
        browser.call("POST", "/api/logout", {}, **{"X-Atm": "-"}),
        browser.post("/api/logout", {}),
        browser.login("no key"),
    ):
        assert answer.headers.get_all("cache-control") == ["no-store"]


def test_no_event_is_kept(browser: Browser):
    line = http.client.HTTPConnection("127.0.0.1", browser.port, timeout=SECONDS)
    try:
        line.request("GET", "/api/teams/crew/events", headers={"Cookie": browser.cookie})
        assert line.getresponse().headers.get_all("cache-control") == ["no-store"]
    finally:
        line.close()


def test_a_file_of_the_page_is_sent_once_and_then_only_when_it_is_another(browser: Browser):
    for path, file in page_files().items():
        first = browser.get(f"/static/{path}")
        assert (first.status, first.body) == (200, file.data)
        assert first.headers["cache-control"] == "no-cache", "it is asked for each time: a new atm has new files"
        tag = first.headers["etag"]
        again = browser.get(f"/static/{path}", **{"If-None-Match": tag})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        other = browser.get(f"/static/{path}", **{"If-None-Match": f'"{tag[-2:0:-1]}x"'})
        assert (other.status, other.body) == (200, file.data)


# A team that is gone.


def until(events: EventLines, kind: str) -> list[tuple[str, str, Any]]:
    """What comes up to the first of one kind, with it."""
    found = []
    for event in islice(events, MOST_EVENTS):
        found.append(event)
        if event[0] == kind:
            return found
    raise AssertionError(f"no {kind} came")


def test_that_a_team_is_gone_is_told_once_with_the_reason_and_is_no_version(browser: Browser, crew: Atm, monkeypatch):
    monkeypatch.setattr(sending, "BEAT_SECONDS", 0.05)
    with browser.listen("crew") as events:
        version = events.next("snapshot")[0]
        crew("teams", "delete", "crew", "--yes", "--force")
        *_, (_, id, said) = until(events, "gone")
        assert id == "", "a browser that comes again names the version that it has, and not a team that is none"
        assert isinstance(said, dict)
        assert [*said] == ["error"]
        assert "no team 'crew'" in said["error"]
        beats = [kind for kind, _, _ in (next(iter(events)) for _ in range(5))]
        assert beats == ["beat"] * 5
        crew("teams", "create", "crew")
        *_, (_, id, _) = until(events, "snapshot")
        assert id.rpartition("-")[0] == version.rpartition("-")[0]
        assert int(id.rpartition("-")[2]) > int(version.rpartition("-")[2])


def test_who_comes_to_a_team_that_cannot_be_read_is_told_why_and_sees_it_as_soon_as_it_can(
    browser: Browser, layout, monkeypatch
):
    monkeypatch.setattr(sending, "BEAT_SECONDS", 0.05)
    config = Path(layout.team_config("crew"))
    kept = config.read_bytes()
    config.write_bytes(b"{")
    with browser.listen("crew") as events:
        kind, id, said = next(iter(events))
        assert (kind, id) == ("gone", "")
        assert "config.json" in said["error"]
        for _ in range(3):
            assert browser.get("/api/teams/crew").status == 409  # it is looked at again, and the reason is the same
        assert [next(iter(events))[0] for _ in range(5)] == ["beat"] * 5
        config.write_bytes(kept)
        *_, (_, _, whole) = until(events, "snapshot")
        assert whole["snapshot"]["team"] == "crew"


def test_who_comes_back_to_a_team_that_is_gone_does_not_go_on_as_if_nothing_had_happened(browser: Browser, crew: Atm):
    with browser.listen("crew") as witness:
        version = witness.next("snapshot")[0]
        crew("teams", "delete", "crew", "--yes", "--force")
        witness.next("gone")
        crew("teams", "create", "crew")
        witness.next("snapshot")
        with browser.listen("crew", after=version) as events:
            assert next(iter(events))[0] == "snapshot"


# What time it is.


def test_after_a_whole_the_time_is_told_before_anything_else(browser: Browser, crew: Atm):
    """A whole is kept as long as nothing changes: its own time may be of hours ago."""
    with browser.listen("crew") as first:
        *_, (_, _, whole) = until(first, "snapshot")
        crew("tasks", "add", "one more")
        first.next("change")
        with browser.listen("crew") as second:
            kinds = [next(iter(second))]
            crew("tasks", "add", "and one")
            kinds += [next(iter(second)) for _ in range(2)]
    assert [kind for kind, _, _ in kinds] == ["snapshot", "beat", "change"]
    assert kinds[1][1] == "", "a beat is no version"
    assert kinds[1][2]["now"] >= kinds[0][2]["now"] >= whole["now"]


def test_who_goes_on_where_it_stopped_is_told_no_time_but_the_changes(browser: Browser, crew: Atm):
    with browser.listen("crew") as witness:
        version = witness.next("snapshot")[0]
        crew("tasks", "add", "one more")
        witness.next("change")
        with browser.listen("crew", after=version) as events:
            assert next(iter(events))[0] == "change"
