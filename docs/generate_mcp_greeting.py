"""
Writes `src/atm/ui/mcp/stdio/greeting.txt`: what `atm mcp` says by itself while the daemon is still starting.

It is what the server itself answers to `initialize` and to requests for its lists, so that both say the same. Run it
after a change of a tool or a prompt, or of the SDK: `.venv/bin/python docs/generate_mcp_greeting.py`. `render()` gives
the file to whoever wants to compare: the versions that shake hands, the greeting, and each tool, prompt and template
behind the roles that see it and the list that it is in.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel

from atm.ui.mcp.catalog import all_tools
from atm.ui.mcp.hello import IdentityClaim, encode_hello
from atm.ui.mcp.prompts import PROMPTS
from atm.ui.mcp.resources import RESOURCES
from atm.ui.mcp.serving.in_process import open_line
from atm.ui.mcp.serving.roles import ROLES
from atm.ui.mcp.serving.server import prompt_entry, template_entry, tool_entry
from atm.wiring.files import find_layout

FILE = Path(__file__).resolve().parents[1] / "src/atm/ui/mcp/stdio/greeting.txt"


def render() -> str:
    """The whole file."""
    rows = [
        *(_row(tool.roles, "tools", tool_entry(tool)) for tool in all_tools()),
        *(_row(prompt.roles, "prompts", prompt_entry(prompt)) for prompt in PROMPTS),
        *(_row(ROLES, "resourceTemplates", template_entry(one)) for one in RESOURCES),
    ]
    return "\n".join([" ".join(HANDSHAKE_PROTOCOL_VERSIONS), _encoded(_greeting_of_its_own()), *rows]) + "\n"


def _row(roles: Collection[str], list: str, entry: BaseModel) -> str:
    said = _encoded(entry.model_dump(by_alias=True, mode="json", exclude_none=True))
    return f"{' '.join(role for role in ROLES if role in roles)}\t{list}\t{said}"


def _greeting_of_its_own() -> dict[str, Any]:
    """In a process of its own: a server leaves threads."""
    said = subprocess.run([sys.executable, __file__, "greeting"], capture_output=True, check=True).stdout
    result: dict[str, Any] = json.loads(said)
    return result


def _greeting() -> dict[str, Any]:
    """As a server in this process gives it to somebody whom it does not know."""
    params = {"protocolVersion": "none", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": "/usr/bin:/bin"}
        with open_line(find_layout(environment), environment) as line, line.makefile("rb") as said:
            line.sendall(encode_hello(IdentityClaim(folder="/")))
            said.readline()
            asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
            line.sendall(json.dumps(asked).encode() + b"\n")
            result: dict[str, Any] = json.loads(said.readline())["result"]
    return {**result, "protocolVersion": ""}


def _encoded(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__" and sys.argv[1:] == ["greeting"]:
    sys.stdout.write(_encoded(_greeting()))
elif __name__ == "__main__":
    FILE.write_text(render())
    sys.stdout.write(f"{FILE}\n")
