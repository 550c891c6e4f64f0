"""
What a tool gave, or why not, as results of the protocol.

An answer is structured, and the same as JSON in a text: about half of all clients show their model only the text. An
error is only a text, because clients check structured content against the schema of the answer even when it is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from atm.formats.files.json_record import encode
from atm.ui.mcp.sizes import clean, fitted
from atm.ui.mcp.wording import body

if TYPE_CHECKING:
    from atm.domain.errors import AtmError
    from atm.domain.plain import Plain

LONGEST_ERROR = 4000


def success(value: dict[str, Plain]) -> CallToolResult:
    data, text, _ = fitted(value)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


def failure(error: AtmError) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=encode(plain_error(error)))], is_error=True)


def _said(text: str) -> str:
    """Errors name what others named: members, tasks, files."""
    return body(clean(text[:LONGEST_ERROR]))


def plain_error(error: AtmError) -> dict[str, Plain]:
    """The same codes as those of the command line."""
    return {
        "code": error.code,
        "error": _said(str(error)),
        "remedy": _said(error.remedy),
        "path": _said(error.path),
    }
