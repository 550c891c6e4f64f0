"""Programs that speak MCP: the SDK beside the installed atm, a bare echo server, and plain lines to talk to either."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from itertools import count
from pathlib import Path
from typing import Any, Self

from benchmarks.installation import Installation

SDK = "mcp"
PATIENCE = 60.0

ECHO = """
import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

async def list_tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="echo", input_schema=TEXT)])

async def call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["text"])])

async def main():
    server = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""
"""As little as a server of this SDK can do: the same layer of it that atm uses."""

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


# The SDK.


def install_sdk(installation: Installation) -> None:
    """Put it where the extra `mcp` would: copied from the environment that runs us, as no network is to be needed."""
    found = subprocess.run(
        [installation.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    packages = Path(found.stdout.strip())
    needed = _needed(SDK, {})
    if not needed:
        raise RuntimeError(f"the package `{SDK}` is missing here; the development environment has it")
    for distribution in needed.values():
        for file in distribution.files or ():
            if ".." not in file.parts and not (packages / file).exists():
                _copy(Path(str(distribution.locate_file(file))), packages / file)
    subprocess.run([installation.python, "-m", "compileall", "-q", str(packages)], check=False)


def _needed(wish: str, found: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    """By wish, such as `name[extra]`: the distribution, and all that it asks for and that is here."""
    name, _, extras = wish.partition("[")
    try:
        found[wish] = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return found  # for another system
    for line in found[wish].requires or ():
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)", line)
        wanted = re.match(r"[\w.-]+(\[[^\]]*\])?", line)
        is_for_us = extra is None or extra[1] in extras.rstrip("]").split(",")
        if is_for_us and wanted is not None and wanted[0] not in found:
            _needed(wanted[0], found)
    return found


def _copy(source: Path, target: Path) -> None:
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)  # with its time, by which bytecode knows its source


# Talking.


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it came."""

    line: bytes

    @property
    def result(self) -> dict[str, Any]:
        said = json.loads(self.line)
        if "result" not in said:
            raise RuntimeError(f"no result: {said}")
        result: dict[str, Any] = said["result"]
        return result

    @property
    def structured(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["structuredContent"]
        return found

    @property
    def text(self) -> str:
        """What most clients show their model."""
        return str(self.result["content"][0]["text"])

    def check(self) -> Answered:
        if self.result.get("isError"):
            raise RuntimeError(self.text)
        return self


class Talk:
    """A program, its standard input and its standard output."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str], folder: str) -> None:
        os.chdir(folder)  # posix_spawn takes no working folder
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        files = [(os.POSIX_SPAWN_DUP2, theirs_in, 0), (os.POSIX_SPAWN_DUP2, theirs_out, 1)]
        self.pid = os.posix_spawn(words[0], words, environment, file_actions=files)
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest = b""
        self._ids = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def initialize(self) -> Self:
        self.ask("initialize", INITIALIZE)
        return self

    def shake_hands(self) -> Self:
        return self.initialize().confirm()

    def confirm(self) -> Self:
        os.write(self._to, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self

    def hear(self) -> bytes:
        while b"\n" not in self._rest:
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError("the program has ended")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Answered:
        id = next(self._ids)
        os.write(self._to, request(id, method, params or {}))
        return self._answer(id)

    def _answer(self, id: int) -> Answered:
        """Told apart from notifications by a look at the text: parsing it would be on the clock."""
        sign = b'"id":%d,' % id
        while sign not in (line := self.hear())[:60]:
            pass
        return Answered(line)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Answered:
        return self.ask("tools/call", {"name": tool, "arguments": arguments or {}}).check()

    def time(self, tool: str, arguments: Mapping[str, Any]) -> float:
        """Seconds from the request to its answer."""
        id = next(self._ids)
        line = request(id, "tools/call", {"name": tool, "arguments": arguments})
        started = time.perf_counter()
        os.write(self._to, line)
        answer = self._answer(id)
        taken = time.perf_counter() - started
        answer.check()
        return taken

    def memory(self) -> tuple[int, int]:
        """Bytes that are resident, now and at most so far."""
        facts = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return int(facts["VmRSS"].split()[0]) * 1024, int(facts["VmHWM"].split()[0]) * 1024

    def end(self) -> None:
        """Most go when their input ends; a server that listens elsewhere has to be told."""
        os.close(self._to)
        os.close(self._from)
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while not os.waitpid(self.pid, os.WNOHANG)[0]:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.005)


def request(id: int, method: str, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


class HttpTalk:
    """A session over streamable HTTP, on one connection."""

    def __init__(self, port: int, secret: str) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {
            "authorization": f"Bearer {secret}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self._ids = count(1)
        answer, _ = self._post(request(next(self._ids), "initialize", INITIALIZE))
        self._headers["mcp-session-id"] = str(answer.getheader("mcp-session-id"))
        self._headers["mcp-protocol-version"] = INITIALIZE["protocolVersion"]  # type: ignore[assignment]
        self._post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def time(self, tool: str, arguments: Mapping[str, Any]) -> float:
        body = request(next(self._ids), "tools/call", {"name": tool, "arguments": arguments})
        started = time.perf_counter()
        _, said = self._post(body)
        taken = time.perf_counter() - started
        if b'"result"' not in said or b'"isError":true' in said:
            raise RuntimeError(f"no answer over HTTP: {said[:500]!r}")
        return taken

    def _post(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        self._line.request("POST", "/mcp", body, self._headers)
        answer = self._line.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status} over HTTP: {said[:500]!r}")
        return answer, said
