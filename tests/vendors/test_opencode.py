"""
OpenCode's own server, played by a real one on the loopback that keeps to what OpenCode's API is known to do.

What is known: `POST /session/{id}/prompt_async` answers 204 and begins a turn; older versions lack it (404) and have
`POST /session/{id}/message`; `GET /session/{id}/message[/{messageID}]` answers with what was said. Ids are `msg_` and
a time, and the loop of a turn compares them as texts: see `Session.take_turn`.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from atm.vendors.agent_servers import ACCEPTED, REFUSED, UNKNOWN, ServerAnswer
from atm.vendors.opencode.wake import OpenCodeServers

SECONDS = 0.5
"""For servers that never answer."""
ENOUGH = 3.0
"""For those that answer one question and then no more."""
PATIENT = 30.0
"""For those that answer, on a machine that has a lot to do."""
MOST_STEPS = 5


class Session:
    """One conversation: rows of {info: {id, role}, parts}."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._count = 0

    def new_id(self) -> str:
        """As OpenCode makes them: the time first, so that they sort."""
        self._count += 1
        number = (int(time.time() * 1000) * 0x1000 + self._count) % (1 << 48)
        return f"msg_{number:012x}{self._count:014d}"

    def say(self, role: str, parts: list[Any], id: str | None = None) -> dict[str, Any]:
        row = {"info": {"id": id or self.new_id(), "role": role}, "parts": parts}
        self.rows.append(row)
        return row

    def find(self, id: str) -> dict[str, Any] | None:
        return next((row for row in self.rows if row["info"]["id"] == id), None)

    @property
    def told(self) -> list[str]:
        return [row["parts"][0]["text"] for row in self.rows if row["info"]["role"] == "user"]

    def take_turn(self) -> None:
        """
        `SessionPrompt.loop`: over when the newest assistant's id sorts behind the newest user's (anomalyco/opencode
        #23490, #38791). An id that sorts too early is never answered, one that sorts too late again and again.
        """
        for _ in range(MOST_STEPS):
            newest = {
                role: max((row["info"]["id"] for row in self.rows if row["info"]["role"] == role), default="")
                for role in ("user", "assistant")
            }
            if newest["user"] < newest["assistant"]:
                return
            self.say("assistant", [{"type": "text", "text": "I see."}])


class Handler(BaseHTTPRequestHandler):
    """Routes of the API. What the server is told to do wrong is in `server.world`."""

    server: FakeServer

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        world = self.server.world
        world.asked.append(f"GET {self.path}")
        if self._misbehaves("GET"):
            return None
        _, _, name, what, *rest = [*self.path.split("?")[0].split("/"), "", ""]
        session = world.sessions.get(name)
        if session is None or what != "message":
            return self._answer(404, {"name": "NotFoundError"})
        if not rest or not rest[0]:
            return self._answer(200, session.rows)
        found = session.find(rest[0])
        return self._answer(200, found) if found else self._answer(404, {"name": "NotFoundError"})

    def do_POST(self) -> None:
        world = self.server.world
        world.asked.append(f"POST {self.path}")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._misbehaves("POST"):
            return None
        _, _, name, what = self.path.split("/")
        session = world.sessions.get(name)
        if session is None or (what == "prompt_async" and world.is_old):
            return self._answer(404, {"name": "NotFoundError"})
        id = body.get("messageID")
        if id is not None and not id.startswith("msg"):
            return self._answer(400, {"name": "BadRequest"})
        if id is None or session.find(id) is None:
            session.say("user", body["parts"], id)
        if world.hangs_after_taking:
            world.released.wait(60)
        if what == "prompt_async":
            session.take_turn()
            return self._answer(204)
        assert body["noReply"] is True, "waits for the model"
        return self._answer(200, session.rows[-1])

    def _misbehaves(self, verb: str) -> bool:
        world = self.server.world
        status, headers, body = world.instead.get(verb, (0, {}, b""))
        if not status:
            return False
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    def _answer(self, status: int, value: Any = None) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        try:
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            return  # the caller has given up


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True
    world: World

    def handle_error(self, *_: object) -> None:
        return


class World:
    """The server and what it does wrong."""

    def __init__(self) -> None:
        self.sessions = {"ses_1": Session()}
        self.asked: list[str] = []
        self.is_old = False
        self.hangs_after_taking = False
        self.released = threading.Event()
        self.instead: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.server = FakeServer(("127.0.0.1", 0), Handler)
        self.server.world = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=lambda: self.server.serve_forever(0.01), daemon=True)
        self._thread.start()

    @property
    def told(self) -> list[str]:
        return self.sessions["ses_1"].told

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


ID = "3f0c1f4e-7a52-4a63-9d2f-0c9be0a6b111"


def tell(world: World, text: str = "hello", *, id: str = ID, seconds: float = PATIENT) -> ServerAnswer:
    return OpenCodeServers(seconds).tell(world.url, "ses_1", id, framed(id, text))


def framed(id: str, text: str) -> str:
    return f'<teammate-message teammate_id="bob" id="{id}">\n{text}\n</teammate-message>'


def test_a_text_is_put_into_the_session(world):
    answer = tell(world, "hello")
    assert answer.outcome == ACCEPTED
    assert "204" in answer.evidence
    assert [text.split("\n")[1] for text in world.told] == ["hello"]


def test_an_older_version_takes_it_without_a_reply(world):
    world.is_old = True
    answer = tell(world, "hello")
    assert answer.outcome == ACCEPTED
    assert len(world.told) == 1
    assert [asked for asked in world.asked if asked.startswith("POST")] == [
        "POST /session/ses_1/prompt_async",
        "POST /session/ses_1/message",
    ]


@pytest.mark.parametrize("text", ["ünï → 🙂", "\ud800 half", "a\nb\x00c\x1b", '"quoted" \\', "x" * 200_000])
def test_any_text_arrives_as_it_is(world, text):
    assert tell(world, text).outcome == ACCEPTED
    assert len(world.told) == 1


def test_the_same_offer_again_is_recognised(world):
    tell(world)
    again = tell(world)
    assert again.outcome == ACCEPTED
    assert "before" in again.evidence
    assert len(world.told) == 1


def test_another_text_is_another_offer(world):
    tell(world, "one", id="id-1")
    tell(world, "two", id="id-2")
    assert [text.split("\n")[1] for text in world.told] == ["one", "two"]


@pytest.mark.parametrize(
    ("first", "second"),
    [("1-2", "12"), ("a.b", "ab"), ("", "-"), ("…", "—"), ("A", "a"), ("x" * 300, "x" * 301)],
)
def test_ids_that_look_alike_are_two_offers(world, first, second):
    """Otherwise one message, made for it or not, keeps another from being told, and the ledger says it was."""
    assert tell(world, "one", id=first).outcome == ACCEPTED
    assert tell(world, "two", id=second).outcome == ACCEPTED
    assert [text.split("\n")[1] for text in world.told] == ["one", "two"]


@pytest.mark.parametrize("id", ["é", "日本", "../../..", "a b?c#d", "\r\nX: y", "%2f", "x" * 70_000, "\ud800"])
def test_any_id_can_be_offered(world, id):
    """An id that cannot be told would stand before all other mail for ever."""
    assert tell(world, "one", id=id).outcome == ACCEPTED
    assert tell(world, "one", id=id).outcome == ACCEPTED
    assert len(world.told) == 1


@pytest.mark.parametrize("session", ["a/b", "../x", "ses 1", "é", "\r\nX: y", "?", "#"])
def test_a_session_whose_name_is_a_path_leads_nowhere(world, session):
    answer = OpenCodeServers(PATIENT).tell(world.url, session, "m-1", "hello")
    assert answer.outcome == REFUSED
    assert world.told == []


