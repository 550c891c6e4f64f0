"""
The gate before the page: in this order, and nothing of a body is read before.

Host and Origin must name this very server, the browser must not say that another site asks, whoever asks too much
waits, and but for the page's own files and its login only those go further whom the doors know.
"""

from __future__ import annotations

import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from atm.ui.http.patience import bounded_body, peer_in
from atm.ui.http.peers import PeerBuckets
from atm.ui.http.refusing import Bucket, HttpRefusal, OwnAddress, headers_in, too_many

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from atm.ui.web.doors import Doors, Visitor

API, LOGIN = "/api/", "/api/login"
MARK = b"x-atm"
"""Which a page of another site cannot send without asking us first, and we never say yes to that."""

BURST, PER_SECOND = 200.0, 40.0
"""Calls of everybody who is known, each for themselves."""
STRANGERS, STRANGERS_PER_SECOND = 300.0, 60.0
"""Files of the page, for each user of this machine."""
LOGINS, LOGINS_PER_SECOND = 10.0, 0.5
"""Attempts to sign in, for each user of this machine: one user's guesses do not keep another out."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class WebGate:
    """An ASGI application around another. Who asks is in `scope["atm.visitor"]`."""

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        doors: Doors,
        touched: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._address = OwnAddress(port)
        self._cookie = cookie_name(port)
        self._doors = doors
        self._touched = touched
        self._clock = clock
        self._strangers = PeerBuckets(STRANGERS)
        self._logins = PeerBuckets(LOGINS)
        self._buckets: dict[int, Bucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        sending = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, bounded_body(receive), sending)
        else:
            await refusal(sending)

    def _refusal(self, scope: Scope) -> HttpRefusal | None:
        stranger = self._address.refusal(scope)
        if stranger is not None:
            return stranger
        if any(site not in ("same-origin", "none") for site in headers_in(scope, b"sec-fetch-site")):
            return HttpRefusal(403, "other-site", "this server is not for pages of other sites")
        path, now = str(scope["path"]), self._clock()
        if scope["method"] == "POST" and not headers_in(scope, MARK):
            return HttpRefusal(403, "no-mark", "a call that changes something carries the header X-Atm")
        if path == LOGIN:
            wait = self._logins.take(peer_in(scope), now, LOGINS_PER_SECOND)
            return too_many(wait) if wait else None
        if not path.startswith(API):
            wait = self._strangers.take(peer_in(scope), now, STRANGERS_PER_SECOND)
            return too_many(wait) if wait else None
        return self._of_known(scope, now)

    def _of_known(self, scope: Scope, now: float) -> HttpRefusal | None:
        token = token_in(scope, self._cookie)
        visitor = self._doors.who(token) if token else None
        if visitor is None:
            wait = self._strangers.take(peer_in(scope), now, STRANGERS_PER_SECOND)
            if wait:
                return too_many(wait)
            return HttpRefusal(401, "no-login", "nobody is signed in here", remedy="type `atm web` and open its link")
        wait = self._bucket(visitor, now).take(now, BURST, PER_SECOND)
        if wait:
            return too_many(wait)
        self._touched()
        scope["atm.visitor"] = visitor
        return None

    def _bucket(self, visitor: Visitor, now: float) -> Bucket:
        known = {id(one) for one in self._doors.visitors}
        self._buckets = {key: one for key, one in self._buckets.items() if key in known}
        return self._buckets.setdefault(id(visitor), Bucket(BURST, now))


def cookie_name(port: int) -> str:
    """Cookies do not know ports: two pages on one machine have one each."""
    return f"atm-{port}"


def token_in(scope: Scope, name: str) -> str:
    given = headers_in(scope, b"cookie")
    try:
        found = SimpleCookie("; ".join(given)).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            has_policy = {name.lower() for name, _ in message["headers"]}
            extra = [pair for pair in HEADERS if pair[0] not in has_policy]
            if b"cache-control" not in has_policy:
                extra.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending
