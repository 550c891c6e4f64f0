"""
Tell a web server what happens in teams: one POST of JSON for each event, signed, tried again while the server is down.

    [plugins.webhook]
    enabled = true
    url = "https://example.org/hooks/atm"
    secret_env = "ATM_WEBHOOK_SECRET"    # or secret = "…"
    events = ["task", "message.failed"]  # a kind, or the first part of it; all if left out
    timeout = 10                         # seconds for one try
    max_per_minute = 60

The body is `{id, kind, team, subject, at, detail}`; texts of messages are never in it. The receiver checks
`X-Atm-Signature: sha256=HEX`, the HMAC of `X-Atm-Timestamp`, a dot and the body, and knows a repeated delivery by
`X-Atm-Delivery`. A redirect is followed on the same host only. No proxy is used.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from atm.teamd.plugins.api import DROPPED, Cancel, Capability, PluginContext, PluginMetadata, TeamEvent, Unsuitable

TRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
MOST_HOPS = 3
LARGEST_BODY = 64 * 1024
LARGEST_ANSWER = 4096
PRIVATE = ("text", "body")
"""Fields that are taken out of an event's detail, should there ever be any: mail is not the receiver's business."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where events go, and how they are signed."""

    url: str
    secret: bytes
    timeout: float
    first_pause: float


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came of one try."""

    delivered: bool
    again: bool
    why: str
    after: float = 0.0
    """Seconds that the server wants us to wait."""


class Webhook:
    """The plugin."""

    def metadata(self) -> PluginMetadata:
        return PluginMetadata("webhook", "1.0", "posts team events to a web server", (Capability.EVENT_LISTENER,))

    async def init(self, ctx: PluginContext) -> None:
        config = ctx.config
        self.kinds = _texts(config.get("events"))
        self.pace = 60.0 / _number(config, "max_per_minute", 60.0)
        self.target = Target(
            url=checked_url(config.get("url")),
            secret=_secret(config),
            timeout=_number(config, "timeout", 10.0),
            first_pause=_number(config, "first_pause", FIRST_PAUSE),
        )
        if not self.target.secret:
            ctx.log("warn", "there is no secret, so deliveries are not signed")

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        async for event in ctx.events:
            if not wants(self.kinds, event.kind):
                continue
            await self.deliver(ctx, cancel, event)
            if await cancel.wait(self.pace):
                return

    async def deliver(self, ctx: PluginContext, cancel: Cancel, event: TeamEvent) -> bool:
        """Post one event, again and again if need be; has it arrived?"""
        id, pause = str(uuid.uuid4()), self.target.first_pause
        body = encoded(id, event)
        for number in range(1, TRIES + 1):
            answer = await post(self.target, id, event.kind, body, str(int(ctx.now())))
            if answer.delivered:
                return True
            if not answer.again or number == TRIES:
                ctx.log("error", f"given up after {number} tries: {answer.why}", delivery=id, kind=event.kind)
                return False
            if await cancel.wait(min(LONGEST_PAUSE, max(pause, answer.after))):
                return False
            pause *= 2
        return False

    async def shutdown(self) -> None:
        return


# Settings.


def checked_url(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise Unsuitable("plugins.webhook.url is not set", "set it to an http or https address")
    try:
        parts = urlsplit(given)
        parts.port  # noqa: B018 - it is read only when asked for, and raises then
    except ValueError as error:
        raise Unsuitable(f"{given!r} is no address: {error}", "mend plugins.webhook.url") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not given.isascii():
        raise Unsuitable(f"{given!r} is not an http or https address", "mend plugins.webhook.url")
    if parts.username or parts.password or any(c.isspace() or not c.isprintable() for c in given):
        raise Unsuitable("plugins.webhook.url has a password, a blank or a control character", "take it out")
    return given


def _secret(config: Mapping[str, object]) -> bytes:
    name = config.get("secret_env")
    if isinstance(name, str) and name:
        found = os.environ.get(name)
        if not found:
            raise Unsuitable(f"the variable {name} (plugins.webhook.secret_env) is not set", "set it for the daemon")
        return found.encode()
    given = config.get("secret")
    return given.encode() if isinstance(given, str) else b""


def _number(config: Mapping[str, object], key: str, otherwise: float) -> float:
    value = config.get(key, otherwise)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise Unsuitable(f"plugins.webhook.{key} must be a number above 0, not {value!r}", "mend it")
    return float(value)


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    listed = value if isinstance(value, list | tuple) else (value,)
    return tuple(text for text in listed if isinstance(text, str) and text)


def wants(kinds: tuple[str, ...], kind: str) -> bool:
    """Is this a kind that was asked for? That events were missed is always told."""
    return not kinds or kind == DROPPED or any(kind == one or kind.startswith(f"{one}.") for one in kinds)


# One delivery.


def encoded(id: str, event: TeamEvent) -> bytes:
    detail = {key: value for key, value in event.detail.items() if key not in PRIVATE}
    said = {"id": id, "kind": event.kind, "team": event.team, "subject": event.subject, "at": event.at}
    body = json.dumps({**said, "detail": detail}).encode()
    return body if len(body) <= LARGEST_BODY else json.dumps({**said, "detail": {"too_large": True}}).encode()


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


async def post(target: Target, id: str, kind: str, body: bytes, timestamp: str) -> HttpAnswer:
    """One try, redirects on the same host included."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "atm-webhook/1",
        "X-Atm-Event": kind,
        "X-Atm-Delivery": id,
        "X-Atm-Timestamp": timestamp,
    }
    if target.secret:
        headers["X-Atm-Signature"] = signature(target.secret, timestamp, body)
    url = target.url
    for _ in range(MOST_HOPS + 1):
        try:
            status, said = await _exchange(urlsplit(url), body, headers, target.timeout)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return HttpAnswer(False, True, f"{type(error).__name__}: {error}")
        if status not in (301, 302, 307, 308):
            return judged(status, said)
        try:
            further = urljoin(url, said.get("location", ""))
            is_same = _same_host(url, further)
        except ValueError:  # brackets that are no address, a port that is no number
            return HttpAnswer(False, False, f"it redirects to an address that cannot be read ({status})")
        if not is_same:
            return HttpAnswer(False, False, f"it redirects to another host, which is not followed ({status})")
        url = further
    return HttpAnswer(False, False, "it redirects in circles")


