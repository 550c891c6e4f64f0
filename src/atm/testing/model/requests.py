"""
What a scripted model is asked, in the same words for every vendor: pieces of a conversation, and the tools on offer.

A piece stands at a position (which message of the request) and is a part of it (which block of the message). Roles are
those of the dialect, but for the model's own, which is always `assistant`; a result that has no role has `tool`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

OWN = "assistant"
TEXT, CALL, RESULT = "text", "call", "result"
"""Kinds of pieces. Others carry the name that the vendor gave them: `thinking`, `image`, ..."""


class Piece(NamedTuple):
    """A stretch of text that the model reads."""

    role: str
    kind: str
    text: str
    position: int
    part: int


class Conversation(NamedTuple):
    """What a dialect reads out of a request's body."""

    pieces: tuple[Piece, ...]
    offers: tuple[str, ...]
    """The names of the tools."""
    model: str
    streams: bool
    schema: Mapping[str, Any] | None = None
    """Of the answer, if it shall be JSON."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, as it was logged."""

    number: int
    agent: str
    dialect: str
    path: str
    said: Conversation
    body: Mapping[str, Any]
    at: float
    """On the monotonic clock, to be compared with others of this process."""
    wall: float

    @property
    def takes_a_step(self) -> bool:
        """A request without tools is not the conversation: the program asks for a title or a summary."""
        return bool(self.said.offers)

    @property
    def told(self) -> tuple[Piece, ...]:
        """What others said to the model; not what it said itself."""
        return tuple(piece for piece in self.said.pieces if piece.role != OWN)

    @property
    def news(self) -> tuple[Piece, ...]:
        """What was said since the model spoke last."""
        last = max((index for index, piece in enumerate(self.said.pieces) if piece.role == OWN), default=-1)
        return self.said.pieces[last + 1 :]

    @property
    def facts(self) -> dict[str, Any]:
        """For a log; the body is left out, because the pieces say it all."""
        return {
            "number": self.number,
            "wall": self.wall,
            "at": self.at,
            "agent": self.agent,
            "dialect": self.dialect,
            "path": self.path,
            "model": self.said.model,
            "offers": self.said.offers,
            "pieces": [piece._asdict() for piece in self.said.pieces],
        }


def numbered(messages: Iterable[Iterable[tuple[str, str, str]]]) -> tuple[Piece, ...]:
    """Pieces from messages of (role, kind, text)."""
    return tuple(
        Piece(role, kind, text, position, part)
        for position, message in enumerate(messages)
        for part, (role, kind, text) in enumerate(message)
    )


def blocks(content: Any) -> list[dict[str, Any]]:
    """Content is a text or a list of blocks, in three of the four dialects."""
    if isinstance(content, str):
        return [{"type": TEXT, TEXT: content}]
    return [block for block in content or [] if isinstance(block, dict)]


def strings(value: Any) -> str:
    """All texts in a value, one below the other: results come as a text, as blocks, or as an object."""
    return "\n".join(_leaves(value))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "type":
                yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
