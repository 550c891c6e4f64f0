"""The page's server on a port of this machine, and browsers that speak to it, good and bad."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from atm.ui.cli.session import Session
from atm.ui.http.serving import listen, web_server
from atm.ui.web.building import build_page
from atm.ui.web.doors import HUMAN, Visitor

SECONDS = 60.0


class PageServer:
    """In this process, as the daemon runs it."""

    def __init__(self, environment: dict[str, str], folder: str) -> None:
        self._environment, self._folder = environment, folder
        self._line = listen(0)
        self.port: int = self._line.getsockname()[1]
        self.app, self.doors, gate = build_page(Session(environment), self.port, lambda: None)
        self._server = web_server(gate)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve([self._line])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def key(self, role: str = HUMAN, person: str = "human") -> str:
        return self.doors.invite(Visitor(role, person, self._folder, {}))

    def browser(self, role: str = HUMAN) -> Browser:
        """Somebody who has signed in."""
        made = Browser(self.port)
        assert made.login(self.key(role)).status == 200
        return made

    def cut_off(self) -> None:
        """Whoever listens is left; they may come again."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.app.close)

    def stop(self) -> None:
        self.cut_off()
        self._server.should_exit = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        self._line.close()


class Answer:
    """What came back."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.body = answer.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Browser:
    """Keeps a cookie, and names itself as browsers do."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            line.request(method, path, self._data(body), self._headers(method, headers))
            return Answer(line.getresponse())
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        return self.call("POST", path, body, **headers)

    def login(self, key: str) -> Answer:
        answer = self.post("/api/login", {"key": key})
        if answer.status == 200:
            self.cookie = str(answer.headers["set-cookie"]).partition(";")[0]
        return answer

    def deed(self, team: str, kind: str, id: str, deed: str, text: str = "") -> Answer:
        return self.post(f"/api/teams/{team}/deeds", {"kind": kind, "id": id, "deed": deed, "text": text})

    def listen(self, team: str, after: str = "", receive_buffer: int = 0) -> EventLines:
        return EventLines(self, team, after, receive_buffer)

    def _data(self, body: object) -> bytes | None:
        return body if isinstance(body, bytes) or body is None else json.dumps(body).encode()

    def _headers(self, method: str, headers: dict[str, str]) -> dict[str, str]:
        own = {"Cookie": self.cookie} if self.cookie else {}
        mark = {"X-Atm": "page", "Origin": f"http://127.0.0.1:{self.port}"} if method == "POST" else {}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return {name: value for name, value in {**own, **mark, **given}.items() if value != "-"}


class EventLines:
    """An EventSource: every event with its name, its id and what it says."""

    def __init__(self, browser: Browser, team: str, after: str, receive_buffer: int) -> None:
        self._line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._line.settimeout(SECONDS)
        self._line.connect(("127.0.0.1", browser.port))
        resume = f"Last-Event-ID: {after}\r\n" if after else ""
        head = f"GET /api/teams/{team}/events HTTP/1.1\r\nHost: 127.0.0.1:{browser.port}\r\n"
        self._line.sendall(f"{head}Cookie: {browser.cookie}\r\n{resume}\r\n".encode())
        self._file = self._line.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            continue
        self._events = self._read()

    def __enter__(self) -> EventLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._line.close()

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        """Those that were not taken yet."""
        return self._events

    def _read(self) -> Iterator[tuple[str, str, Any]]:
        kind = id = ""
        for line in self._plain_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                id = value
            elif name == "data":
                yield kind, id, json.loads(value)
                kind = id = ""

    def _plain_lines(self) -> Iterator[str]:
        """Out of the chunks in which HTTP sends them."""
        while size := int(self._file.readline() or b"0", 16):
            yield from self._file.read(size).decode().splitlines()
            self._file.readline()

    def next(self, kind: str) -> tuple[str, Any]:
        """The next of one kind: its id, and what it says."""
        return next((id, said) for found, id, said in self if found == kind)


class Onlooker:
    """What a page does with events: keeps the whole, and applies changes to the version that they are made from."""

    def __init__(self) -> None:
        self.whole: dict[str, Any] = {}
        self.applied: list[str] = []
        self.wholes = 0

    def take(self, kind: str, said: dict[str, Any]) -> None:
        if kind == "snapshot":
            self.whole, self.wholes = said, self.wholes + 1
        elif kind == "change":
            assert said["from"] == self.whole["version"], "a change that does not follow"
            self.applied.append(said["version"])
            self.whole = apply(self.whole, said)

    def follow(self, events: EventLines, until: Callable[[dict[str, Any]], object]) -> None:
        """Until what is known is so."""
        if self.whole and until(self.whole):
            return
        for kind, _, said in events:
            self.take(kind, said)
            if self.whole and until(self.whole):
                return
        raise AssertionError("the events ended")


def apply(whole: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The same as `change.js` does."""
    snapshot = {**whole["snapshot"], **change["snapshot"]}
    for key, name in (("tasks", "id"), ("members", "name")):
        if change[key] is not None:
            rows = {row[name]: row for row in snapshot[key]}
            rows |= {row[name]: row for row in change[key]["changed"]}
            gone = set(change[key]["gone"])
            order = change[key]["order"] or [id for id in rows if id not in gone]
            snapshot[key] = [rows[id] for id in order]
    cells = {**whole["cells"], **change["cells"]}
    return {
        "version": change.get("version"),
        "now": change["now"],
        "vendors": whole["vendors"],
        "snapshot": snapshot,
        "rows": whole["rows"] if change["rows"] is None else change["rows"],
        "cells": {id: cell for id, cell in cells.items() if cell is not None},
        "counts": change["counts"],
    }
