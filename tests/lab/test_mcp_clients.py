"""
`atm mcp` and clients that others wrote: the official conformance suite over HTTP, the inspector over both transports.

The suite is made for an example server: most of its scenarios call tools, read resources and get prompts of that
server's. Those cannot pass with any other one. `OF_ANOTHER_SERVER` says which, and docs/reference/mcp.md too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab import mcp_clients
from tests.lab.bearing import bearing
from tests.lab.conftest import LAB
from tests.mcp.served import Served
from tests.teamd.conftest import house_for_many

from atm.ui.mcp.catalog import tools_for

PASS = (
    *("server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list"),
    *("resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list"),
    *("server-sse-multiple-streams", "dns-rebinding-protection"),
)
OF_ANOTHER_SERVER = (
    *("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
    *("tools-call-mixed-content", "tools-call-with-logging", "tools-call-error", "tools-call-with-progress"),
    *("tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
    *("resources-read-text", "resources-read-binary", "resources-templates-read"),
    *("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
    "json-schema-2020-12",
)
"""Each asks for a tool, a resource or a prompt that only the suite's own server has, such as `test_simple_text`."""

OF_ANOTHER_ERA = ("server-sse-polling",)
"""It asks in the name of a client of 2025-03-26, which cannot read the event that primes a stream: it warns."""

SECONDS = 120
TOOL_FAILED = 5


@pytest.fixture
def clients() -> mcp_clients.McpClients:
    found = mcp_clients.find() if os.environ.get("ATM_LAB") == "1" else None
    if found is None:
        pytest.skip(LAB)
    return found


@pytest.fixture(scope="module")
def one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with house_for_many(tmp_path_factory.mktemp("mcp")) as house:
        made = Served(house)
        yield made
        made.end()
        made.check()


@pytest.fixture
def served(clients: mcp_clients.McpClients, one_for_all: Served, tmp_path: Path) -> Iterator[Served]:
    """With a team of its own, so that a token of its own has all its calls."""
    folder = tmp_path / "here"
    folder.mkdir()
    made = one_for_all.for_a_team(folder)
    yield made
    made.leave()


def said_by(clients: mcp_clients.McpClients, *words: str) -> list[dict[str, Any]]:
    """What a scenario found."""
    done = subprocess.run(
        [*clients.command(mcp_clients.CONFORMANCE), "server", *words, "--verbose"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    found = re.search(r"^\[.*^\]", done.stdout, re.DOTALL | re.MULTILINE)
    assert found, done.stdout + done.stderr
    checks: list[dict[str, Any]] = json.loads(found.group())
    return checks


def test_every_scenario_of_the_suite_is_accounted_for(clients):
    done = subprocess.run(
        [*clients.command(mcp_clients.CONFORMANCE), "list", "--server"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    there = set(re.findall(r"^  - ([\w-]+)", done.stdout.partition("Client scenarios")[0], re.MULTILINE))
    assert there == {*PASS, *OF_ANOTHER_SERVER, *OF_ANOTHER_ERA}


@pytest.mark.parametrize("scenario", PASS)
def test_the_official_suite_finds_nothing(clients, served, scenario):
    with bearing(served.token("--as", "ann"), served.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["status"] for one in checks} <= {"SUCCESS", "INFO"}, checks
    assert checks


@pytest.mark.parametrize("scenario", OF_ANOTHER_SERVER)
def test_what_is_of_another_server_is_refused_as_unknown_and_nothing_worse(clients, served, scenario):
    with bearing(served.token("--as", "ann"), served.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    failed = [str(one.get("errorMessage")) for one in checks if one["status"] == "FAILURE"]
    assert failed
    assert all(re.search(UNKNOWN, why) for why in failed), failed


@pytest.mark.parametrize("scenario", OF_ANOTHER_ERA)
def test_what_is_of_another_era_is_warned_of(clients, served, scenario):
    with bearing(served.token("--as", "ann"), served.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["status"] for one in checks} == {"INFO", "WARNING"}, checks


UNKNOWN = r"Unknown tool|Unknown prompt|there is no resource|[Tt]ool not found|not found"


class Inspector:
    """Its command line; one run is one connection."""

    def __init__(self, clients: mcp_clients.McpClients, environment: dict[str, str], folder: Path, *words: str) -> None:
        self._clients = clients
        self._environment = {**environment, "PATH": f"{clients.node.parent}{os.pathsep}{environment['PATH']}"}
        self._folder = folder
        self._words = words

    def __call__(self, method: str, *options: str, code: int = 0) -> Any:
        words = [*self._clients.command(mcp_clients.INSPECTOR), "--cli", *self._words, "--method", method, *options]
        done = subprocess.run(
            words, capture_output=True, env=self._environment, cwd=self._folder, timeout=SECONDS, check=False
        )
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout)


@pytest.fixture(params=["stdio", "http"])
def inspect(request: pytest.FixtureRequest, clients: mcp_clients.McpClients, served: Served) -> Iterator[Inspector]:
    there = (served.atm.environment, Path(served.atm.folder))
    if request.param == "stdio":
        quiet = {**there[0], "ATM_DAEMON_AUTOSTART": "0"}
        yield Inspector(clients, quiet, there[1], *served.atm.command("mcp", "--team", served.team, "--as", "ann"))
        return
    with bearing(served.token("--as", "ann"), served.port) as url:
        yield Inspector(clients, *there, url, "--transport", "http")


def test_the_inspector_s_strictest_check_of_the_tools_finds_nothing(inspect):
    assert [tool["name"] for tool in inspect("tools/list", "--strict")["tools"]] == [
        tool.name for tool in tools_for("teammate")
    ]


def test_the_inspector_calls_tools_and_tells_errors_from_answers(inspect):
    added = inspect("tools/call", "--tool-name", "board_add", "--tool-arg", "subject=x")
    claimed = inspect("tools/call", "--tool-name", "board_claim", "--tool-arg", "id=1")["structuredContent"]
    assert (added["structuredContent"]["task"]["id"], claimed["claimed"]) == ("1", True)
    refused = inspect("tools/call", "--tool-name", "board_show", "--tool-arg", "id=99", code=TOOL_FAILED)
    assert json.loads(refused["content"][0]["text"])["code"] == "no-such-task"
