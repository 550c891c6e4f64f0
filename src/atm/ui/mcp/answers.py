"""
What a tool gave, or why not, as results of the protocol.

An answer is structured, and the same as JSON in a text: about half of all clients show their model only the text. An
error is only a text, because clients check structured content against the schema of the answer even when it is none.

Whatever leaves the server passes here and is made harmless once more, keys too (D22): a field that another program
wrote, and that somebody forgot to put through `wording`, must not speak to a model as anything but data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from atm.files.formats.json_record import encode, to_bytes
from atm.ui.mcp.wording import body

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.errors import AtmError
    from atm.core.plain import Plain

LONGEST_ERROR = 4000


def success(value: dict[str, Plain]) -> CallToolResult:
    data, text, _ = fitted(value)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


def failure(error: AtmError) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=encode(plain_error(error)))], is_error=True)


def plain_error(error: AtmError) -> dict[str, Plain]:
    """The same codes as those of the command line."""
    return {
        "code": error.code,
        "error": harmless(str(error)[:LONGEST_ERROR]),
        "remedy": harmless(error.remedy[:LONGEST_ERROR]),
        "path": harmless(error.path[:LONGEST_ERROR]),
    }


# How much is said at once: no answer is larger than an agent's context can bear.

MOST_BYTES = 64 << 10
"""Of the text of one answer."""

CUT_NOTE = "\n[cut: this answer was larger than 64 KB; long texts and lists are shortened; ask for less at once]"
_ROUNDS = ((16_384, 1000), (4_096, 500), (1_024, 200), (256, 100), (256, 25), (64, 10), (16, 2))
"""Longest text and longest list, tried in this order until it fits."""

DEEPEST = 50
UNBOUNDED = 1 << 40


def fitted(value: dict[str, Plain]) -> tuple[dict[str, Plain], str, bool]:
    """The value, the same as JSON, and whether something had to be cut to stay below the limit."""
    for longest_text, longest_list in ((MOST_BYTES, MOST_BYTES), *_ROUNDS):
        smaller = {harmless(key): _cut(part, longest_text, longest_list, 1, harmless) for key, part in value.items()}
        text = encode(smaller)
        if _fits(text):
            break
    was_cut = longest_list != MOST_BYTES
    return smaller, text + CUT_NOTE if was_cut else text, was_cut


def _fits(text: str) -> bool:
    return len(text) <= MOST_BYTES and len(to_bytes(text)) <= MOST_BYTES - len(CUT_NOTE)


def clean(text: str) -> str:
    """JavaScript writes halves of characters and file names may be any bytes; the protocol's UTF-8 carries neither."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def harmless(text: str) -> str:
    """A text, or a part of one, as a model may see it. What is harmless already stays as it is."""
    return body(clean(text))


def _cut(value: Plain, text: int, items: int, depth: int, say: Callable[[str], str]) -> Plain:
    """Shorter texts and lists of the same shape, so that the answer still is what its schema says."""
    if isinstance(value, str):
        return say(value) if len(value) <= text else say(value[:text]) + " […]"
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [_cut(item, text, items, depth + 1, say) for item in value[:items]]
    if isinstance(value, dict):
        return {say(key): _cut(item, text, items, depth + 1, say) for key, item in value.items()}
    if isinstance(value, float) and value - value != 0:
        return None  # JSON has no infinity
    return value


def cleaned(value: Plain) -> Plain:
    """What a client sent, with nothing in it that UTF-8 cannot carry."""
    return _cut(value, UNBOUNDED, UNBOUNDED, 0, clean)


def shown(value: Plain) -> Plain:
    """What a client is shown, whole."""
    return _cut(value, UNBOUNDED, UNBOUNDED, 0, harmless)


def shortened(text: str) -> str:
    """A resource or prompt, cut at the limit; a cut one says so."""
    text = harmless(text)
    if _fits(text):
        return text
    kept = to_bytes(text)[: MOST_BYTES - 200].decode("utf-8", "ignore")
    return f"{kept}\n[cut: the first {len(kept)} of {len(text)} characters]"
