"""
Writes `docs/reference/mcp-tools.md` from the catalogue that the MCP server itself shows, so that the page cannot
disagree with it.

Run it after a change of a tool: `.venv/bin/python docs/generate_mcp_reference.py`. `render()` gives the page to
whoever wants to compare.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from atm.ui.mcp.catalog import GROUPS, RESERVED, all_tools
from atm.ui.mcp.serving.roles import ROLES
from atm.ui.mcp.tool import Tool

PAGE = Path(__file__).resolve().parent / "reference" / "mcp-tools.md"

HEAD = """\
# MCP tools

Made by `docs/generate_mcp_reference.py` from the catalogue of the server. Do not edit this page; change the tool. What
holds for all of them (roles, sizes, errors) is in [mcp.md](mcp.md).

*Reads* means that a tool changes nothing; *again* that a second call with the same arguments changes nothing more;
*takes away* that something may be gone afterwards. Clients are told the same as annotations. Of what a tool gives, a
question mark stands behind what may be missing; there may be more than is listed, such as `warnings`.
"""


def render() -> str:
    """The whole page."""
    parts = [HEAD, _overview()]
    for group, about in GROUPS.items():
        parts.append(f"## {group}\n\n{about[0].upper()}{about[1:]}.\n")
        parts += [_section(tool) for tool in all_tools() if tool.group == group]
    names = ", ".join(f"`{name}`" for name in RESERVED)
    parts.append(f"## Reserved\n\nNames that later versions will use; nothing else is called so: {names}.\n")
    return "\n".join(parts)


def _overview() -> str:
    rows = [(tool.group, f"[`{tool.name}`](#{tool.name})", _effect(tool), *_marks(tool)) for tool in all_tools()]
    return _table(("Group", "Tool", "Effect", *ROLES), rows)


def _marks(tool: Tool) -> Iterator[str]:
    for role in ROLES:
        yield "yes" if role in tool.roles else ""


def _effect(tool: Tool) -> str:
    if tool.reads_only:
        return "reads"
    said = ["writes"]
    said += ["takes away"] if tool.destroys else []
    said += ["again"] if tool.idempotent else []
    return ", ".join(said)


def _section(tool: Tool) -> str:
    parts = [f"### `{tool.name}`\n", f"{_prose(tool.description)}\n"]
    rows = [_argument(name, schema, tool.input) for name, schema in _properties(tool.input).items()]
    parts.append(_table(("Argument", "Kind", "Needed", "Meaning"), rows) if rows else "It takes no arguments.\n")
    always = [str(name) for name in _listed(tool.output.get("required"))]
    given = [f"`{name}`" if name in always else f"`{name}`?" for name in _properties(tool.output)]
    parts.append(f"Gives {', '.join(given)}.\n")
    return "\n".join(parts)


def _argument(name: str, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> tuple[str, ...]:
    needed = "yes" if name in _listed(whole.get("required")) else ""
    return f"`{name}`", _kind(schema), needed, _prose(str(schema.get("description", "")))


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
        return f"list of {_kind(schema['items'])}{most}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    said = words.get(str(schema.get("type")), str(schema.get("type")))
    limits = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if schema.get(key)]
    return ", ".join([said, *limits])


_LIMITS = {"minimum": "from", "maximum": "to", "maxLength": "characters at most:"}


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _prose(text: str) -> str:
    return text.replace("<", "\\<")


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def main() -> None:
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")


if __name__ == "__main__":
    main()
