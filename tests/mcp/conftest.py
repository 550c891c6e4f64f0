"""
What the tests of the MCP server share: a daemon as users have it, a small offer of tools, and bounded waiting.

The SDK takes a second of every process that serves. So one daemon (`shared`) and one HTTP server (`served`) do for
most tests, each of which has a team of its own; those that end one, or use up what all share, have their own.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import UNHURRIED, Atm
from tests.teamd.conftest import DaemonProcess, SharedDaemon, daemon, house_for_many, team_in
from tests.teamd.conftest import house as plain_house
from tests.teamd.forked import BRISK, SDK, Process, start

from atm.core.errors import NoSuchMessage
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.hello import IdentityClaim
from atm.ui.mcp.offer import Offer
from atm.ui.mcp.schema import choice, gives, listed, takes, text, whole
from atm.ui.mcp.tool import BOSSES, EVERYBODY, Tool

__all__ = ["daemon", "plain_house"]

SECONDS = 120.0


@pytest.fixture
def house(plain_house: DaemonProcess) -> DaemonProcess:
    """As everywhere; its daemon has loaded already what the first client makes it load."""
    plain_house.loaded = SDK
    return plain_house


@pytest.fixture
def atm(atm: Atm) -> Atm:
    """As everywhere; on a busy machine nothing of it takes lateness for a fault."""
    atm.environment["PYTHONPATH"] = str(UNHURRIED)
    return atm


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """An async test, with an end."""

    async def bounded() -> Any:
        return await asyncio.wait_for(work, SECONDS)

    return asyncio.run(bounded())


async def until(condition: Callable[[], object], seconds: float = 240.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


# A few tools, each for one thing that can happen.


def _tool(name: str, call: Callable[..., dict[str, Any]], **more: Any) -> Tool:
    given = {"input": takes(), "output": {"type": "object"}, "roles": EVERYBODY, **more}
    return Tool(name=name, group="test", title=name.title(), description=f"does {name}", call=call, **given)


class World:
    """What the tools of a test did and wait for."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.hold = threading.Event()
        self.given_back: list[tuple[str, str]] = []

    def echo(self, caller: Caller, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(str(arguments["text"]))
        return {"said": f"{caller.member or 'nobody'}: {arguments['text']}"}

    def refuse(self, *_: Any) -> dict[str, Any]:
        raise NoSuchMessage("it is not there", "look elsewhere", "/some/file")

    def burst(self, *_: Any) -> dict[str, Any]:
        raise ZeroDivisionError("secret detail")

    def wait(self, *_: Any) -> dict[str, Any]:
        self.calls.append("wait")
        assert self.hold.wait(SECONDS)
        return {"waited": True}

    def much(self, _: Caller, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"rows": ["\u00e4" * 1000] * int(arguments["count"])}

    def odd(self, *_: Any) -> dict[str, Any]:
        return {"text": "half \ud83d of a face", "number": float("inf")}

    def offer(self) -> Offer:
        said = gives({"said": text()})
        return Offer(
            tools_for=lambda role: [tool for tool in self._tools(said) if role in tool.roles],
            not_delivered=lambda _, tool, __, why: self.given_back.append((tool, why)),
            resources=[Kind("atm://{team}/inbox/{member}", "inbox", "Inbox", "mail")],
            uris=lambda caller: [f"atm://{caller.team}/inbox/{caller.member}"],
            read=self._read,
            touched_by=lambda event, caller: (
                [f"atm://{caller.team}/inbox/{event.subject}"] if event.subject == caller.member else []
            ),
            prompts_for=lambda role: [Hint("help", "Help", "helps", {"about": "what"})] if role != "observer" else [],
            render=lambda caller, _, arguments: f"{caller.member} needs {arguments.get('about', 'nothing')}",
        )

    def _read(self, caller: Caller, uri: str) -> tuple[str, str]:
        if "large" in uri:
            return "text/plain", "x" * 200_000
        if not uri.endswith(f"/{caller.member}"):
            raise NoSuchMessage("not for you", "read your own")
        return "application/json", "{}"

    def _tools(self, said: dict[str, Any]) -> list[Tool]:
        return [
            _tool(
                "echo",
                self.echo,
                input=takes({"text": text(longest=100)}, {"mood": choice("good", "bad")}),
                output=said,
            ),
            _tool("refuse", self.refuse, output=said),
            _tool("burst", self.burst, output=said),
            _tool("wait", self.wait),
            _tool("much", self.much, input=takes({"count": whole()}), output=gives({"rows": listed(text())})),
            _tool("odd", self.odd, reads_only=True),
            _tool("rule", self.echo, input=takes({"text": text()}), output=said, roles=BOSSES, destroys=True),
        ]


@dataclass(frozen=True)
class Kind:
    uri: str
    name: str
    title: str
    description: str


@dataclass(frozen=True)
class Hint:
    name: str
    title: str
    description: str
    arguments: Mapping[str, str]


@pytest.fixture
def world() -> Any:
    made = World()
    yield made
    made.hold.set()  # no thread stays behind


def claim(**named: str) -> IdentityClaim:
    return IdentityClaim(**{"team": "crew", "member": "ann", "folder": "/", **named})


# `atm mcp` as a program, spoken to by hand.

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}


