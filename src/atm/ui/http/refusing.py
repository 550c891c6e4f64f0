"""Who is refused before a word of a request's body is read: other addresses, pages of other sites, too many calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atm.files.formats.json_record import encode, to_bytes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Scope

LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class Bucket:
    """Calls that are left; they come back with time."""

    left: float
    at: float

    def left_at(self, now: float, most: float, rate: float) -> float:
        return min(most, self.left + (now - self.at) * rate)

    def take(self, now: float, most: float, rate: float) -> float:
        """0 if there was one; else the seconds until there is."""
        self.left = self.left_at(now, most, rate)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / rate
        self.left -= 1
        return 0.0


class HttpRefusal:
    """A short answer in JSON. It says nothing of what it was compared with."""

    def __init__(
        self, status: int, code: str, error: str, headers: dict[str, str] | None = None, remedy: str = ""
    ) -> None:
        self.status = status
        self._body = to_bytes(encode({"code": code, "error": error, **({"remedy": remedy} if remedy else {})}))
        self._headers = {"content-type": "application/json", "content-length": str(len(self._body)), **(headers or {})}

    async def __call__(self, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        headers = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def too_many(wait: float) -> HttpRefusal:
    return HttpRefusal(429, "too-many-calls", "too many calls; wait a little", {"retry-after": str(int(wait) + 1)})


class OwnAddress:
    """The Host and Origin headers must name this very server: a browser can be made to send requests here."""

    def __init__(self, port: int) -> None:
        self._hosts = {f"{host}:{port}" for host in LOCAL}
        self._origins = {f"http://{host}" for host in self._hosts}

    def refusal(self, scope: Scope) -> HttpRefusal | None:
        hosts, origins = headers_in(scope, b"host"), headers_in(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return HttpRefusal(403, "bad-host", "this server answers to its own address only")
        if any(origin.lower() not in self._origins for origin in origins):
            return HttpRefusal(403, "bad-origin", "this server is not for pages of other sites")
        return None


def headers_in(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
