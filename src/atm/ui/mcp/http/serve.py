"""
`atm mcp --http`: the same server over streamable HTTP, on this machine only, for bearers of tokens.

In the foreground, until Ctrl-C. A token says who its bearer is; sessions of one bearer are of no use to another.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

from atm.access.services import find, living
from atm.core.errors import AtmError
from atm.teamd.events.hub import Hub, Listener
from atm.teamd.loops import in_thread
from atm.ui.http.serving import HOST, listen, web_server
from atm.ui.mcp.hello import IdentityClaim
from atm.ui.mcp.identity import FROM_TOKEN
from atm.ui.mcp.serving.daemon_events import follow_daemon
from atm.ui.mcp.serving.host import load_reception
from atm.ui.mcp.serving.in_process import say
from atm.wiring.daemon import build_access_tokens
from atm.wiring.mail import build_room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import uvicorn
    from starlette.types import Scope

    from atm.access.rules import AccessToken
    from atm.files.formats.layout import Layout
    from atm.ui.mcp.http.gate import Gate
    from atm.ui.mcp.serving.client import Client
    from atm.ui.mcp.serving.reception import Reception
    from atm.ui.mcp.serving.server import Context

PATH = "/mcp"
MOST_BODY = 4 << 20
MOST_SESSIONS = 200
CLIENT, TOKEN = "atm.client", "atm.token"


def serve(server: HttpServer, port: int, ready: Callable[[str, int], None]) -> None:
    """Until it is stopped. `ready` is told the address and the port when the first client may come."""
    gc.enable()  # off for commands that live for milliseconds
    line = listen(port)
    load_reception()
    port = line.getsockname()[1]
    asyncio.run(server.run(line, lambda: ready(f"http://{HOST}:{port}{PATH}", port)))


class HttpServer:
    """
    One server for all tokens; each has a client of its own, as a connection has in the daemon.

    Whoever has more to offer than atm brings a reception of that kind: the conformance suite's examples, say.
    """

    def __init__(
        self,
        layout: Layout,
        environment: Mapping[str, str],
        folder: str,
        opens: Callable[..., Reception] | None = None,
    ) -> None:
        self._layout = layout
        self._opens = opens
        self._tokens = build_access_tokens(layout)
        self._room = build_room(layout)
        self._folder = folder
        config = environment.get("ATM_CONFIG", "")
        self._config = os.path.abspath(config) if config else ""
        self._clients: dict[str, Client] = {}
        self._admitting = asyncio.Lock()
        self._reception: Reception | None = None

    async def run(self, line: socket.socket, ready: Callable[[], None]) -> None:
        from atm.ui.mcp.http.gate import Gate
        from atm.ui.mcp.serving.reception import hear_logger

        opens = self._opens or load_reception()
        self._reception = opens(self._layout, say, has_daemon=False)
        hear_logger("uvicorn", say)
        server = _web_server(Gate(self._app(), line.getsockname()[1], self._bearer, self._admit))
        following = asyncio.ensure_future(self._follow())
        ready()
        try:
            await server.serve([line])
        finally:
            following.cancel()
            for client in self._clients.values():
                await client.close()

    def _app(self) -> Any:
        assert self._reception is not None
        server = self._reception.server(_client_of)
        # Host and Origin are the gate's business, and stricter there.
        from mcp.server.transport_security import TransportSecuritySettings

        from atm.ui.mcp.http.events import RETRY_MILLISECONDS, KeptEvents
        from atm.ui.mcp.http.sessions import Sessions

        app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=MOST_BODY,
            max_sessions=MOST_SESSIONS,
            event_store=KeptEvents(),
            retry_interval=RETRY_MILLISECONDS,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        return Sessions(app, lambda scope: str(scope[TOKEN]))

    async def _bearer(self, secret: str) -> AccessToken | None:
        """None also if the tokens cannot be read: then nobody gets in (G8)."""
        try:
            known = await in_thread(self._good_tokens)
        except AtmError as error:
            say("error", "mcp", str(error))
            return None
        return find(known, secret)

    def _good_tokens(self) -> list[AccessToken]:
        return living(self._room, self._tokens.all())

    async def _admit(self, scope: Scope, token: AccessToken) -> None:
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken as SdkToken

        assert self._reception is not None
        bearer = _bearer_of(token)
        async with self._admitting:
            if bearer not in self._clients:
                claim = IdentityClaim(token.team, token.member, token.role, self._folder, self._config)
                self._clients[bearer] = await self._reception.admit(claim, FROM_TOKEN)
        scope[CLIENT], scope[TOKEN] = self._clients[bearer], bearer
        # The SDK keeps sessions apart by this.
        scope["user"] = AuthenticatedUser(SdkToken(token="", client_id=bearer, scopes=[]))

    async def _follow(self) -> None:
        """What the daemon tells, to everybody whose token is still good."""
        hub, listener = Hub(), Listener()
        hub.listen(listener)
        follow_daemon(self._layout, hub)
        while True:
            event = await listener.next()
            await self._forget_revoked()
            for client in [*self._clients.values()]:
                await client.hear(event)

    async def _forget_revoked(self) -> None:
        try:
            good = {_bearer_of(token) for token in await in_thread(self._good_tokens)}
        except AtmError:
            good = set()
        for id in [id for id in self._clients if id not in good]:
            await self._clients.pop(id).close()


def _bearer_of(token: AccessToken) -> str:
    """Who bears it, for as long as the token says the same: an id is short, and a file can be edited."""
    return "\n".join((token.sha256, token.team, token.member, token.role))


def _web_server(app: Gate) -> uvicorn.Server:
    """Stopped by the signals that stop programs."""
    server = web_server(app)

    def stop() -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C raises KeyboardInterrupt there
            asyncio.get_running_loop().add_signal_handler(number, stop)
    return server


def _client_of(ctx: Context) -> Client:
    assert ctx.request is not None  # every message over HTTP has one, and it came through the gate
    client: Client = ctx.request.scope[CLIENT]
    return client