class Spoken:
    """A process that speaks lines of JSON."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._ids = iter(range(1, 10_000))
        self.notices: list[dict[str, Any]] = []

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it has ended with {self.process.wait(60)}"
        found: dict[str, Any] = json.loads(line)
        return found

    def begin(self, method: str, **params: Any) -> int:
        id = next(self._ids)
        self.say(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        return id

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer; what comes between is kept in `notices`."""
        id = self.begin(method, **params)
        while (said := self.hear()).get("id") != id:
            self.notices.append(said)
        return said

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = answer["result"]
        return result

    def shake_hands(self) -> dict[str, Any]:
        answer = self.ask("initialize", **INITIALIZE)
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        result: dict[str, Any] = answer["result"]
        return result

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture
def speak() -> Iterator[Callable[..., Spoken]]:
    """Start `atm mcp` with some words in a house; all of them are ended with the test."""
    started: list[Process] = []

    def speak_to(house: DaemonProcess, *words: str, env: dict[str, str] | None = None) -> Spoken:
        process = start(
            house.atm.command("mcp", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**house.atm.environment, **(env or {})},
            cwd=house.atm.folder,
            loaded=SDK,
        )
        started.append(process)
        return Spoken(process)

    yield speak_to
    for process in started:
        process.kill()
        process.wait(60)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass  # what was left to be written has no reader


# Processes that serve many tests.


@pytest.fixture(scope="session")
def _unhurried_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with house_for_many(tmp_path_factory.mktemp("m"), PYTHONPATH=str(UNHURRIED)) as made:
        made.fresh = True
        yield made.start_and_settle()


@pytest.fixture
def shared(_unhurried_house: DaemonProcess, tmp_path: Path) -> Iterator[SharedDaemon]:
    """A daemon that runs for this and other tests; here with a team of its own."""
    with team_in(_unhurried_house, tmp_path / "here") as made:
        yield made


@pytest.fixture(scope="session")
def _server_for_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from tests.mcp.served import Served

    with house_for_many(tmp_path_factory.mktemp("s"), PYTHONPATH=str(UNHURRIED)) as house:
        made = Served(house)
        yield made
        assert made.end() == 0
        made.check()


@pytest.fixture
def served(_server_for_many: Any, tmp_path: Path) -> Iterator[Any]:
    """`atm mcp --http`, without a daemon, for this and other tests; here with a team of its own."""
    folder = tmp_path / "here"
    folder.mkdir()
    made = _server_for_many.for_a_team(folder)
    yield made
    made.leave()


@pytest.fixture
def own_served(house: DaemonProcess, room: Any) -> Iterator[Any]:
    """The same for one test: it ends it, gives it a daemon, or takes all the calls that strangers have together."""
    from tests.mcp.served import Served

    made = Served(house, PYTHONPATH=f"{BRISK}:{UNHURRIED}")
    yield made
    if made.process.poll() is None:
        made.end()
    made.check()
