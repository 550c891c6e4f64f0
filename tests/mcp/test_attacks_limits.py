"""Attacks on what all share: calls of one bearer, guesses of strangers, sessions that nobody ends."""

from __future__ import annotations

from typing import Any

from tests.mcp.conftest import run

from atm.access.rules import AccessToken
from atm.ui.mcp.http import sessions as http_sessions
from atm.ui.mcp.http.gate import BURST, MOST_STRANGERS, PER_SECOND, Gate
from atm.ui.mcp.http.sessions import Sessions

# Rate limits.


def test_one_bearer_s_calls_come_back_with_time_and_are_nobody_else_s():
    async def talk() -> None:
        now, passed = [0.0], []
        tokens = {
            name: AccessToken(id=name, sha256="0" * 64, team="crew", member=name, role="", created=1.0)
            for name in ("ann", "bob")
        }

        async def find(secret: str) -> AccessToken | None:
            return tokens.get(secret)

        async def admit(*_: Any) -> None:
            return

        async def app(*_: Any) -> None:
            passed.append(1)

        gate = Gate(app, 80, find, admit, clock=lambda: now[0])

        async def ask(name: str) -> int:
            said: list[Any] = []
            headers = [(b"host", b"127.0.0.1:80"), (b"authorization", b"Bearer " + name.encode())]

            async def send(message: Any) -> None:
                said.append(message)

            await gate({"type": "http", "headers": headers}, None, send)  # type: ignore[arg-type]
            return int(said[0]["status"]) if said else 200

        assert [await ask("ann") for _ in range(BURST)] == [200] * BURST
        assert await ask("ann") == 429
        assert await ask("bob") == 200
        now[0] += 1 / PER_SECOND + 1e-6
        assert [await ask("ann"), await ask("ann")] == [200, 429]
        assert [await ask("guess") for _ in range(MOST_STRANGERS + 1)] == [401] * MOST_STRANGERS + [429]
        assert await ask("bob") == 200, "strangers use up nobody's calls"
        now[0] -= 1000  # a clock that goes back gives nothing away, and locks nobody out for ever
        assert await ask("ann") == 429
        now[0] += 2000
        assert await ask("ann") == 200

    run(talk())


# Sessions.


def test_a_bearer_who_opens_sessions_without_end_keeps_its_newest_and_nobody_else_suffers():
    async def talk() -> None:
        opened: list[bytes] = []
        ended: list[bytes | None] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            asked = dict(scope["headers"]).get(b"mcp-session-id")
            if scope["method"] == "DELETE":
                ended.append(asked)
            name = f"{scope['bearer']}-{len(opened)}".encode()
            if asked is None:
                opened.append(name)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", asked or name)]})

        sessions = Sessions(app, lambda scope: str(scope["bearer"]))

        async def ask(bearer: str, *headers: tuple[bytes, bytes]) -> None:
            async def send(_: Any) -> None:
                return

            scope = {"type": "http", "method": "POST", "bearer": bearer, "headers": [*headers]}
            await sessions(scope, None, send)  # type: ignore[arg-type]

        await ask("bob")
        for _ in range(http_sessions.MOST_FOR_ONE):
            await ask("ann")
        await ask("ann", (b"mcp-session-id", b"ann-1"))  # the oldest, still in use
        await ask("ann", (b"mcp-session-id", b"bob-0"))  # another's: touched by nobody
        await ask("ann")
        await ask("ann")
        assert ended == [b"ann-2", b"ann-3"]

    run(talk())
