"""
What a scripted model answers: words, tool calls, a delay before them, or a failure instead of them.

Nothing here knows how a vendor writes an answer down; the dialects do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any, NamedTuple


class ToolCall(NamedTuple):
    """One call of a tool, by the name under which the request offers it; `raw` for tools that take plain text."""

    tool: str
    arguments: Mapping[str, Any]
    raw: str | None = None

    @property
    def as_text(self) -> str:
        return json.dumps(dict(self.arguments), ensure_ascii=False) if self.raw is None else self.raw


class ModelFault(NamedTuple):
    """A failure: an HTTP status, or a connection that breaks in the middle of the answer (`status` 0)."""

    status: int
    message: str
    retry_after: float | None = None

    @property
    def cuts_the_stream(self) -> bool:
        return self.status == 0


@dataclass(slots=True)
class ModelAnswer:
    """Text first, then calls, as the vendors' models do it."""

    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    seconds: float = 0.0
    """How long the model thinks."""
    awaited: Event | None = None
    """It answers when this is set: so a test can do something in the middle of a turn."""
    fault: ModelFault | None = None

    @property
    def in_words(self) -> str:
        """For people who look at a log."""
        if self.fault is not None:
            return f"fails: {self.fault.status or 'cut'} {self.fault.message}"
        calls = [f"{call.tool}({call.as_text})" for call in self.calls]
        return " + ".join([*([repr(self.text)] if self.text else []), *calls]) or "nothing"


BLAND = "ok."
"""Said to whoever is in no story, and to requests beside the conversation: titles, summaries, classifiers."""


def bland(schema: Mapping[str, Any] | None) -> ModelAnswer:
    """An answer that means nothing; where the request wants JSON of a shape, of that shape."""
    return ModelAnswer(BLAND if schema is None else json.dumps(_least(schema)))


def _least(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf"):
        return _least(schema["anyOf"][0])
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {name: _least(inner) for name, inner in (schema.get("properties") or {}).items()}
    return {"array": [], "integer": 1, "number": 1, "boolean": False, "null": None}.get(kind, BLAND)
