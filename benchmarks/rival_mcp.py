"""
A plain MCP mail server of the field, to measure atm beside: the official SDK, one process for each agent, a lock file,
`json` over the whole inbox, rename. It does not sync to disk, keeps no ledger and knows no other writer.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import anyio
from filelock import FileLock
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

FOLDER, ME = Path(sys.argv[1]), sys.argv[2]
SEND: dict[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "text": {"type": "string"}},
    "required": ["to", "text"],
}


def _change(owner: str, change: Any) -> Any:
    path = FOLDER / f"{owner}.json"
    with FileLock(f"{path}.lock"):
        rows = json.loads(path.read_bytes()) if path.exists() else []
        said = change(rows)
        if said is not None:
            beside = path.with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps(rows), encoding="utf-8")
            beside.replace(path)
    return said


def _send(to: str, text: str) -> dict[str, Any]:
    id = str(uuid.uuid4())
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def add(rows: list[dict[str, Any]]) -> str:
        rows.append({"from": ME, "text": text, "summary": text[:30], "timestamp": at, "msg_id": id, "read": False})
        return id

    return {"message_id": _change(to, add)}


def _read() -> dict[str, Any]:
    def take(rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        unread = [row for row in rows if not row.get("read")]
        for row in unread:
            row["read"] = True
        return [{key: row[key] for key in ("from", "text", "timestamp")} for row in unread] or None

    return {"messages": _change(ME, take) or []}


async def list_tools(ctx: Any, params: Any) -> ListToolsResult:  # noqa: ARG001 - the SDK's signature
    return ListToolsResult(
        tools=[Tool(name="mail_send", input_schema=SEND), Tool(name="mail_read", input_schema={"type": "object"})]
    )


async def call_tool(ctx: Any, params: Any) -> CallToolResult:  # noqa: ARG001 - the SDK's signature
    given = params.arguments or {}
    said = _send(given["to"], given["text"]) if params.name == "mail_send" else _read()
    text = TextContent(type="text", text=json.dumps(said))
    return CallToolResult(content=[text], structured_content=said)


async def main() -> None:
    server: Server[Any] = Server("plain", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