@pytest.mark.parametrize("id", ["00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"])
def test_the_agent_answers_once_whatever_the_id(world, id):
    """An id of ours that OpenCode sorts among its own would be passed over, or answered without end."""
    session = world.sessions["ses_1"]
    session.say("user", [{"type": "text", "text": "before"}])
    session.take_turn()
    before = len(session.rows)
    assert tell(world, "hello", id=id).outcome == ACCEPTED
    assert [row["info"]["role"] for row in session.rows[before:]] == ["user", "assistant"]


# It says no.


@pytest.mark.parametrize("status", [400, 401, 403, 409, 422, 429, 500, 502, 503])
def test_a_refusal_is_a_refusal_with_its_reason(world, status):
    world.instead["POST"] = (status, {}, b"because of this")
    answer = tell(world)
    assert answer.outcome == REFUSED
    assert str(status) in answer.evidence
    assert "because of this" in answer.evidence
    assert world.told == []


def test_a_session_that_is_not_there_is_a_refusal(world):
    answer = OpenCodeServers(PATIENT).tell(world.url, "ses_gone", "m-1", "hello")
    assert answer.outcome == REFUSED
    assert "404" in answer.evidence


def test_after_a_refusal_the_same_text_can_be_offered_again(world):
    world.instead["POST"] = (503, {}, b"")
    assert tell(world).outcome == REFUSED
    world.instead.clear()
    assert tell(world).outcome == ACCEPTED
    assert len(world.told) == 1


def test_a_long_reason_is_cut(world):
    world.instead["POST"] = (500, {}, b"y" * 1_000_000)
    assert len(tell(world).evidence) < 1000


def test_nobody_there_is_a_refusal(world):
    url = world.url
    world.close()
    answer = OpenCodeServers(SECONDS).tell(url, "ses_1", "m-1", "hello")
    assert answer.outcome == REFUSED
    assert "does not answer" in answer.evidence


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(world, status):
    other = World()
    try:
        for verb in ("GET", "POST"):
            world.instead[verb] = (status, {"Location": f"{other.url}/session/ses_1/prompt_async"}, b"")
        assert tell(world).outcome == REFUSED
        assert other.asked == []
    finally:
        other.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "http://",
        "http://10.0.0.1:4096",
        "http://0.0.0.0:4096",
        "http://example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com",
        "http://localhost.example.com:1",
        "http://2130706433",
        "https://127.0.0.1:4096",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:port",
        "http://[::1",
        "//127.0.0.1:80",
        "javascript:alert(1)",
    ],
)
def test_only_servers_of_this_machine_are_told_anything(monkeypatch, url):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket, "create_connection", never)
    assert OpenCodeServers(SECONDS).tell(url, "ses_1", "m-1", "hello").outcome == REFUSED


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1"])
def test_the_loopback_by_any_of_its_names(world, host):
    url = world.url.replace("127.0.0.1", host)
    assert OpenCodeServers(PATIENT).tell(url, "ses_1", "m-1", framed("m-1", "hello")).outcome == ACCEPTED


def test_without_a_session_nothing_is_told(world):
    assert OpenCodeServers(SECONDS).tell(world.url, "", "m-1", "hello").outcome == REFUSED
    assert world.asked == []


# It does not say.


def test_a_server_that_takes_it_and_hangs_is_in_doubt_and_recognised_later(world, eventually):
    world.hangs_after_taking = True
    assert tell(world, seconds=ENOUGH).outcome == UNKNOWN
    eventually(lambda: world.told)
    world.hangs_after_taking = False
    assert tell(world).outcome == ACCEPTED
    assert len(world.told) == 1


def test_an_older_one_too(world, eventually):
    world.is_old = world.hangs_after_taking = True
    assert tell(world, seconds=ENOUGH).outcome == UNKNOWN
    eventually(lambda: world.told)
    world.hangs_after_taking = False
    assert tell(world).outcome == ACCEPTED
    assert len(world.told) == 1


PAGE = (200, {"Content-Type": "text/html"}, b"<!doctype html><title>OpenCode</title>")


