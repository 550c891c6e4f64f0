"""The MCP inspector's command line, from npm: a client in another language, which checks what it is given."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs
from tests.proving import proves

from atm.ui.mcp.catalog import tools_for

NODE = Path(__file__).parents[1] / "node"

pytestmark = needs("node", node_package="@modelcontextprotocol/inspector")

TOOL_FAILED = 5
"""The exit code of the inspector for a result that is an error."""


class Inspector:
    """One run is one connection."""

    def __init__(self, house: Any, *words: str) -> None:
        self._house = house
        self._words = words

    def __call__(self, method: str, *options: str, code: int = 0) -> Any:
        done = subprocess.run(
            [
                "node",
                str(NODE / "node_modules/.bin/mcp-inspector"),
                "--cli",
                *self._words,
                "--method",
                method,
                *options,
            ],
            capture_output=True,
            env=self._house.atm.environment,
            cwd=self._house.atm.folder,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout)


@pytest.fixture
def inspect(shared: Any) -> Inspector:
    return Inspector(shared, *shared.atm.command("mcp", "--team", shared.team, "--as", "ann"))


def test_its_strictest_check_of_the_tools_finds_nothing(inspect):
    listed = inspect("tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == [tool.name for tool in tools_for("teammate")]


@proves("R002-27.2-48")
def test_it_calls_tools_and_tells_errors_from_answers(inspect, shared):
    sent = inspect("tools/call", "--tool-name", "mail_send", "--tool-arg", "to=bob", "text=hello")
    assert sent["structuredContent"]["message_id"] == shared.atm.rows("bob")[0]["message_id"]
    failed = inspect("tools/call", "--tool-name", "mail_send", "--tool-arg", "to=zed", "text=x", code=TOOL_FAILED)
    assert json.loads(failed["content"][0]["text"])["code"] == "no-such-member"


def test_it_reads_resources_and_prompts(inspect, shared):
    assert f"atm://{shared.team}/board" in [one["uri"] for one in inspect("resources/list")["resources"]]
    assert len(inspect("resources/templates/list")["resourceTemplates"]) == 3
    board = inspect("resources/read", "--uri", f"atm://{shared.team}/board")["contents"][0]
    assert json.loads(board["text"])["team"] == shared.team
    assert "ann" in inspect("prompts/get", "--prompt-name", "worker")["messages"][0]["content"]["text"]
