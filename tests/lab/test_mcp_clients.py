"""
`atm mcp` and clients that others wrote: the official conformance suite over HTTP, the inspector over both transports.

Most of the suite's scenarios are about tools, resources and prompts of an example server's. `example_server.py` offers
those beside ours, on our server. What does not pass is in `REFUSED`, and in docs/reference/mcp.md too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
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
OF_THE_EXAMPLES = (
    *("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
    *("tools-call-mixed-content", "tools-call-with-logging", "tools-call-error", "tools-call-with-progress"),
    *("tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
    *("resources-read-text", "resources-read-binary", "resources-templates-read"),
    *("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
)
"""Each asks for a tool, a resource or a prompt of the suite's own, such as `test_simple_text`."""

REFUSED = {"json-schema-2020-12": {"json-schema-2020-12-additionalProperties"}}
"""
For each scenario that does not pass the checks that fail. Of a tool's schema we leave out what is checked and need not
be read (`UNTOLD` in `schema.py`): every agent reads all of it. That other arguments are refused is of this kind.
"""

OF_ANOTHER_ERA = ("server-sse-polling",)
"""It asks in the name of a client of 2025-03-26, which cannot read the event that primes a stream: it warns."""

SECONDS = 120
TOOL_FAILED = 5


@pytest.fixture(scope="module")
def clients() -> mcp_clients.McpClients:
    found = mcp_clients.find() if os.environ.get("ATM_LAB") == "1" else None
    if found is None:
        pytest.skip(LAB)
    return found


@pytest.fixture(scope="module")
def one_for_all(clients: mcp_clients.McpClients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with house_for_many(tmp_path_factory.mktemp("mcp")) as house:
        yield from until_its_end(Served(house))


@pytest.fixture(scope="module")
def one_with_examples(clients: mcp_clients.McpClients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with house_for_many(tmp_path_factory.mktemp("examples")) as house:
        paths = os.pathsep.join([str(Path(__file__).parents[2]), house.atm.environment.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "tests.lab.example_server"]
        yield from until_its_end(Served(house, command, PYTHONPATH=paths.rstrip(os.pathsep)))


def until_its_end(made: Served) -> Iterator[Served]:
    yield made
    made.end()
    made.check()


def with_a_team(one: Served, folder: Path) -> Iterator[Served]:
    """Of a test's own, so that a token of its own has all its calls."""
    folder.mkdir()
    made = one.for_a_team(folder)
    yield made
    made.leave()


@pytest.fixture
def served(one_for_all: Served, tmp_path: Path) -> Iterator[Served]:
    yield from with_a_team(one_for_all, tmp_path / "here")


@pytest.fixture
def beside(one_with_examples: Served, tmp_path: Path) -> Iterator[Served]:
    """Ours, with the suite's examples."""
    yield from with_a_team(one_with_examples, tmp_path / "here")


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
    assert there == {*PASS, *OF_THE_EXAMPLES, *REFUSED, *OF_ANOTHER_ERA}


@pytest.mark.parametrize("scenario", PASS)
def test_the_official_suite_finds_nothing(clients, served, scenario):
    with bearing(served.token("--as", "ann"), served.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["status"] for one in checks} <= {"SUCCESS", "INFO"}, checks
    assert checks


@pytest.mark.parametrize("scenario", OF_THE_EXAMPLES)
def test_the_suite_finds_nothing_in_its_own_examples_beside_our_tools(clients, beside, scenario):
    with bearing(beside.token("--as", "ann"), beside.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["status"] for one in checks} <= {"SUCCESS", "INFO"}, checks
    assert checks


@pytest.mark.parametrize("scenario", REFUSED)
def test_what_does_not_pass_fails_for_its_reason_and_no_other(clients, beside, scenario):
    with bearing(beside.token("--as", "ann"), beside.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["id"] for one in checks if one["status"] == "FAILURE"} == REFUSED[scenario], checks


@pytest.mark.parametrize("scenario", OF_ANOTHER_ERA)
def test_what_is_of_another_era_is_warned_of(clients, served, scenario):
    with bearing(served.token("--as", "ann"), served.port) as url:
        checks = said_by(clients, "--url", url, "--scenario", scenario)
    assert {one["status"] for one in checks} == {"INFO", "WARNING"}, checks


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
