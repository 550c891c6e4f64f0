"""The daemon's MCP socket and whoever misbehaves at it: it costs that one connection, and nobody else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.mcp.conftest import INITIALIZE, World, claim, run, until
from tests.proving import proves

from atm.teamd.events.hub import Hub
from atm.teamd.surfaces import DaemonFacts
from atm.ui.mcp.hello import encode_hello
from atm.ui.mcp.serving import connection, host
from atm.ui.mcp.serving.host import McpHost
from atm.ui.mcp.serving.reception import Reception
from atm.ui.views.extras import McpMissing


class Talk:
    """Somebody at the socket."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def __aenter__(self) -> Talk:
        self.reader, self.writer = await asyncio.open_unix_connection(self._path, limit=32 << 20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def say(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))

    def ask(self, id: int, method: str, **params: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode(), b"\n")

    async def hear(self) -> Any:
        line = await asyncio.wait_for(self.reader.readline(), 60)
        return json.loads(line) if line else None

    async def come_in(self, **named: str) -> Talk:
        self.say(encode_hello(claim(**named)))
        assert await self.hear() == {"v": 1, "ok": True}
        self.ask(0, "initialize", **INITIALIZE)
        assert (await self.hear())["id"] == 0
        return self


class House:
    """A host in this process, as the daemon carries it."""

    def __init__(self, layout: Any, folder: str, world: World) -> None:
        self.log: list[str] = []
        self._layout, self._folder, self._world = layout, folder, world
        self.path = f"{folder}/mcp.sock"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[McpHost]:
        def say(level: str, source: str, text: str, **_: Any) -> None:
            self.log.append(text)

        facts = DaemonFacts(layout=self._layout, environment={}, folder=self._folder, hub=Hub(), log=say)
        made = McpHost()
        reception = Reception(self._layout, say, has_daemon=True, offer=self._world.offer())
        made._opening = asyncio.ensure_future(_ready(reception))
        await made.start(facts)
        try:
            yield made
        finally:
            await asyncio.wait_for(made.stop(), 60)
            assert not os.path.exists(self.path)

    async def still_serves(self) -> None:
        async with Talk(self.path) as other:
            await other.come_in(member="bob")
            other.ask(1, "tools/call", name="echo", arguments={"text": "fine"})
            assert (await other.hear())["result"]["structuredContent"] == {"said": "bob: fine"}


async def _ready(reception: Reception) -> Reception:
    return reception


@pytest.fixture
def open_house(layout: Any, room: Any, tmp_path: Any, world: World) -> House:
    return House(layout, str(tmp_path), world)