def judged(status: int, headers: Mapping[str, str]) -> HttpAnswer:
    if 200 <= status < 300 or status == 303:
        return HttpAnswer(True, False, "")
    wait = headers.get("retry-after", "")
    after = float(wait) if wait.isascii() and wait.isdecimal() and len(wait) < 6 else 0.0
    return HttpAnswer(False, status >= 500 or status in (408, 429), f"the server answers {status}", after)


def _same_host(one: str, other: str) -> bool:
    """The same scheme too: what was meant for https is not told in the clear."""
    a, b = urlsplit(one), urlsplit(other)
    return (a.scheme, a.hostname, a.port) == (b.scheme, b.hostname, b.port)


async def _exchange(
    url: SplitResult, body: bytes, headers: dict[str, str], seconds: float
) -> tuple[int, dict[str, str]]:
    """
    One request in a thread. The socket's own limit is for each piece: a server that dribbles is cut off by ours.
    """
    connection = _connection(url, seconds)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    work = asyncio.ensure_future(asyncio.to_thread(_ask, connection, path, body, headers))
    done, _ = await asyncio.wait({work}, timeout=seconds)
    if not done:
        _cut(connection)
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        raise TimeoutError(f"no answer within {seconds:g} s")
    return work.result()


def _connection(url: SplitResult, seconds: float) -> http.client.HTTPConnection:
    host = url.hostname or ""
    if url.scheme == "https":
        return http.client.HTTPSConnection(host, url.port, timeout=seconds, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, url.port, timeout=seconds)


def _ask(
    connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, dict[str, str]]:
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read(LARGEST_ANSWER)
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}
    finally:
        connection.close()


def _cut(connection: http.client.HTTPConnection) -> None:
    try:
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
