"""
The server: a model on loopback that speaks the vendors' protocols and thinks nothing.

    with ScriptedModel() as model:
        model.story("bob").first().says("hello")
        ...  # a program whose base URL is model.address("bob")

Agents are told apart by the path: every program can be given a base URL with one. Nothing is ever sent anywhere else.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from atm.testing.model.answers import ModelAnswer, bland
from atm.testing.model.anthropic import DIALECT as ANTHROPIC
from atm.testing.model.dialect import Body, Dialect, Json
from atm.testing.model.gemini import DIALECT as GEMINI
from atm.testing.model.openai_chat import DIALECT as OPENAI_CHAT
from atm.testing.model.openai_responses import DIALECT as OPENAI_RESPONSES
from atm.testing.model.requests import ModelRequest
from atm.testing.model.story import Story

DIALECTS = (ANTHROPIC, OPENAI_RESPONSES, OPENAI_CHAT, GEMINI)
PREFIX = "/agent/"
NOBODY = ""
LONGEST_BODY = 64 << 20
LONGEST_WAIT = 120.0
"""Seconds that an answer is held back for an event that does not come."""


class ScriptedModel:
    """Stories, a log of what was asked, and the server between them."""

    def __init__(self, *stories: Story, evidence: Path | None = None) -> None:
        self._stories = {story.agent: story for story in stories}
        self._requests: list[ModelRequest] = []
        self._evidence = evidence
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self.strays: list[str] = []
        """What was asked that no model answers. Programs that look for updates or send telemetry show here."""
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="scripted-model")

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def address(self, agent: str) -> str:
        """The base URL of this agent's model. Most programs add `/v1` or the like themselves; Codex does not."""
        return f"http://127.0.0.1:{self.port}{PREFIX}{agent}"

    def story(self, agent: str) -> Story:
        """A new story for this agent, instead of the one that it had."""
        story = Story(agent)
        with self._changed:
            self._stories[agent] = story
        return story

    @property
    def requests(self) -> list[ModelRequest]:
        with self._changed:
            return list(self._requests)

    def wait_until(self, holds: Callable[[], bool], within: float) -> bool:
        """Wait until this holds; it is looked at whenever something was asked."""
        with self._changed:
            return self._changed.wait_for(holds, within)

    # For the server.

    def take(self, dialect: Dialect, agent: str, path: str, body: Body) -> tuple[ModelRequest, ModelAnswer]:
        """Log a request, and say what it shall be answered."""
        said = dialect.read(path, body)
        with self._changed:
            number = len(self._requests) + 1
            request = ModelRequest(number, agent, dialect.name, path, said, body, time.monotonic(), time.time())
            story = self._stories.get(agent)
            answer = story.take(request) if story else bland(said.schema)
            self._requests.append(request)
            self._write_down(request, answer)
            self._changed.notify_all()
        return request, answer

    def hold(self, answer: ModelAnswer) -> None:
        """Think for as long as the story says."""
        if answer.seconds:
            self._closing.wait(answer.seconds)
        end = time.monotonic() + LONGEST_WAIT
        while answer.awaited and not self._closing.is_set() and time.monotonic() < end:
            if answer.awaited.wait(0.05):
                return

    def notice_stray(self, what: str) -> None:
        with self._changed:
            self.strays.append(what)

    def _write_down(self, request: ModelRequest, answer: ModelAnswer) -> None:
        if self._evidence is None:
            return
        facts = {**request.facts, "answer": answer.in_words}
        with self._evidence.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts, ensure_ascii=False) + "\n")


class _Server(ThreadingHTTPServer):
    """Its threads are waited for: a test leaves nothing behind."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], model: ScriptedModel) -> None:
        self.model = model
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that programs keep for later."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it has gone by itself

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A program that was killed in the middle of an answer is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 300

    def log_message(self, format: str, *args: object) -> None:
        """The log is the model's."""

    def do_GET(self) -> None:
        _, path = _whose(self.path)
        if path.endswith("/models") or path == "/":
            listed = {"id": "scripted", "object": "model", "type": "model", "display_name": "scripted"}
            self._send({"object": "list", "data": [listed], "models": []})
        else:
            self._send_stray()

    do_HEAD = do_GET

    def do_POST(self) -> None:
        agent, path = _whose(self.path)
        body = _object(self._body())
        for dialect in DIALECTS:
            if path.endswith(dialect.counting):
                return self._send(dialect.counted())
            if path.endswith(dialect.endings):
                return self._answer(dialect, agent, path, body)
        return self._send_stray()

    def _answer(self, dialect: Dialect, agent: str, path: str, body: Body) -> None:
        try:
            request, answer = self.server.model.take(dialect, agent, path, body)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            self.server.model.notice_stray(f"{path}: not understood: {error!r}")
            return self._send({"error": {"message": f"not understood: {error!r}"}}, 400)
        self.server.model.hold(answer)
        fault = answer.fault
        if fault is not None and not fault.cuts_the_stream:
            after = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
            return self._send(dialect.refusal(fault), fault.status, after)
        if request.said.streams:
            return self._stream(dialect.events(body, answer), is_cut=fault is not None)
        return self._send(dialect.whole(body, answer), is_cut=fault is not None)

    def _stream(self, events: list[str], *, is_cut: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for text in events[: max(1, len(events) // 2)] if is_cut else events:
            data = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if is_cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, body: Json, status: int = 200, more: dict[str, str] | None = None, *, is_cut: bool = False) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.close_connection = self.close_connection or is_cut
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if is_cut else data)

    def _send_stray(self) -> None:
        self.server.model.notice_stray(f"{self.command} {self.path}")
        self._send({"error": {"type": "not_found_error", "message": "no model answers here"}}, 404)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b"".join(iter(self._chunk, b""))
        else:
            data = self.rfile.read(min(int(self.headers.get("content-length") or 0), LONGEST_BODY))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline(64).split(b";")[0].strip() or b"0", 16)
        data = self.rfile.read(size)
        self.rfile.readline(64)
        return data


def _whose(path: str) -> tuple[str, str]:
    """The agent in a path, and the path without it and without the query."""
    plain = urlsplit(path).path
    if not plain.startswith(PREFIX):
        return NOBODY, plain
    agent, _, rest = plain.removeprefix(PREFIX).partition("/")
    return unquote(agent), "/" + rest


def _object(data: bytes) -> Json:
    try:
        body = json.loads(data)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
