"""OpenCode's server on this machine, asked over HTTP: single questions, and the stream of what happens."""

from __future__ import annotations

import base64
import http.client
import socket
import threading
import urllib.parse

from atm.files.formats.json_record import NotJson, decode, encode, to_bytes
from atm.vendors.drivers.lines import CHUNK, LONGEST_LINE, LineCutter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain, Record

LOOPBACK = "127.0.0.1"
USER = "opencode"
SECONDS = 10.0
SILENCE = 120.0
"""Seconds without a word after which the stream counts as broken. The server sends a sign of life every few."""

LONGEST_ANSWER = 32 << 20
DATA = b"data:"


class OpenCodeLine:
    """One server, about one directory: everything is asked with it, for a server may have several."""

    def __init__(self, port: int, password: str, directory: str, longest: int = LONGEST_LINE) -> None:
        self._port = port
        self._query = urllib.parse.urlencode({"directory": directory})
        token = base64.b64encode(f"{USER}:{password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        self._longest = longest
        self._stream: socket.socket | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def ask(self, verb: str, path: str, body: Record | None = None) -> Plain:
        """What it answers. Raises OSError if it does not, or says no."""
        line = self._connect()
        try:
            answer = self._request(line, verb, path, body)
            said = answer.read(LONGEST_ANSWER).decode("utf-8", "replace")
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        finally:
            line.close()
        if not 200 <= answer.status < 300:
            raise OSError(f"{verb} {path}: {answer.status} {said[:200]}")
        try:
            return decode(said) if said.strip() else None
        except NotJson:
            raise OSError(f"{verb} {path}: the answer is not JSON") from None

    def follow(self, opened: Callable[[], None], take: Callable[[Record | None], None]) -> None:
        """
        Hear what happens until the stream breaks; None stands for something that was too long to be heard.

        Raises OSError if there was no stream. `opened` is called when nothing can be missed any more.
        """
        line = self._connect()
        try:
            line.connect()
            stream: socket.socket = line.sock  # the connection forgets it when an answer of an older HTTP begins
            answer = self._request(line, "GET", "/event", None)
            if answer.status != 200:
                raise OSError(f"GET /event: {answer.status}")
            stream.settimeout(SILENCE)
            if self._holds(stream):
                opened()
                self._hear(answer, take)
        except (http.client.HTTPException, ValueError) as error:  # cut off in the middle
            raise OSError(f"{type(error).__name__}: {error}") from error
        finally:
            with self._lock:
                self._stream = None
            line.close()

    def hang_up(self) -> None:
        """The stream ends, now and for ever."""
        with self._lock:
            self._is_over = True
            if self._stream is not None:
                try:
                    self._stream.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has ended by itself

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(LOOPBACK, self._port, timeout=SECONDS)

    def _request(
        self, line: http.client.HTTPConnection, verb: str, path: str, body: Record | None
    ) -> http.client.HTTPResponse:
        data = None if body is None else to_bytes(encode(body))
        mark = "&" if "?" in path else "?"
        line.request(verb, f"{path}{mark}{self._query}", body=data, headers=self._headers)
        return line.getresponse()

    def _holds(self, stream: socket.socket) -> bool:
        """False if somebody has hung up meanwhile."""
        with self._lock:
            self._stream = stream
            return not self._is_over

    def _hear(self, answer: http.client.HTTPResponse, take: Callable[[Record | None], None]) -> None:
        cutter = LineCutter(self._longest)
        while data := answer.read1(CHUNK):
            for line in cutter.feed(data):
                if line is None:
                    take(None)
                elif line.startswith(DATA) and (event := _event_in(line)):
                    take(event)


def _event_in(line: bytes) -> Record:
    try:
        event = decode(line.removeprefix(DATA).decode("utf-8", "replace"))
    except NotJson:
        return {}
    return event if isinstance(event, dict) else {}


def quoted(part: str) -> str:
    """An id as a part of a path."""
    return urllib.parse.quote(part, safe="", errors="replace")