@pytest.mark.parametrize(("verbs", "outcome"), [(("GET",), ACCEPTED), (("GET", "POST"), UNKNOWN), (("POST",), UNKNOWN)])
def test_a_page_for_every_address_is_no_proof_that_anything_was_taken(world, verbs, outcome):
    """OpenCode answers addresses that it does not know with its web application: 200 and a page (G1)."""
    for verb in verbs:
        world.instead[verb] = PAGE
    answer = tell(world)
    assert (answer.outcome, len(world.told)) == (outcome, int(outcome == ACCEPTED)), answer.evidence


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"info": {"id": "msg_another"}}', b"\xff\xff", b"[" * 9999]
)
def test_an_answer_about_something_else_is_no_proof_either(world, body):
    world.instead["GET"] = (200, {}, body)
    tell(world)
    assert len(world.told) == 1


class RawServer:
    """Accepts connections and does one thing with each."""

    def __init__(self, act: Callable[[socket.socket, threading.Event], None]) -> None:
        self._act = act
        self.over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        while not self.over.is_set():
            try:
                line, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._threads.append(threading.Thread(target=self._attend, args=(line,)))
            self._threads[-1].start()

    def _attend(self, line: socket.socket) -> None:
        with line:
            try:
                self._act(line, self.over)
            except OSError:
                return

    def close(self) -> None:
        self.over.set()
        for thread in list(self._threads):
            thread.join()
        self._listener.close()


@pytest.fixture
def raw() -> Iterator[Callable[..., RawServer]]:
    made: list[RawServer] = []

    def start(act: Callable[[socket.socket, threading.Event], None]) -> RawServer:
        made.append(RawServer(act))
        return made[-1]

    yield start
    for server in made:
        server.close()


def answering(data: bytes) -> Callable[[socket.socket, threading.Event], None]:
    def act(line: socket.socket, _: threading.Event) -> None:
        line.settimeout(5)
        line.recv(65_536)
        line.sendall(data)

    return act


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", REFUSED),
        (b"\r\n\r\n", REFUSED),
        (b"garbage\r\n\r\n", REFUSED),
        (b"HTTP/1.1 banana\r\n\r\n", REFUSED),
        (b"HTTP/1.1 99999999999999999999 OK\r\n\r\n", REFUSED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}", UNKNOWN),  # it says that it took it
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", UNKNOWN),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", REFUSED),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n", REFUSED),
        (b"HTTP/1.1 200 " + b"x" * 200_000, REFUSED),
        (b"SSH-2.0-OpenSSH_9.6\r\n", REFUSED),
        (b"\x16\x03\x01\x00\xa5" * 100, REFUSED),
        (b"\xff" * 70_000, REFUSED),
    ],
    ids=lambda given: repr(given[:24]),
)
def test_whatever_else_listens_there_took_nothing_and_raises_nothing(raw, data, outcome):
    answer = OpenCodeServers(SECONDS).tell(raw(answering(data)).url, "ses_1", "m-1", "hello")
    assert answer.outcome == outcome, answer.evidence
    assert answer.evidence


def test_a_server_that_never_answers_is_waited_for_no_longer_than_said(raw):
    def hang(_: socket.socket, over: threading.Event) -> None:
        over.wait(30)

    assert OpenCodeServers(SECONDS).tell(raw(hang).url, "ses_1", "m-1", "hello").outcome == REFUSED


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_server_that_answers_a_letter_at_a_time_is_not_waited_for_either(raw, eventually, version):
    """Each letter comes in time; all of them together would take days (G12)."""

    def drip(line: socket.socket, over: threading.Event) -> None:
        line.sendall(f"HTTP/{version} 200 OK\r\nContent-Length: 60000\r\n\r\n".encode())
        while not over.wait(0.05):
            line.sendall(b"x")

    server = raw(drip)
    answers: list[ServerAnswer] = []
    thread = threading.Thread(
        target=lambda: answers.append(OpenCodeServers(SECONDS).tell(server.url, "ses_1", "m-1", "hello"))
    )
    thread.start()
    try:
        eventually(lambda: answers, 60)
    finally:
        server.over.set()
        thread.join(20)
    assert answers[0].outcome == REFUSED
