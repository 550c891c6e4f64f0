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
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.ui.http.patience import bounded_body
from atm.ui.http.refusing import Bucket, HttpRefusal, OwnAddress, headers_in, too_many

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from atm.access.rules import AccessToken

BURST = 60
PER_SECOND = 6.0
"""So many calls at once, and so many a second after that: 60 in 10 s."""

MOST_STRANGERS = 20
STRANGERS_PER_SECOND = 2.0
"""The same for all who bear no good token together: guessing is slow."""


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
        self._address = OwnAddress(port)
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
        stranger = self._address.refusal(scope)
        if stranger is not None:
            return stranger
        token = await self._bearer(scope)
        if token is None:
            wait = self._strangers.take(self._clock(), MOST_STRANGERS, STRANGERS_PER_SECOND)
            return too_many(wait) if wait else HttpRefusal(401, "no-token", "a good token is missing", _CHALLENGE)
        wait = self._bucket(token.id).take(self._clock(), BURST, PER_SECOND)
        if wait:
            return too_many(wait)
        try:
            await self._admit(scope, token)
        except AtmError as error:
            return HttpRefusal(403, error.code, str(error)[:500])
        return None

    async def _bearer(self, scope: Scope) -> AccessToken | None:
        given = headers_in(scope, b"authorization")
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
