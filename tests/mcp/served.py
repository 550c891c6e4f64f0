"""`atm mcp --http` as a process: its address, tokens for it, and clients of it, good and bad."""

from __future__ import annotations

import contextlib
import copy
import http.client
import itertools
import json
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client
from tests.conftest import Atm
from tests.mcp.conftest import INITIALIZE
from tests.teamd.conftest import AtmOfTeam, DaemonProcess, is_deleted
from tests.teamd.forked import SDK, Process, start

from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.mail import build_room
from mcp import Client as Official

ACCEPT = "application/json, text/event-stream"

_numbers = itertools.count(1)


class Served:
    """The process, its address, and tokens for it."""

    def __init__(self, house: DaemonProcess, command: Sequence[str] = (), **environment: str) -> None:
        """`command` starts another server than ours, of which the same is true."""
        self.atm: Atm = house.atm
        self.layout = house.layout
        self.team = "crew"
        self._errors = Path(house.atm.folder) / "errors.txt"
        self._former = 0
        with open(self._errors, "ab") as errors:
            self.process: Process = start(
                command or house.atm.command("mcp", "--http", "--port", "0", "--json"),
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**house.atm.environment, "ATM_DAEMON_AUTOSTART": "0", **environment},
                cwd=house.atm.folder,
                loaded=SDK,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors
        said = json.loads(line)
        assert "url" in said, said
        self.url, self.port = said["url"], said["port"]

    def for_a_team(self, folder: Path) -> Served:
        """The same server, as a test sees it that shares it: with a team of its own. `leave` it at the end."""
        made = copy.copy(self)
        made.team = f"crew-{next(_numbers)}"
        made.atm = AtmOfTeam(self.atm, folder, made.team)
        made._former = len(self._errors.read_bytes())
        room = build_room(self.layout)
        create_team(room, made.team)
        for name in ("ann", "bob"):
            add_member(room, made.team, Member(name))
        return made

    def leave(self) -> None:
        assert is_deleted(Path(self.layout.team(self.team)))
        self.check()
        assert self.process.poll() is None

    @property
    def errors(self) -> str:
        """What it wrote to its standard error, for this test."""
        return self._errors.read_bytes()[self._former :].decode()

    def check(self) -> None:
        assert "Traceback" not in self.errors, self.errors

    def token(self, *words: str) -> str:
        return str(self.atm("mcp", "token", "new", "--team", self.team, *words, "--json").json["token"])

    @contextlib.asynccontextmanager
    async def client(self, token: str, era: str = "legacy", **more: Any) -> AsyncIterator[Any]:
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as bearer,
            Official(streamable_http_client(self.url, http_client=bearer), mode=era, **more) as client,
        ):
            yield client

    def post(self, body: Any = None, raw: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
        data = raw if raw is not None else json.dumps(body or {}).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        line.request("POST", "/mcp", data, {"content-type": "application/json", "accept": ACCEPT, **given})
        answer = line.getresponse()
        answer.read()
        line.close()
        return answer

    def end(self) -> int:
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def flood(self, secret: str) -> list[tuple[int, Any]]:
        """Call as fast as can be, by requests that cost next to nothing, until one is slowed down; all answers."""
        words = ("GET /nothing HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {secret}", "", "")
        answers: list[tuple[int, Any]] = []
        with socket.create_connection(("127.0.0.1", self.port), 60) as line, line.makefile("rb") as said:
            while 429 not in [status for status, _ in answers]:
                assert len(answers) < 2000, "nobody is slowed down"
                line.sendall("\r\n".join(words).encode() * 20)
                answers += [_answer(said) for _ in range(20)]
        return answers


def _answer(said: Any) -> tuple[int, Any]:
    """One of several answers on a line: its status and its headers."""
    status = int(said.readline().split()[1])
    headers = http.client.parse_headers(said)
    said.read(int(headers["content-length"]))
    return status, headers


def hello(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**INITIALIZE, **more}}
