"""The webhook plugin against a real server on this machine: signed, repeated when it helps, never sent elsewhere."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.proving import proves

from atm.events.rules import TeamEvent
from atm.teamd.plugins.api import DROPPED, Unsuitable
from atm.teamd.plugins.bundled.webhook import LARGEST_BODY, TRIES, Webhook, judged, wants
from atm.teamd.plugins.kit import PluginHarness

SECRET = "s3cret-\u00e9"


@dataclass(frozen=True)
class Got:
    """One request that the server saw."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A server that answers by a script: what is left of it for each request, the last answer for ever."""

    def __init__(self) -> None:
        self.requests: list[Got] = []
        self.answers: list[tuple[int, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]] = [(204, {})]
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                owner.requests.append(Got(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                answer = owner.answers.pop(0) if len(owner.answers) > 1 else owner.answers[0]
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer[0])
                for key, value in answer[1].items():
                    self.send_header(key, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/hook?team=1"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def other() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def event(kind: str = "task.created", **detail: Any) -> TeamEvent:
    return TeamEvent(kind, "crew", "7", 1_788_000_000.5, detail)


def with_hook(play: Any, url: str, **more: Any) -> None:
    config = {"url": url, "secret": SECRET, "timeout": 60, "max_per_minute": 600_000, "first_pause": 1, **more}

    async def run() -> None:
        # The kit takes its own folder away with the plugin, but not that of one which never began.
        with tempfile.TemporaryDirectory() as folder:
            async with PluginHarness(Webhook(), config=config, temp_dir=folder) as kit:
                await play(kit)

    asyncio.run(run())


async def retried(kit: PluginHarness, done: Callable[[], object]) -> None:
    """Let the pauses between tries pass until something is so."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, kit.logs
        await kit.pass_time(5)
        await asyncio.sleep(0.005)


# What is sent.


@proves("R001-1-19", "R001-5.2-08")
def test_an_event_arrives_with_its_fields_and_a_signature_that_holds(server):
    async def play(kit: PluginHarness) -> None:
        kit.emit(event(subject="Fix \u00fc", owner="ann"))
        await kit.until(lambda: server.requests)

    with_hook(play, server.url)
    (got,) = server.requests
    assert got.path == "/hook?team=1"
    assert {key: got.json[key] for key in ("kind", "team", "subject", "at")} == {
        "kind": "task.created",
        "team": "crew",
        "subject": "7",
        "at": 1_788_000_000.5,
    }
    assert got.json["detail"] == {"subject": "Fix \u00fc", "owner": "ann"}
    assert got.headers["x-atm-event"] == "task.created"
    assert got.headers["x-atm-delivery"] == got.json["id"]
    assert got.headers["content-type"] == "application/json"
    signed = got.headers["x-atm-timestamp"].encode() + b"." + got.body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert got.headers["x-atm-signature"] == f"sha256={expected}"


def test_the_secret_may_come_from_the_environment_and_must_be_there(server, monkeypatch):
    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: server.requests)

    monkeypatch.setenv("HOOK_SECRET", "from outside")
    with_hook(play, server.url, secret_env="HOOK_SECRET")
    got = server.requests[0]
    signed = got.headers["x-atm-timestamp"].encode() + b"." + got.body
    assert got.headers["x-atm-signature"].endswith(hmac.new(b"from outside", signed, hashlib.sha256).hexdigest())
    monkeypatch.delenv("HOOK_SECRET")
    with pytest.raises(Unsuitable, match="HOOK_SECRET"):
        with_hook(play, server.url, secret_env="HOOK_SECRET")


def test_without_a_secret_nothing_is_signed_and_that_is_said(server):
    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: server.requests)
        assert "not signed" in kit.logs[0].text

    with_hook(play, server.url, secret="")
    assert "x-atm-signature" not in server.requests[0].headers


def test_texts_of_messages_never_leave_the_machine(server):
    async def play(kit: PluginHarness) -> None:
        kit.emit(event("message.written", text="the password is", body="too", summary="a summary"))
        await kit.until(lambda: server.requests)

    with_hook(play, server.url)
    assert server.requests[0].json["detail"] == {"summary": "a summary"}
    assert b"password" not in server.requests[0].body


def test_a_detail_that_is_too_large_is_left_out(server):
    async def play(kit: PluginHarness) -> None:
        kit.emit(event(huge="x" * LARGEST_BODY))
        await kit.until(lambda: server.requests)

    with_hook(play, server.url)
    assert server.requests[0].json["detail"] == {"too_large": True}


KINDS = [
    ((), "anything.at.all", True),
    (("task",), "task.created", True),
    (("task",), "task", True),
    (("task",), "tasks.created", False),
    (("task.created",), "task.created", True),
    (("task.created",), "task.changed", False),
    (("task", "member.silent"), "member.silent", True),
    (("task",), DROPPED, True),
]


@pytest.mark.parametrize(("kinds", "kind", "wanted"), KINDS)
def test_only_events_that_were_asked_for_are_sent(kinds, kind, wanted):
    assert wants(kinds, kind) is wanted


def test_events_arrive_in_order_and_those_not_asked_for_stay_here(server):
    async def play(kit: PluginHarness) -> None:
        for kind in ("task.created", "message.written", "member.silent", "task.gone"):
            kit.emit(event(kind))
        await retried(kit, lambda: len(server.requests) == 3)

    with_hook(play, server.url, events=["task", "member.silent"])
    assert [got.json["kind"] for got in server.requests] == ["task.created", "member.silent", "task.gone"]
    assert len({got.json["id"] for got in server.requests}) == 3


def test_no_more_is_sent_in_a_minute_than_allowed(server):
    async def play(kit: PluginHarness) -> None:
        for _ in range(5):
            kit.emit(event())
        await kit.until(lambda: server.requests)
        await kit.pausing()
        await kit.pass_time(29)
        assert kit.cancel.waiting
        assert len(server.requests) == 1
        await kit.pass_time(2)
        await kit.until(lambda: len(server.requests) == 2)

    with_hook(play, server.url, max_per_minute=2)


# When it does not arrive at once.


@pytest.mark.parametrize("status", [500, 503, 408, 429])
def test_a_server_in_trouble_is_tried_again_with_the_same_delivery(server, status):
    server.answers = [(status, {}), (status, {}), (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await retried(kit, lambda: len(server.requests) == 3)
        kit.emit(event("task.gone"))
        await retried(kit, lambda: len(server.requests) == 4)
        assert not [line for line in kit.logs if line.level == "error"]

    with_hook(play, server.url)
    ids = [got.headers["x-atm-delivery"] for got in server.requests]
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert server.requests[0].body == server.requests[2].body


@pytest.mark.parametrize("status", [400, 401, 404, 410, 413, 422])
def test_a_server_that_refuses_is_not_asked_again(server, status):
    server.answers = [(status, {}), (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event("task.created"))
        kit.emit(event("task.gone"))
        await retried(kit, lambda: len(server.requests) == 2)
        assert f"the server answers {status}" in kit.logs[-1].text

    with_hook(play, server.url)
    assert [got.json["kind"] for got in server.requests] == ["task.created", "task.gone"]


def test_after_the_last_try_it_is_given_up_and_the_next_event_goes_on(server):
    server.answers = [*[(500, {})] * TRIES, (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event("task.created"))
        kit.emit(event("task.gone"))
        await retried(kit, lambda: len(server.requests) == TRIES + 1)
        assert f"given up after {TRIES} tries" in kit.logs[-1].text

    with_hook(play, server.url)
    assert server.requests[-1].json["kind"] == "task.gone"


def test_a_server_that_is_not_there_is_tried_again(server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening, for the whole test: nobody else can have the port

        async def play(kit: PluginHarness) -> None:
            kit.emit(event())
            await retried(kit, lambda: any("given up" in line.text for line in kit.logs))
            assert "ConnectionRefusedError" in kit.logs[-1].text

        with_hook(play, f"http://127.0.0.1:{free.getsockname()[1]}/")


def test_the_servers_wish_to_wait_is_respected(server):
    server.answers = [(429, {"Retry-After": "40"}), (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: server.requests)
        await kit.pausing()
        await kit.pass_time(35)
        assert kit.cancel.waiting
        assert len(server.requests) == 1
        await kit.pass_time(10)
        await kit.until(lambda: len(server.requests) == 2)

    with_hook(play, server.url)


@pytest.mark.parametrize("wait", ["", "soon", "-5", "9" * 30, "1.5"])
def test_a_wish_to_wait_that_is_none_counts_for_nothing(wait):
    assert judged(503, {"retry-after": wait}).after == 0.0


def _sleeps(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(1.5)


def _dribbles(handler: BaseHTTPRequestHandler) -> None:
    """One byte at a time: each within the socket's own limit, all of them never."""
    try:
        for letter in b"HTTP/1.1 204 No Content\r\nX-Slow: " + b"x" * 1000:
            handler.wfile.write(bytes([letter]))
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


def _speaks_nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\xff\xfe\x00 this is no HTTP\r\n\r\n")


def _answers_without_end(handler: BaseHTTPRequestHandler) -> None:
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(1000):
            handler.wfile.write(b"y" * 65536)
    except OSError:
        return


@pytest.mark.parametrize("behaviour", [_sleeps, _dribbles, _speaks_nonsense])
def test_a_server_that_is_slow_or_speaks_nonsense_is_cut_off_and_tried_again(server, behaviour):
    server.answers = [behaviour, (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await retried(kit, lambda: len(server.requests) >= 2)

    with_hook(play, server.url, timeout=0.4)


def test_an_answer_without_end_is_not_read_to_its_end(server):
    server.answers = [_answers_without_end, (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event("task.created"))
        kit.emit(event("task.gone"))
        await retried(kit, lambda: len(server.requests) == 2)

    with_hook(play, server.url)
    assert server.requests[1].json["kind"] == "task.gone"


def test_it_ends_at_once_although_a_server_is_down(server):
    server.answers = [(500, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: server.requests)

    with_hook(play, server.url, first_pause=3600)


# Redirects.


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_is_refused(server, other, status):
    server.answers = [(status, {"Location": other.url}), (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: kit.logs)
        assert "redirects to another host" in kit.logs[-1].text

    with_hook(play, server.url)
    assert len(server.requests) == 1
    assert other.requests == []


@pytest.mark.parametrize(
    "place",
    [
        *("file:///etc/passwd", "ftp://127.0.0.1/", "//evil.example/", "https://127.0.0.1/", ""),
        *("http://[", "http://[::1", "http://127.0.0.1:port/", "http://127.0.0.1:99999/", "//[evil"),
    ],
)
def test_a_redirect_to_another_scheme_or_nowhere_sends_nothing_there(server, place):
    server.answers = [(302, {"Location": place})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: kit.logs)
        assert "redirects" in kit.logs[-1].text

    with_hook(play, server.url)


def test_a_redirect_on_the_same_host_is_followed_with_the_same_body(server):
    server.answers = [(307, {"Location": "/new/place"}), (204, {})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: len(server.requests) == 2)

    with_hook(play, server.url)
    assert server.requests[1].path == "/new/place"
    assert server.requests[1].body == server.requests[0].body
    assert "x-atm-signature" in server.requests[1].headers


def test_a_redirect_in_circles_is_given_up(server):
    server.answers = [(307, {"Location": "/round"})]

    async def play(kit: PluginHarness) -> None:
        kit.emit(event())
        await kit.until(lambda: kit.logs)
        assert "in circles" in kit.logs[-1].text

    with_hook(play, server.url)
    assert len(server.requests) <= 5


# Settings.


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"url": ""},
        {"url": 5},
        {"url": "ftp://example.org"},
        {"url": "file:///etc/passwd"},
        {"url": "example.org/hook"},
        {"url": "http://"},
        {"url": "http://user:password@example.org"},
        {"url": "http://example.org/\r\nX-Evil: 1"},
        {"url": "http://example.org/a b"},
        {"url": "http://\u00e9xample.org/"},
        {"url": "http://example.org/", "timeout": 0},
        {"url": "http://example.org/", "timeout": "10"},
        {"url": "http://example.org/", "max_per_minute": -1},
        {"url": "http://example.org/", "max_per_minute": True},
    ],
)
def test_settings_that_cannot_work_disable_it_with_a_reason(config, tmp_path):
    async def play() -> None:
        with pytest.raises(Unsuitable) as caught:
            await PluginHarness(Webhook(), config=config, temp_dir=str(tmp_path)).start()
        assert "plugins.webhook" in f"{caught.value} {caught.value.remedy}"

    asyncio.run(play())
