"""Parts of the protocol that few clients use: levels of logging, completion, and streams that are taken up again."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp_types import JSONRPCNotification, ResourceTemplateReference
from tests.mcp.conftest import INITIALIZE, claim, run
from tests.mcp.crew import Crew
from tests.mcp.served import ACCEPT, Served

from atm.ui.mcp.http import events
from atm.ui.mcp.http.events import SESSION, KeptEvents, SessionMark
from atm.ui.mcp.resources import complete
from atm.ui.mcp.serving.feed import Feed
from atm.ui.mcp.serving.reception import Reception
from mcp import Client as Official

# Logging.


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated", "ignore:logging/setLevel")
def test_a_client_hears_what_the_server_logs_from_the_level_on_that_it_asks_for(room, layout, world):
    heard: list[tuple[str, str]] = []

    async def hear(params: Any) -> None:
        heard.append((params.level, params.data))

    async def talk() -> None:
        reception = Reception(layout, lambda *_, **__: None, has_daemon=True, offer=world.offer())
        client = await reception.admit(claim())
        server = reception.server(lambda _: client)
        async with Official(server, mode="legacy", logging_callback=hear) as official:
            assert official.server_capabilities.logging is not None
            await official.call_tool("burst", {})
            assert heard == [], "nothing before it asks"
            await official.set_logging_level("error")
            await official.call_tool("refuse", {})
            await official.call_tool("burst", {})
            assert heard == [("error", "burst: unexpected ZeroDivisionError")], "and no secret detail"
            await official.set_logging_level("debug")
            await official.call_tool("echo", {"text": "x"})
            await official.call_tool("refuse", {})
            assert heard[1:] == [("debug", "echo: done"), ("info", "refuse: no-such-message")]

    run(talk())


def test_levels_are_in_order():
    async def send(_: str) -> None:
        return

    feed = Feed(send)
    assert not feed.wants("emergency")
    feed.level = "warning"
    assert [level for level in ("debug", "info", "warning", "error", "emergency") if feed.wants(level)] == [
        *("warning", "error", "emergency")
    ]


# Completion.


@pytest.mark.parametrize(
    ("who", "uri", "word", "begun", "values"),
    [
        ("ann", "atm://{team}/inbox/{member}", "member", "", ["ann"]),
        ("ann", "atm://{team}/inbox/{member}", "member", "b", []),
        ("lena", "atm://{team}/inbox/{member}", "member", "", ["lena", "ann", "bob", "hugo"]),
        ("lena", "atm://{team}/agenda/{member}", "member", "B", ["bob"]),
        ("ann", "atm://{team}/board", "team", "c", ["crew"]),
        ("", "atm://{team}/board", "team", "", ["crew"]),
        ("", "atm://{team}/inbox/{member}", "member", "", []),
        ("lena", "atm://{team}/board", "member", "", []),
        ("lena", "file:///{member}", "member", "", []),
    ],
)
def test_completion_offers_what_the_caller_may_read(layout, who, uri, word, begun, values):
    assert complete(Crew(layout).caller(who), uri, word, begun) == values


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_the_official_client_completes(room, layout, era):
    async def talk() -> Any:
        reception = Reception(layout, lambda *_, **__: None, has_daemon=True)
        client = await reception.admit(claim())
        async with Official(reception.server(lambda _: client), mode=era) as official:
            ref = ResourceTemplateReference(uri="atm://{team}/inbox/{member}")
            return (await official.complete(ref, {"name": "member", "value": "a"})).completion

    found = run(talk())
    assert (found.values, found.total, found.has_more) == (["ann"], 1, False)


# Streams.


class Talk:
    """HTTP by hand, as one bearer in one session."""

    def __init__(self, served: Served, token: str) -> None:
        self._port = served.port
        self._headers = {"content-type": "application/json", "accept": ACCEPT, "authorization": f"Bearer {token}"}
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
        self._headers |= {"mcp-session-id": str(answer[0]), "mcp-protocol-version": "2025-11-25"}
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, body: Any) -> tuple[str | None, list[dict[str, str]]]:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        line.request("POST", "/mcp", json.dumps(body), self._headers)
        answer = line.getresponse()
        found = _events(answer.read().decode())
        line.close()
        return answer.headers.get("mcp-session-id"), found

    def again(self, last: str, until: Callable[[dict[str, str]], bool]) -> list[dict[str, str]]:
        """What comes after an event, up to one that will do, or to the end."""
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        line.request("GET", "/mcp", headers={**self._headers, "last-event-id": last})
        answer = line.getresponse()
        said = b""
        while (part := answer.readline()) and not any(map(until, _events(said.decode()))):
            said += part
        line.close()
        return _events(said.decode())


def _events(said: str) -> list[dict[str, str]]:
    parts = [part for part in said.replace("\r\n", "\n").split("\n\n") if part.strip()]
    lines = [[line.partition(": ") for line in part.split("\n") if line] for part in parts]
    return [{key: value for key, _, value in event} for event in lines]


CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "task_briefing", "arguments": {}}}


def test_a_stream_is_primed_and_can_be_taken_up_again_by_its_own_session_alone(served):
    ann = Talk(served, token := served.token("--as", "ann"))
    _, (first, answer) = ann.post(CALL)
    assert (first["retry"], first.get("data", first.get("data:", ""))) == ("1000", "")
    assert len(first["id"]) == 32
    assert '"member\\": \\"ann\\"' in answer["data"]

    def is_answer(event: dict[str, str]) -> bool:
        return '"result"' in event.get("data", "")

    [told] = ann.again(first["id"], is_answer)
    assert told == answer
    for other in (Talk(served, token), Talk(served, served.token("--as", "bob"))):
        other.post(CALL)
        assert other.again(first["id"], is_answer) == []


def test_an_id_of_nobody_s_gives_nothing(served):
    ann = Talk(served, served.token("--as", "ann"))
    assert ann.again("0" * 32, lambda _: True) == []


def test_what_is_kept_of_streams_has_a_bound_and_streams_of_one_name_stay_apart(monkeypatch):
    monkeypatch.setattr(events, "MOST_BYTES", 2000)

    async def talk() -> None:
        kept, marks = KeptEvents(), [SessionMark(), SessionMark()]
        ids = []
        for mark in marks:
            SESSION.set(mark)
            ids.append(await kept.store_event("1", None))
        for number in range(3):
            for mark in marks:
                SESSION.set(mark)
                said = JSONRPCNotification(jsonrpc="2.0", method=f"{marks.index(mark)}-{number}")
                await kept.store_event("1", said)
        heard: list[str] = []

        async def hear(event: Any) -> None:
            heard.append(event.message.method)

        SESSION.set(marks[0])
        assert await kept.replay_events_after(ids[0], hear) == "1"
        assert heard == ["0-0", "0-1", "0-2"]
        assert await kept.replay_events_after(ids[1], hear) is None, "another's"
        for number in range(100):
            await kept.store_event("2", JSONRPCNotification(jsonrpc="2.0", method=f"x{number}"))
        assert await kept.replay_events_after(ids[0], hear) is None
        assert len(kept._events) < 40

    run(talk())
