"""
The page in the daemon: nothing until somebody types `atm web`, then a port on this machine until it is closed.

It closes by `atm web --stop`, after eight hours in which nobody looked, and with the daemon. What it needs takes half a
second to import, so `open` only begins; whoever waits asks for the state.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from atm.core.errors import AtmError, NotAllowed
from atm.daemon.formats.control_line import BadLine
from atm.team.rules.agent_environment import OF_STARTED_AGENTS
from atm.team.services.standing import check_person
from atm.teamd.loops import in_thread
from atm.ui.cli.session import Session
from atm.ui.http.serving import HOST, listen
from atm.ui.web.doors import HUMAN, OBSERVER, REST_SECONDS, Doors, Visitor
from atm.vendors.known import in_agents_shells
from atm.wiring.mail import build_room

if TYPE_CHECKING:
    import socket

    import uvicorn

    from atm.core.plain import Plain
    from atm.daemon.formats.control_line import Request
    from atm.teamd.surfaces import DaemonFacts
    from atm.ui.web.app import WebApp

CLOSED, OPENING, OPEN, FAILED = "closed", "opening", "open", "failed"
STOP_SECONDS = 2.0
USUAL_PORT = 8420
SPEAKER = ("ATM_IDENTITY", "ATM_TEAM", "ATM_CONFIG", "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMUX")
"""Variables of whoever opened the page that commands of the page get: who speaks, and where things are found."""
OF_AGENTS = ("ATM_IDENTITY", "ATM_TEAM", "ATM_NOBODY", *OF_STARTED_AGENTS, *in_agents_shells())
"""Variables that a daemon may have from the agent that started it: no person at the page is that agent."""


class WebHost:
    """A surface of the daemon (`atm.teamd.surfaces`)."""

    name = "web"

    def __init__(self) -> None:
        self._facts: DaemonFacts | None = None
        self._state, self._problem, self._port = CLOSED, "", 0
        self._serving: asyncio.Task[None] | None = None
        self._server: uvicorn.Server | None = None
        self._doors: Doors | None = None
        self._app: WebApp | None = None
        self._closing: asyncio.Task[None] | None = None
        self._seen_at = 0.0

    async def start(self, facts: DaemonFacts) -> None:
        self._facts = facts

    async def keep_reachable(self) -> None:
        """Asked now and then: whoever has forgotten the page leaves no port open."""
        loop = asyncio.get_running_loop()
        if self._app is not None and self._app.listeners:
            self._seen_at = loop.time()
        if self._state == OPEN and loop.time() - self._seen_at > REST_SECONDS:
            self._log("info", "nobody looked for eight hours; closed")
            await self.stop()

    async def stop(self) -> None:
        serving, self._serving = self._serving, None
        if self._app is not None:
            self._app.close()
        if self._server is not None:
            self._server.should_exit = True
        if serving is not None:
            await asyncio.wait([serving], timeout=STOP_SECONDS)
            serving.cancel()
        self._state, self._port, self._server, self._doors, self._app = CLOSED, 0, None, None, None

    def facts(self) -> dict[str, Any]:
        visitors = [one.role for one in self._doors.visitors] if self._doors is not None else []
        watching = self._app.listeners if self._app is not None else 0
        return {"state": self._state, "port": self._port or None, "visitors": visitors, "watching": watching}

    # What `atm web` asks.

    async def answer(self, request: Request) -> Plain:
        match request.do:
            case "web-open":
                return self._open(request)
            case "web-state":
                return {**self.facts(), "problem": self._problem}
            case "web-invite":
                return await self._invite(request)
            case _:
                was = self._state
                self._closing = asyncio.ensure_future(self.stop())  # it may take longer than an answer may
                return {"was": was}

    requests = ("web-open", "web-state", "web-invite", "web-close")

    def _open(self, request: Request) -> Plain:
        port = request.fields.get("port")
        if self._state not in (OPEN, OPENING):
            self._state, self._problem = OPENING, ""
            wanted = port if isinstance(port, int) and not isinstance(port, bool) else 0
            self._serving = asyncio.ensure_future(self._serve(wanted))
        return {"state": self._state, "port": self._port or None}

    async def _invite(self, request: Request) -> Plain:
        role = OBSERVER if request.text("role") == OBSERVER else HUMAN
        if role == HUMAN:
            await in_thread(lambda: self._check_is_person(request))
        if self._doors is None or self._state != OPEN:
            raise BadLine("page-closed", "the page is not open; type `atm web` again", request.id)
        given = request.fields.get("environment")
        said = given if isinstance(given, dict) else {}
        visitor = Visitor(
            role,
            request.text("person"),
            request.text("folder"),
            {key: value for key, value in said.items() if key in SPEAKER and isinstance(value, str)},
        )
        self._seen_at = asyncio.get_running_loop().time()
        return {"url": f"http://{HOST}:{self._port}/login#{self._doors.invite(visitor)}", "port": self._port}

    def _check_is_person(self, request: Request) -> None:
        """`atm web` has looked already; an agent may ask us without it."""
        assert self._facts is not None
        room = build_room(self._facts.layout)
        room.acting_pid = request.pid
        try:
            check_person(room, "open the page")
        except NotAllowed as error:
            raise BadLine("not-allowed", str(error), request.id) from None

    # Serving.

    async def _serve(self, port: int) -> None:
        try:
            line = listen(port) if port else _listen_anywhere()
        except AtmError as error:
            self._fail(str(error))
            return
        try:
            await self._serve_at(line)
        except asyncio.CancelledError:
            pass  # it is closed
        except Exception as error:  # noqa: BLE001 - the daemon has other work than the page
            self._fail(f"{type(error).__name__}: {error}")
        finally:
            line.close()

    async def _serve_at(self, line: socket.socket) -> None:
        assert self._facts is not None
        environment = {key: value for key, value in self._facts.environment.items() if key not in OF_AGENTS}
        make = await in_thread(_load)
        port = line.getsockname()[1]
        loop = asyncio.get_running_loop()

        def touched() -> None:
            self._seen_at = loop.time()

        self._app, self._doors, gate = await in_thread(lambda: make(Session(environment), port, touched))
        from atm.ui.http.serving import web_server

        self._server = web_server(gate)
        touched()
        self._port, self._state = port, OPEN
        self._log("info", f"open at port {port}")
        await self._server.serve([line])
        self._state = CLOSED

    def _fail(self, why: str) -> None:
        self._state, self._problem, self._port = FAILED, why, 0
        self._log("error", why)

    def _log(self, level: str, text: str) -> None:
        if self._facts is not None:
            self._facts.log(level, self.name, text)


def _listen_anywhere() -> socket.socket:
    """At the usual port, so that links of yesterday work; at any if somebody has that."""
    try:
        return listen(USUAL_PORT)
    except AtmError:
        return listen(0)


def _load() -> Any:
    """Everything that serves, imported beside the daemon's other work."""
    with contextlib.suppress(ImportError):
        import uvicorn  # noqa: F401 - slow to import
    from atm.ui.web.building import build_page

    return build_page
