"""
OpenCode's own server: a text put into a session by HTTP. Implements `ports.agent_servers.AgentServers`.

Only servers of this machine: the address comes from a file, and mail must not be sent to whoever is named in it. The
message id goes along, so that a text that was offered and not answered for is recognised when it is offered again.
"""

from __future__ import annotations

import http.client
import urllib.parse

from atm.formats.json_record import encode, to_bytes
from atm.ports.agent_servers import ACCEPTED, REFUSED, UNKNOWN, Answer

SECONDS = 10.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LONGEST_ANSWER = 65_536


class OpenCodeServers:
    """Sessions of OpenCode on this machine."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds

    def tell(self, url: str, session: str, id: str, text: str) -> Answer:
        try:
            parts = urllib.parse.urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            return Answer(REFUSED, f"{url[:100]!r} is not an address")
        if parts.scheme != "http" or host not in LOOPBACK or not session:
            return Answer(REFUSED, f"{url[:100]} is not a server of this machine")
        return self._tell(f"{host}:{port or 80}" if ":" not in host else f"[{host}]:{port or 80}", session, id, text)

    def _tell(self, address: str, session: str, id: str, text: str) -> Answer:
        base = f"/session/{urllib.parse.quote(session, safe='')}"
        message = f"msg_{''.join(c for c in id if c.isalnum())}"
        body: dict[str, object] = {"messageID": message, "parts": [{"type": "text", "text": text}]}
        try:
            if self._ask(address, "GET", f"{base}/message/{message}")[0] == 200:
                return Answer(ACCEPTED, f"OpenCode at {address} had taken it before, as {message}")
        except OSError as error:
            return Answer(REFUSED, f"OpenCode at {address} does not answer: {error}")
        return self._offer(address, base, body)

    def _offer(self, address: str, base: str, body: dict[str, object]) -> Answer:
        """Without waiting for the model; a version that cannot do that takes it as context without a reply."""
        try:
            status, said = self._ask(address, "POST", f"{base}/prompt_async", body)
            if status in (404, 405):
                status, said = self._ask(address, "POST", f"{base}/message", {**body, "noReply": True})
        except OSError as error:
            return Answer(UNKNOWN, f"OpenCode at {address} did not say whether it took it: {error}")
        if 200 <= status < 300:
            return Answer(ACCEPTED, f"OpenCode at {address} took it ({status}) as {body['messageID']}")
        return Answer(REFUSED, f"OpenCode at {address} refused it ({status}): {said[:200]}")

    def _ask(self, address: str, verb: str, path: str, body: dict[str, object] | None = None) -> tuple[int, str]:
        line = http.client.HTTPConnection(address, timeout=self._seconds)
        try:
            data = to_bytes(encode(body)) if body is not None else None
            line.request(verb, path, body=data, headers={"Content-Type": "application/json"})
            answer = line.getresponse()
            return answer.status, answer.read(LONGEST_ANSWER).decode("utf-8", "replace")
        except http.client.HTTPException as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        finally:
            line.close()
