"""Attacks over HTTP: strangers of this machine who keep connections, bearers who keep sessions, and odd requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.conftest import run, until
from tests.mcp.served import ACCEPT, Served, hello

from atm.access.rules import AccessToken
from atm.ui.http import patience as http_patience
from atm.ui.http import serving as http_serving
from atm.ui.mcp.http import sessions as http_sessions
from atm.ui.mcp.http.gate import Gate
from atm.ui.mcp.http.serve import _web_server

# Strangers who keep connections: the web server as we set it up, around an application that says who came.


class Web:
    """Our web server in this process, around a small application."""

    def __init__(self) -> None:
        self.line = socket.socket()
        self.line.bind(("127.0.0.1", 0))
        self.line.listen(16)
        self.port = self.line.getsockname()[1]
        self.bodies: list[bytes] = []
        self.gone: list[str] = []

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.append(scope["path"])
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    @contextlib.asynccontextmanager
    async def serve(self) -> Any:
        async def find(secret: str) -> AccessToken | None:
            made = AccessToken(id="a", sha256="0" * 64, team="crew", member="ann", role="", created=1.0)
            return made if secret == "good" else None

        async def admit(*_: Any) -> None:
            return

        server = _web_server(Gate(self.app, self.port, find, admit))
        running = asyncio.ensure_future(server.serve([self.line]))
        await until(lambda: server.started)
        try:
            yield server
        finally:
            server.should_exit = True
            await asyncio.wait_for(running, 60)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    def head(self, *more: str, token: str = "good") -> bytes:
        lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {token}", *more, "", ""]
        return "\r\n".join(lines).encode()


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.line.close()


async def ends(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server hangs up, by whatever way."""
    said = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(60):
            while part := await reader.read(65_536):
                said += part
    return said


