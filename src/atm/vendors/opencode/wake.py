"""
OpenCode's own server: a text put into a session by HTTP. Implements `vendors.agent_servers.AgentServers`.

Only servers of this machine: the address comes from a file, and mail must not be sent to whoever is named in it. A
mark at the end of each text recognises an offer that was taken and not answered for. (Not OpenCode's own `messageID`:
it sorts messages by that, and one of ours would be passed over or answered without end.)
"""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.parse

from atm.core.identifiers import derived_id
from atm.files.adapters.listeners import listener_among
from atm.files.formats.json_record import encode, to_bytes
from atm.vendors.agent_servers import ACCEPTED, REFUSED, UNKNOWN, ServerAnswer

SECONDS = 10.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LONGEST_ANSWER = 32 << 20
"""A session's whole conversation, in which we look for what was offered before."""


class OpenCodeServers:
    """Sessions of OpenCode on this machine."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds

    def is_of(self, url: str, pid: int) -> bool:
        return listener_among([pid], url) is not None

    def refusal(self, url: str, session: str) -> str:
        try:
            address, path = _place(url, session)
            status, said = self._ask(address, "GET", f"{path}/message")
        except OSError as error:
            return f"OpenCode at {url[:100]} does not answer: {error}"
        return "" if status == 200 else f"OpenCode at {address} says {status} of the session: {said[:200]}"

    def tell(self, url: str, session: str, id: str, text: str) -> ServerAnswer:
        try:
            address, path = _place(url, session)
        except OSError as error:
            return ServerAnswer(REFUSED, str(error))
        return self._tell(address, path, f"[atm:{derived_id(id)[:18]}]", text)

    def _tell(self, address: str, path: str, mark: str, text: str) -> ServerAnswer:
        try:
            is_there = self._holds(address, path, mark)
        except OSError as error:
            return ServerAnswer(REFUSED, f"OpenCode at {address} does not answer: {error}")
        if is_there:
            return ServerAnswer(ACCEPTED, f"OpenCode at {address} had taken it before; {mark} is in the session")
        return self._offer(address, path, mark, {"parts": [{"type": "text", "text": f"{text}\n{mark}"}]})

    def _offer(self, address: str, path: str, mark: str, body: dict[str, object]) -> ServerAnswer:
        """
        Without waiting for the model; a version that cannot do that takes it as context without a reply.

        204 is a yes. Any other 2xx is one only if the session holds the text then: OpenCode answers addresses that it
        does not know with its web page.
        """
        try:
            status, said = self._ask(address, "POST", f"{path}/prompt_async", body)
            if status in (404, 405) or (status == 200 and not self._holds(address, path, mark)):
                status, said = self._ask(address, "POST", f"{path}/message", {**body, "noReply": True})
            is_fine = 200 <= status < 300
            taken = status == 204 or (is_fine and (mark in said or self._holds(address, path, mark)))
        except OSError as error:
            return ServerAnswer(UNKNOWN, f"OpenCode at {address} did not say whether it took it: {error}")
        if taken:
            return ServerAnswer(ACCEPTED, f"OpenCode at {address} took it ({status}) as {mark}")
        if is_fine:
            return ServerAnswer(UNKNOWN, f"OpenCode at {address} said {status}, but the session does not hold it")
        return ServerAnswer(REFUSED, f"OpenCode at {address} refused it ({status}): {said[:200]}")

    def _holds(self, address: str, path: str, mark: str) -> bool:
        """Is a text with this mark in the session?"""
        status, said = self._ask(address, "GET", f"{path}/message")
        return status == 200 and said.lstrip().startswith("[") and mark in said

    def _ask(self, address: str, verb: str, path: str, body: dict[str, object] | None = None) -> tuple[int, str]:
        line = http.client.HTTPConnection(address, timeout=self._seconds)
        is_late, limit = threading.Event(), None
        try:
            data = to_bytes(encode(body)) if body is not None else None
            line.connect()
            # Against a server that answers one byte at a time, each of which would be within its own limit. The socket
            # itself: the connection forgets it when it is closed, or when the answer of an older HTTP begins.
            limit = threading.Timer(self._seconds, _cut, [line.sock, is_late])
            limit.daemon = True
            limit.start()
            line.request(verb, path, body=data, headers={"Content-Type": "application/json"})
            answer = line.getresponse()
            said = answer.read(LONGEST_ANSWER).decode("utf-8", "replace")
            if is_late.is_set():
                raise OSError(f"no whole answer within {self._seconds:g} s")
            return answer.status, said
        except (http.client.HTTPException, ValueError, AttributeError) as error:  # cut off in the middle, or no HTTP
            raise OSError(f"{type(error).__name__}: {error}") from error
        finally:
            if limit is not None:
                limit.cancel()
            line.close()


def _place(url: str, session: str) -> tuple[str, str]:
    """Host and port, and the session's path. Raises OSError for anything that is not a server of this machine."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise OSError(f"{url[:100]!r} is not an address") from None
    if parts.scheme != "http" or host not in LOOPBACK or not session:
        raise OSError(f"{url[:100]} is not a server of this machine")
    address = f"[{host}]:{port or 80}" if ":" in host else f"{host}:{port or 80}"
    return address, f"/session/{urllib.parse.quote(session, safe='', errors='replace')}"


def _cut(line: socket.socket, is_late: threading.Event) -> None:
    is_late.set()
    try:
        line.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
