"""A server on loopback that answers as OpenCode's does, and tells of what a test says."""

from __future__ import annotations

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.vendors.drivers.fake_agents import PATIENCE

SESSION = "ses_1"


class Asked(NamedTuple):
    """A request that the driver made."""

    verb: str
    path: str
    query: dict[str, list[str]]
    body: Any
    password: str


class FakeOpenCode:
    """Its answers are a table; what was asked is a queue, but for the stream of events."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {
            ("POST", "/session"): (200, {"id": SESSION}),
            ("GET", f"/session/{SESSION}"): (200, {"id": SESSION, "cost": 0.5, "tokens": {"input": 100, "output": 10}}),
            ("GET", "/session/status"): (200, {}),
            ("GET", "/permission"): (200, []),
            ("GET", f"/session/{SESSION}/message"): (200, [message("all done")]),
        }
        self.asked: queue.Queue[Asked] = queue.Queue()
        self.takes = threading.Event()
        """Clear, it answers nothing that is posted."""
        self.takes.set()
        self._events: queue.Queue[bytes | None] = queue.Queue()
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def tells(self, kind: str, **facts: Any) -> None:
        self.tells_bytes(b"data: " + json.dumps({"type": kind, "properties": facts}).encode() + b"\n\n")

    def tells_bytes(self, data: bytes) -> None:
        self._events.put(data)

    def cuts_the_stream(self) -> None:
        self._events.put(None)

    def is_busy(self, kind: str = "busy") -> None:
        self.answers["GET", "/session/status"] = (200, {SESSION: {"type": kind}})

    def is_idle(self) -> None:
        self.answers["GET", "/session/status"] = (200, {})

    def hears(self, verb: str = "POST") -> Asked:
        """The next request with this verb."""
        while True:
            asked = self.asked.get(timeout=PATIENCE)
            if asked.verb == verb:
                return asked

    def close(self) -> None:
        self._events.put(None)
        self._server.is_closing = True
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def stream(self) -> bytes | None:
        try:
            return self._events.get(timeout=0.05)
        except queue.Empty:
            return None if self._server.is_closing else b""


def message(text: str, **info: Any) -> dict[str, Any]:
    return {"info": {"role": "assistant", **info}, "parts": [{"type": "text", "text": text}]}


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, address: tuple[str, int], fake: FakeOpenCode) -> None:
        self.fake = fake
        self.is_closing = False
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A driver that hangs up in the middle is no error here."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(data) if data else None
        asked = Asked(self.command, parts.path, parse_qs(parts.query), body, self.headers.get("authorization", ""))
        self.server.fake.asked.put(asked)
        if parts.path == "/event":
            self._stream()
        else:
            if self.command == "POST":
                self.server.fake.takes.wait(PATIENCE)
            status, said = self.server.fake.answers.get((self.command, parts.path), (200, True))
            self._send(status, json.dumps(said).encode())

    do_POST = do_PATCH = do_GET

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self) -> None:
        self.send_response(200)
        self.end_headers()
        while (data := self.server.fake.stream()) is not None:
            self.wfile.write(data)
            self.wfile.flush()