@pytest.mark.parametrize(
    ("first", "status"),
    [(b"", b""), (b"P", b""), (b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow: ", b""), (b"\r\n", b"400")],
)
def test_a_connection_on_which_nothing_is_asked_ends(web, monkeypatch, first, status):
    monkeypatch.setattr(http_patience, "REQUEST_SECONDS", 0.3)

    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            writer.write(first)
            assert (await ends(reader))[9:12] == status
            writer.close()

    run(talk())


def test_headers_that_drip_for_ever_end_too(web, monkeypatch):
    monkeypatch.setattr(http_patience, "REQUEST_SECONDS", 0.3)

    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            ending = asyncio.ensure_future(ends(reader))
            writer.write(b"POST /mcp HTTP/1.1\r\n")
            while not ending.done():
                with contextlib.suppress(ConnectionError):
                    writer.write(b"X: y\r\n")
                await asyncio.wait([ending], timeout=0.05)
            assert ending.result() == b""
            writer.close()

    run(talk())


def test_a_refused_body_that_never_comes_is_not_waited_for(web, monkeypatch):
    monkeypatch.setattr(http_patience, "REQUEST_SECONDS", 0.3)

    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            writer.write(web.head("Content-Length: 1000000", token="bad") + b"x")
            assert b" 401 " in await ends(reader)
            writer.close()

    run(talk())
    assert web.bodies == []


@pytest.mark.parametrize("how", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_body_that_stops_in_the_middle_is_a_client_that_has_gone(web, monkeypatch, how):
    monkeypatch.setattr(http_patience, "BODY_SECONDS", 0.3)

    async def talk() -> None:
        async with web.serve():
            _, writer = await web.connect()
            writer.write(web.head(how) + b"5\r\nabcde\r\n")
            await until(lambda: web.gone == ["/mcp"])
            writer.close()

    run(talk())
    assert web.bodies == []


def test_more_silent_strangers_than_there_are_places_keep_nobody_out_for_long(web, monkeypatch):
    monkeypatch.setattr(http_patience, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(http_serving, "MOST_CONNECTIONS", 20)

    async def talk() -> None:
        async with web.serve():
            with contextlib.ExitStack() as silent:
                for _ in range(40):
                    silent.enter_context(socket.create_connection(("127.0.0.1", web.port), 60))
                async with asyncio.timeout(60):
                    while not await is_served():
                        await asyncio.sleep(0.05)

    async def is_served() -> bool:
        reader, writer = await web.connect()
        writer.write(web.head("Content-Length: 0", "Connection: close"))
        said = await ends(reader)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return b" 200 " in said

    run(talk())


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (("Authorization: Bearer good",), b"401"),
        (("Host: evil.example",), b"400"),
        (("Content-Length: 5", "Content-Length: 6"), b"400"),
        (("Transfer-Encoding: chunked, identity",), b"400"),
        (("Transfer-Encoding: xchunked",), b"400"),
        (("Content-Length: -1",), b"400"),
        (("Bad Header: x",), b"400"),
        (("Origin: null",), b"403"),
        (("Origin: http://evil.example",), b"403"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_tricks_with_headers_are_refused_and_nothing_is_smuggled(web, more, status):
    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            inner = web.head("Content-Length: 7", "Connection: close") + b"inside!"
            writer.write(web.head(*more) + b"0\r\n\r\n" + inner)
            writer.write_eof()
            said = await ends(reader)
            assert said[9:12] == status, said
            writer.close()

    run(talk())
    assert web.bodies == []


@pytest.mark.parametrize(
    "more", [("Content-Length: 5", "Transfer-Encoding: chunked"), ("X: " + "y" * 100_000,)], ids=["lengths", "large"]
)
def test_a_head_that_is_odd_but_whole_is_one_request_and_nothing_is_smuggled(web, more):
    """Nothing is refused here: h11 takes the chunks for the body, and a large head that comes at once for a head."""

    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            inner = web.head("Content-Length: 7", "Connection: close") + b"inside!"
            writer.write(web.head(*more) + b"0\r\n\r\n" + inner)
            writer.write_eof()
            await ends(reader)
            writer.close()

    run(talk())
    assert len(web.bodies) <= 1
    assert b"inside!" not in web.bodies


def test_a_body_in_a_thousand_chunks_comes_whole(web):
    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            writer.write(web.head("Transfer-Encoding: chunked", "Connection: close"))
            for _ in range(1000):
                writer.write(b"3\r\nabc\r\n")
            writer.write(b"0\r\n\r\n")
            assert b" 200 " in await ends(reader)
            writer.close()

    run(talk())
    assert web.bodies == [b"abc" * 1000]


def test_several_requests_on_one_connection_are_served_in_order(web):
    async def talk() -> None:
        async with web.serve():
            reader, writer = await web.connect()
            for number in range(3):
                writer.write(web.head("Content-Length: 1") + str(number).encode())
            writer.write(web.head("Content-Length: 1", "Connection: close") + b"3")
            assert (await ends(reader)).count(b" 200 ") == 4
            writer.close()

    run(talk())
    assert web.bodies == [b"0", b"1", b"2", b"3"]


# The real server.


def test_a_client_that_shakes_hands_for_every_call_locks_nobody_out(served, eventually):
    ann, bob = served.token("--as", "ann"), served.token("--as", "bob")
    good = {"authorization": f"Bearer {ann}"}
    first = served.post(hello(), **good).getheader("mcp-session-id")
    others = [served.post(hello(), **good).getheader("mcp-session-id") for _ in range(http_sessions.MOST_FOR_ONE)]
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    # It is ended for a newer one; that one is answered first.
    eventually(lambda: served.post(listing, mcp_session_id=first, **good).status == 404, 60.0)
    assert served.post(listing, mcp_session_id=others[-1], **good).status == 200
    assert served.post(hello(), authorization=f"Bearer {bob}").status == 200


def raw(served: Served, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        with contextlib.suppress(OSError):  # it may have answered and hung up before it has heard everything
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
        said = b""
        with contextlib.suppress(ConnectionError):
            while part := line.recv(65_536):
                said += part
    return said


def test_a_body_that_is_too_large_in_chunks_is_refused_too(served):
    token = served.token("--as", "ann")
    head = [
        *("POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {token}"),
        *("Content-Type: application/json", f"Accept: {ACCEPT}", "Transfer-Encoding: chunked", "", ""),
    ]
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as line:
        line.sendall("\r\n".join(head).encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(6):
                line.sendall(chunk)
        assert b" 413 " in line.recv(65_536)


NONSENSE = (
    b"GET / HTTP/1.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\0" * 70_000,
    b"POST /mcp HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
)


def test_what_is_no_request_of_ours_is_refused_and_leaves_no_trace(served):
    for data in NONSENSE:
        said = raw(served, data)
        assert said[9:10] == b"4", said[:200]
    assert served.post(hello(), authorization=f"Bearer {served.token('--as', 'ann')}").status == 200


def test_no_header_and_no_argument_says_who_somebody_is(served):
    token = served.token("--as", "ann")
    said = {"name": "task_briefing", "arguments": {}, "_meta": {"member": "bob", "team": "other", "role": "lead"}}
    odd = {"x_atm_member": "bob", "x_forwarded_user": "bob", "mcp_member": "bob", "cookie": "member=bob"}
    session = served.post(hello(), authorization=f"Bearer {token}", **odd).getheader("mcp-session-id")
    line = HTTPConnection("127.0.0.1", served.port, timeout=60)
    headers = {"content-type": "application/json", "accept": ACCEPT, "authorization": f"Bearer {token}"}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": said})
    line.request("POST", "/mcp", body, {**headers, "mcp-session-id": str(session), "x-atm-member": "bob"})
    answer = line.getresponse().read().decode()
    line.close()
    data = json.loads(answer.partition("data: ")[2].splitlines()[0] if "data: " in answer else answer)
    assert data["result"]["structuredContent"]["member"] == "ann"


def test_the_token_of_a_member_who_is_removed_opens_nothing_any_more(served):
    token = served.token("--as", "ann")
    assert served.post(hello(), authorization=f"Bearer {token}").status == 200
    served.atm("teams", "remove-member", served.team, "ann", "--force")
    assert served.post(hello(), authorization=f"Bearer {token}").status == 401
    served.atm("teams", "add-member", served.team, "ann")
    assert served.post(hello(), authorization=f"Bearer {token}").status == 401


def test_a_file_of_tokens_that_breaks_lets_nobody_in_until_it_is_whole_again(served):
    token, path = served.token("--as", "ann"), Path(served.layout.access_tokens)
    whole = path.read_bytes()
    try:
        for broken in (b"", whole[:-20], b"[]", b"\0" * 100):
            path.write_bytes(broken)
            assert served.post(hello(), authorization=f"Bearer {token}").status == 401
    finally:
        path.write_bytes(whole)
    assert served.post(hello(), authorization=f"Bearer {token}").status == 200
