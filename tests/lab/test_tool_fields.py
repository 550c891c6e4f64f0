"""
Which argument each vendor's real program executes: a scripted model calls its tools with additional, renamed and
nested arguments, and what then lies in the folder is compared with what atm would judge.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest
from tests.lab.conftest import LabAgent

from atm.approvals.formats.tool_calls import read_tool_call

pytestmark = pytest.mark.lab

RECORDS = """#!/bin/sh
if [ "$1" = permit ]; then cat > "$HOME/asked.$$"; mv "$HOME/asked.$$" "$HOME/asked.$$.json"; exit 0; fi
exec {atm} "$@"
"""
"""In the place of atm: it writes down what a permission hook is given, and says nothing, so that the call runs."""

MORE: dict[str, Any] = {"rawInput": {"command": "touch raw.txt", "cmd": "touch raw-cmd.txt"}, "cwd": "elsewhere"}


def recording(agent: LabAgent) -> None:
    settings = agent.home / ".config/atm/config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[approvals]\ndefault = "ask-human"\n')
    agent.atm("init", "--vendor", agent.vendor.name)
    atm, script = os.path.join(os.path.dirname(sys.executable), "atm"), agent.home / "bin" / "atm"
    script.parent.mkdir(exist_ok=True)
    script.write_text(RECORDS.format(atm=atm))
    script.chmod(0o755)
    places = (".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json")
    for path in [*(agent.home / one for one in places), *agent.home.glob(".config/opencode/plugin*/*")]:
        if path.is_file():
            path.write_text(path.read_text().replace(atm, str(script)))


def shell(agent: LabAgent, **more: Any) -> tuple[str, dict[str, Any]]:
    """Its shell tool, its own field of the command, and one that only looks like it."""
    match agent.vendor.name:
        case "codex":
            return "exec_command", {"cmd": "touch own.txt", "command": "touch other.txt", **more}
        case "gemini":
            return "run_shell_command", {"command": "touch own.txt", "cmd": "touch other.txt", **more}
        case "opencode":
            return "bash", {"command": "touch own.txt", "cmd": "touch other.txt", "description": "x", **more}
        case _:
            return "Bash", {"command": "touch own.txt", "cmd": "touch other.txt", "description": "x", **more}


def test_what_its_program_executes_is_what_atm_reads(agent):
    recording(agent)
    (agent.folder / "elsewhere").mkdir()
    tool, given = shell(agent, **MORE)
    agent.vendor.shell(agent.story.first(), "touch plain.txt")
    agent.story.then().runs(tool, **given)
    agent.story.otherwise().says("done")
    agent.runs("begin")

    asked = [json.loads(path.read_bytes()) for path in agent.home.glob("asked.*.json")]
    read = [read_tool_call(agent.vendor.name, fields) for fields in asked]
    made = {str(path.relative_to(agent.folder)) for path in agent.folder.rglob("*.txt")}
    assert "plain.txt" in made
    assert {f"touch {name}" for name in made} == {call.command for call in read if call is not None}
    for fields, call in zip(asked, read, strict=True):
        assert call is not None
        assert bool(call.unclear) == ("rawInput" in fields["tool_input"])