@pytest.mark.parametrize(
    "first",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0\0\0\0\n", b"{}\n", b'{"v":9,"hello":"mcp"}\n', b"[" * 20_000 + b"\n"],
)
def test_whoever_does_not_greet_is_told_and_turned_away(open_house, first):
    async def talk() -> None:
        async with open_house.open():
            async with Talk(open_house.path) as odd:
                odd.say(first)
                said = await odd.hear()
                assert (said["ok"], said["error"]["code"]) == (False, "bad-hello")
                assert await odd.hear() is None
            await open_house.still_serves()

    run(talk())


def test_half_a_greeting_is_waited_for_no_longer_than_the_bound(open_house, monkeypatch):
    monkeypatch.setattr(host, "HELLO_SECONDS", 0.2)

    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as slow:
            slow.say(b'{"v":1,"hello":')
            assert (await slow.hear())["error"]["code"] == "bad-hello"

    run(talk())


def test_names_that_nobody_may_bear_are_refused_with_the_reason(open_house):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            odd.say(encode_hello(claim(member="system")))
            assert (await odd.hear())["error"]["code"] == "bad-name"

    run(talk())


def test_lines_that_are_no_messages_are_complained_of_and_then_enough_is_enough(open_house):
    async def talk() -> None:
        async with open_house.open():
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                odd.say(b"nonsense\n", b"\xff\xfe\n", b"[1,2]\n", b'{"jsonrpc":"2.0","id":7}\n', b"\n \n")
                said = [await odd.hear() for _ in range(4)]
                assert [one["error"]["code"] for one in said] == [-32700, -32700, -32700, -32600]
                assert [one["id"] for one in said] == [None, None, None, 7]
                odd.ask(8, "tools/call", name="echo", arguments={"text": "sorry"})
                assert (await odd.hear())["id"] == 8
                odd.say(b"nonsense\n" * (connection.MOST_GARBAGE + 1))
                while await odd.hear() is not None:
                    pass
            await open_house.still_serves()

    run(talk())


def test_whoever_talks_nonsense_and_hangs_up_is_no_fault_of_ours(open_house):
    """There is still much to complain of, and nobody who hears it."""

    async def talk() -> None:
        async with open_house.open() as made:
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                odd.say(b"nonsense\n" * connection.MOST_GARBAGE)
                odd.writer.transport.abort()
            await until(lambda: made.facts()["connections"] == 0)
            await open_house.still_serves()
            assert open_house.log == []

    run(talk())


def test_a_line_of_ten_megabytes_ends_its_connection(open_house):
    async def talk() -> None:
        async with open_house.open() as made:
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                with contextlib.suppress(OSError):
                    for _ in range(10):
                        odd.say(b"x" * (1 << 20))
                        await odd.writer.drain()
                await until(lambda: made.facts()["connections"] == 0)  # it was ended by them, not by us
            await open_house.still_serves()

    run(talk())


def test_half_a_line_for_ever_keeps_nobody(open_house):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.say(b'{"jsonrpc":"2.0",')
            await open_house.still_serves()

    run(talk())


def test_whoever_asks_and_never_reads_is_not_read_either(open_house, world, monkeypatch):
    """A thousand answers of 60 KB each would be 60 MB; the host stops at what its buffers hold."""
    monkeypatch.setattr(connection, "UNREAD_SECONDS", 1.0)

    async def talk() -> None:
        async with open_house.open() as made:
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                odd.reader._transport.pause_reading()  # type: ignore[attr-defined]
                for id in range(1, 1001):
                    odd.ask(id, "tools/call", name="much", arguments={"count": 25})
                await open_house.still_serves()
                await until(lambda: made.facts()["connections"] == 0)
            assert world.given_back, "answers that never got through are given back"

    run(talk())


def test_a_client_that_hangs_up_in_the_middle_of_a_call_leaves_nothing(open_house, world):
    async def talk() -> None:
        async with open_house.open() as made:
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                odd.ask(1, "tools/call", name="wait", arguments={})
                await until(lambda: world.calls == ["wait"])
                odd.writer.transport.abort()
            world.hold.set()
            await until(lambda: made.facts()["connections"] == 0)
            assert open_house.log == []

    run(talk())


def test_a_client_that_has_said_all_still_gets_its_answers(open_house, world, monkeypatch):
    monkeypatch.setattr(connection, "LAST_WORDS_SECONDS", 60.0)  # as long as it takes here until the call ends

    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as script:
            await script.come_in()
            script.ask(1, "tools/call", name="wait", arguments={})
            script.writer.write_eof()
            await until(lambda: world.calls == ["wait"])
            world.hold.set()
            assert (await script.hear())["result"]["structuredContent"] == {"waited": True}
            assert await script.hear() is None

    run(talk())


def test_one_connection_too_many_is_told_so(open_house, monkeypatch):
    monkeypatch.setattr(host, "MOST_CONNECTIONS", 20)

    async def talk() -> None:
        async with open_house.open(), contextlib.AsyncExitStack() as stack:
            for _ in range(20):
                await (await stack.enter_async_context(Talk(open_house.path))).come_in()
            late = await stack.enter_async_context(Talk(open_house.path))
            late.say(encode_hello(claim()))
            assert "too many" in (await late.hear())["error"]["message"]

    run(talk())


@proves("R002-28-10")
def test_an_sdk_that_is_not_installed_is_said_and_looked_for_again(open_house, monkeypatch):
    async def talk() -> None:
        tries = []

        def missing() -> Any:
            tries.append(1)
            raise McpMissing("the MCP server is not installed", "pip install it")

        monkeypatch.setattr(host, "load_reception", missing)
        async with open_house.open() as made:
            made._opening = None
            for _ in range(2):
                async with Talk(open_house.path) as client:
                    client.say(encode_hello(claim()))
                    assert (await client.hear())["error"]["code"] == "mcp-missing"
        assert len(tries) == 2

    run(talk())


def test_a_socket_that_was_left_behind_is_taken_over_and_is_for_its_owner_alone(open_house):
    left = socket.socket(socket.AF_UNIX)
    left.bind(open_house.path)
    left.close()

    async def talk() -> None:
        async with open_house.open():
            assert stat.S_IMODE(os.stat(open_house.path).st_mode) == 0o600
            await open_house.still_serves()

    run(talk())


def test_the_real_daemon_survives_a_storm_of_garbage(shared, speak):
    for data in (
        b"",
        b"\n",
        b"\0" * 100_000,
        b"{" * 100_000 + b"\n",
        encode_hello(claim(team=shared.team)) + b"garbage\n" * 500,
    ):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(60)
            line.connect(f"{os.path.dirname(shared.socket)}/mcp.sock")
            with contextlib.suppress(OSError):
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
                while line.recv(65_536):
                    pass
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    assert spoken.call("task_briefing")["structuredContent"]["member"] == "ann"
    assert [record for record in shared.log() if record["level"] == "error"] == []
