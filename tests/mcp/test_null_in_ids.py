"""A zero character in an id, also as `%00`, is refused in clear words by every tool: never a traceback."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mcp.crew import Crew

from atm.core.errors import AtmError
from atm.ui.mcp.catalog import tools_for


@pytest.fixture
def crew(layout) -> Crew:
    return Crew(layout)


TOOLS: dict[str, Any] = {tool.name: tool for tool in [*tools_for("lead"), *tools_for("member")]}


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("text", ["\0", "1\0", "%00", "1%00"], ids=["zero", "one-zero", "percent", "one-percent"])
def test_no_tool_falls_over_a_zero(crew, name, text):
    crew.add()
    properties = TOOLS[name].input["properties"]
    needed = TOOLS[name].input.get("required", [])
    texts = [key for key, kind in properties.items() if kind.get("type") == "string" and "enum" not in kind]
    for key in texts:
        others = {one: _plain(properties[one]) for one in needed if one != key}
        assert "\0" not in _outcome(crew, name, {**others, key: text})
    assert crew.call("lena", "board_list")["tasks"]


def _plain(kind):
    if "enum" in kind:
        return kind["enum"][0]
    return {"string": "1", "integer": 1, "number": 1, "boolean": False, "array": ["1"]}.get(kind.get("type"), "1")


def _outcome(crew, name, arguments):
    """What is told of it; anything but an answer or an error of ours ends the test."""
    try:
        crew.call("lena", name, **arguments)
    except AtmError as error:
        return str(error)
    return "it was done"
