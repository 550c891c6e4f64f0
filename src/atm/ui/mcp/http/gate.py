"""
The gate before the HTTP server: who is not of this machine, bears no token, or asks too much, goes no further.

In this order, and nothing of a request's body is read before: the Host and Origin headers must name this very server
(a page in a browser can be made to send requests here under another name), the token must be known, and its bearer
must have calls left.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atm.domain.errors import AtmError
from atm.formats.files.json_record import encode, to_bytes
from atm.ui.mcp.http.patience import bounded_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from atm.domain.access import AccessToken

BURST = 60
PER_SECOND = 6.0
"""So many calls at once, and so many a second after that: 60 in 10 s."""

MOST_STRANGERS = 20
STRANGERS_PER_SECOND = 2.0
"""The same for all who bear no good token together: guessing is slow."""

LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class Bucket:
    """Calls that are left; they come back with time."""

    left: float
    at: float

    def take(self, now: float, most: float, rate: float) -> float:
        """0 if there was one; else the seconds until there is."""
        self.left = min(most, self.left + (now - self.at) * rate)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / rate
        self.left -= 1
        return 0.0


class Gate:
    """An ASGI application around another. What it learnt of the bearer is in `scope["atm.token"]`."""

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        find: Callable[[str], Awaitable[AccessToken | None]],
        admit: Callable[[Scope, AccessToken], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}" for host in LOCAL}
        self._origins = {f"http://{host}" for host in self._hosts}
        self._find = find
        self._admit = admit
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._strangers = Bucket(MOST_STRANGERS, clock())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        refusal = await self._refusal(scope)
        if refusal is None:
            await self._app(scope, bounded_body(receive), send)
        else:
            await refusal(send)

    async def _refusal(self, scope: Scope) -> HttpRefusal | None:
        hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return HttpRefusal(403, "bad-host", "this server answers to its own address only")
        if any(origin.lower() not in self._origins for origin in origins):
            return HttpRefusal(403, "bad-origin", "this server is not for pages of other sites")
        token = await self._bearer(scope)
        if token is None:
            wait = self._strangers.take(self._clock(), MOST_STRANGERS, STRANGERS_PER_SECOND)
            return _too_many(wait) if wait else HttpRefusal(401, "no-token", "a good token is missing", _CHALLENGE)
        wait = self._bucket(token.id).take(self._clock(), BURST, PER_SECOND)
        if wait:
            return _too_many(wait)
        try:
            await self._admit(scope, token)
        except AtmError as error:
            return HttpRefusal(403, error.code, str(error)[:500])
        return None

    async def _bearer(self, scope: Scope) -> AccessToken | None:
        given = _headers(scope, b"authorization")
        scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer" or not secret.strip():
            return None
        return await self._find(secret.strip())

    def _bucket(self, id: str) -> Bucket:
        """Tokens are few; those that were revoked are forgotten in time."""
        bucket = self._buckets.setdefault(id, Bucket(BURST, self._clock()))
        self._buckets.move_to_end(id)
        if len(self._buckets) > 2000:
            self._buckets.popitem(last=False)
        return bucket


_CHALLENGE = {"www-authenticate": 'Bearer realm="atm", error="invalid_token"'}


class HttpRefusal:
    """A short answer in JSON. It says nothing of what it was compared with."""

    def __init__(self, status: int, code: str, error: str, headers: dict[str, str] | None = None) -> None:
        self.status = status
        self._body = to_bytes(encode({"code": code, "error": error}))
        self._headers = {"content-type": "application/json", "content-length": str(len(self._body)), **(headers or {})}

    async def __call__(self, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def _too_many(wait: float) -> HttpRefusal:
    return HttpRefusal(429, "too-many-calls", "too many calls; wait a little", {"retry-after": str(int(wait) + 1)})


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
