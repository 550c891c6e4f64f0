"""
What a model saw: where a text stands in the requests of one agent, in whose words, and in which frame.

Programs send the whole conversation with every request. So "once" means: it stands in some request, and in none of
them twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from atm.testing.model.requests import ModelRequest, Piece

TAG = re.compile(r"(?:<|&lt;)(/?)([A-Za-z][\w-]*)(?:\s[^<>]*?)?(?:>|&gt;)")
"""A tag, also one that was escaped on its way."""
PATIENCE = 120.0
"""Seconds. Programs start slowly on a busy machine, and nothing waits here when all is well."""


class Watched(Protocol):
    """What is needed of a model: its requests, and somebody who waits for more of them."""

    @property
    def requests(self) -> list[ModelRequest]: ...

    def wait_until(self, holds: Callable[[], bool], within: float) -> bool: ...


class Sighting(NamedTuple):
    """A text in a request."""

    request: ModelRequest
    piece: Piece
    offset: int
    """Where in the piece."""

    @property
    def role(self) -> str:
        return self.piece.role

    @property
    def kind(self) -> str:
        return self.piece.kind

    @property
    def position(self) -> int:
        """Which message of the request."""
        return self.piece.position

    @property
    def frame(self) -> tuple[str, ...]:
        """The tags around it, outermost first."""
        return frame_at(self.piece.text, self.offset)

    @property
    def is_last(self) -> bool:
        """Nothing stands behind the message that it is in: it is what the model answers to."""
        return self.position == self.request.said.pieces[-1].position

    def __str__(self) -> str:
        frame = "".join(f"<{tag}>" for tag in self.frame)
        return f"request {self.request.number}, message {self.position}, {self.role} {self.kind} {frame}".rstrip()


def frame_at(text: str, offset: int) -> tuple[str, ...]:
    """Tags that are open at this place and closed behind it. What is never closed is no frame."""
    tags = [(found.start(), bool(found[1]), found[2]) for found in TAG.finditer(text)]
    opened: list[str] = []
    for start, closes, name in tags:
        if start >= offset:
            break
        if not closes:
            opened.append(name)
        elif name in opened:
            del opened[len(opened) - 1 - opened[::-1].index(name) :]
    closed = {name for start, closes, name in tags if closes and start >= offset}
    return tuple(name for name in opened if name in closed)


def sightings_in(request: ModelRequest, text: str) -> list[Sighting]:
    """Everywhere in what the model was told; not where it said so itself."""
    return [
        Sighting(request, piece, found.start())
        for piece in request.told
        for found in re.finditer(re.escape(text), piece.text)
    ]


class SeenBy:
    """The requests of one agent, and questions about them. Requests beside the conversation do not count."""

    def __init__(self, model: Watched, agent: str) -> None:
        self._model = model
        self._agent = agent

    @property
    def requests(self) -> list[ModelRequest]:
        return [request for request in self._model.requests if request.agent == self._agent and request.takes_a_step]

    def all(self, text: str) -> list[Sighting]:
        return [sighting for request in self.requests for sighting in sightings_in(request, text)]

    def once(self, text: str) -> Sighting:
        """The first sighting, if no request holds it twice."""
        counts = [(request, sightings_in(request, text)) for request in self.requests]
        shown = [found[0] for _, found in counts if found]
        twice = [str(sighting) for _, found in counts if len(found) > 1 for sighting in found]
        if not shown:
            raise AssertionError(f"{self._agent} never saw {text!r} in {len(counts)} requests")
        if twice:
            raise AssertionError(f"{self._agent} saw {text!r} more than once:\n  " + "\n  ".join(twice))
        return shown[0]

    def never(self, text: str) -> None:
        """It was not seen so far."""
        if found := self.all(text):
            raise AssertionError(f"{self._agent} saw {text!r}:\n  " + "\n  ".join(map(str, found)))

    def eventually(self, text: str, within: float = PATIENCE) -> Sighting:
        """Wait until it is seen; then as `once`."""
        if not self._model.wait_until(lambda: bool(self.all(text)), within):
            raise AssertionError(f"{self._agent} did not see {text!r} within {within:g} s")
        return self.once(text)

    def asks(self, times: int = 1, within: float = PATIENCE) -> ModelRequest:
        """Wait for the request of this number, counted from one, and hand it out."""
        if not self._model.wait_until(lambda: len(self.requests) >= times, within):
            raise AssertionError(f"{self._agent} made {len(self.requests)} requests and not {times} in {within:g} s")
        return self.requests[times - 1]


def seen_by(model: Watched, agent: str) -> SeenBy:
    """What this agent's model saw."""
    return SeenBy(model, agent)
