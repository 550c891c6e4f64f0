"""The team as it changes: nothing is lost and nothing comes twice, whoever is cut off, slow, or many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.web.served import Onlooker

from atm.ui.web import sending, streams
from atm.ui.web.sending import PageEvents
from atm.ui.web.streams import MOST_WAITING, Frame, StreamListener


def subjects(whole: dict[str, Any]) -> list[str]:
    return [task["subject"] for task in whole["snapshot"]["tasks"]]


def has(title: str) -> Callable[[dict[str, Any]], bool]:
    return lambda whole: title in subjects(whole)


def test_the_whole_comes_first_and_then_what_changes(browser, crew):
    seen = Onlooker()
    with browser.listen("crew") as events:
        id, said = events.next("snapshot")
        seen.take("snapshot", said)
        assert id == said["version"]
        crew("tasks", "add", "one more")
        seen.follow(events, lambda whole: "one more" in subjects(whole))
        crew("tasks", "complete", "1", "--as", "bob")
        seen.follow(events, lambda whole: whole["snapshot"]["tasks"][0]["shown"]["state"] == "completed")
    assert seen.wholes == 1
    assert seen.whole["snapshot"]["tasks"] == browser.get("/api/teams/crew").json["snapshot"]["tasks"]


def test_whoever_was_cut_off_goes_on_where_it_stopped(browser, crew):
    seen, other = Onlooker(), Onlooker()
    with browser.listen("crew") as witness:
        with browser.listen("crew") as events:
            seen.take("snapshot", events.next("snapshot")[1])
        for title in ("four", "five", "six"):
            crew("tasks", "add", title)
            other.follow(witness, has(title))
        with browser.listen("crew", after=seen.whole["version"]) as events:
            seen.follow(events, lambda whole: "six" in subjects(whole))
    assert seen.wholes == 1
    assert seen.applied == other.applied
    assert seen.whole["snapshot"]["tasks"] == other.whole["snapshot"]["tasks"]


@pytest.mark.parametrize("after", ["other-3", "nonsense", "-1", "{run}-99999", "{run}-0", "{run}-é"])
def test_whoever_names_a_version_that_is_not_known_gets_the_whole(browser, after):
    with browser.listen("crew") as events:
        version = events.next("snapshot")[0]
    run = version.rpartition("-")[0]
    with browser.listen("crew", after=after.format(run=run)) as events:
        assert events.next("snapshot")[1]["snapshot"]["team"] == "crew"


def test_whoever_was_away_longer_than_changes_are_kept_gets_the_whole(browser, crew, monkeypatch):
    monkeypatch.setattr(streams, "MOST_KEPT", 2)
    seen, other = Onlooker(), Onlooker()
    with browser.listen("crew") as witness:
        with browser.listen("crew") as events:
            seen.take("snapshot", events.next("snapshot")[1])
        for number in range(4):
            crew("tasks", "add", f"more {number}")
            other.follow(witness, has(f"more {number}"))
        with browser.listen("crew", after=seen.whole["version"]) as events:
            seen.take("snapshot", events.next("snapshot")[1])
    assert "more 3" in subjects(seen.whole)


def test_ten_tabs_see_the_same(browser, crew):
    tabs = [(browser.listen("crew"), Onlooker()) for _ in range(10)]
    try:
        for events, seen in tabs:
            seen.take("snapshot", events.next("snapshot")[1])
        crew("tasks", "add", "for all")
        for events, seen in tabs:
            seen.follow(events, lambda whole: "for all" in subjects(whole))
    finally:
        for events, _ in tabs:
            events.close()
    assert len({json.dumps(seen.whole["snapshot"]["tasks"]) for _, seen in tabs}) == 1


def test_whoever_asks_is_told_what_was_done_before_the_question(browser, crew):
    with browser.listen("crew") as events:
        events.next("snapshot")
        for title in ("one", "two", "three", "four"):
            crew("tasks", "add", title)
            assert title in subjects(browser.get("/api/teams/crew").json)


def test_all_who_ask_before_a_look_begins_share_it_and_who_asks_later_has_another(layout):
    looks: list[dict[str, Any]] = []

    def look() -> dict[str, Any]:
        looks.append({"now": 0.0, "snapshot": {"number": len(looks)}, "rows": [], "cells": {}, "counts": {}})
        return looks[-1]

    async def ask() -> list[int]:
        stream = streams.TeamStream(layout, "crew", look, "run")
        said = [*await asyncio.gather(*(stream.whole() for _ in range(20))), await stream.whole()]
        return [json.loads(one)["snapshot"]["number"] for one in said]

    assert asyncio.run(ask()) == [0] * 20 + [1]


def test_a_stream_that_was_forgotten_and_made_anew_has_versions_of_its_own(browser, server):
    before = browser.get("/api/teams/crew").json["version"]
    server.app._streams.clear()
    assert browser.get("/api/teams/crew").json["version"] != before


def test_a_page_that_takes_nothing_is_let_go(layout, monkeypatch):
    monkeypatch.setattr(sending, "STALL_SECONDS", 0.05)
    whole: dict[str, Any] = {"now": 0.0, "snapshot": {}, "rows": [], "cells": {}, "counts": {}}

    async def never(_: object = None) -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await never()

    async def serve() -> bool:
        stream = streams.TeamStream(layout, "crew", lambda: whole, "run")
        open_now: set[PageEvents] = set()
        await asyncio.wait_for(PageEvents(stream, "", lambda: 0.0, open_now)({}, never, send), 60)
        return stream.is_idle and not open_now

    assert asyncio.run(serve())


def test_a_page_that_does_not_read_keeps_nobody_waiting(browser, crew):
    stalled, seen = browser.listen("crew", receive_buffer=4096), Onlooker()
    try:
        with browser.listen("crew") as events:
            for number in range(5):
                crew("tasks", "add", f"more {number}")
                seen.follow(events, has(f"more {number}"))
    finally:
        stalled.close()


def test_a_team_that_is_deleted_is_said_to_be_gone_and_seen_again_when_it_is_back(browser, crew):
    with browser.listen("crew") as events:
        events.next("snapshot")
        crew("teams", "delete", "crew", "--yes", "--force")
        assert "crew" in events.next("gone")[1]["error"]
        crew("teams", "create", "crew")
        assert events.next("snapshot")[1]["snapshot"]["tasks"] == []


def test_a_beat_comes_when_nothing_else_does(browser, monkeypatch):
    monkeypatch.setattr(sending, "BEAT_SECONDS", 0.05)
    with browser.listen("crew") as events:
        assert events.next("beat")[1]["now"] > 0


def test_more_pages_than_there_are_places_are_told_so(browser, monkeypatch):
    from atm.ui.web import app

    monkeypatch.setattr(app, "MOST_STREAMS", 1)
    with browser.listen("crew") as events:
        events.next("snapshot")
        assert browser.get("/api/teams/crew/events").status == 503


def test_nobody_looks_at_a_team_that_nobody_watches(browser, eventually):
    import threading

    def lookers() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("atm page")]

    with browser.listen("crew") as events:
        events.next("snapshot")
        assert lookers() == ["atm page crew"]
    eventually(lambda: lookers() == [])


def test_a_listener_that_is_too_slow_misses_nothing_but_wants_the_whole():
    slow = StreamListener()
    for number in range(MOST_WAITING + 5):
        slow.offer(Frame("change", number, "{}"))
    assert slow.wants_whole
    slow.begin()
    slow.offer(Frame("change", 99, "{}"))
    assert not slow.wants_whole
