"""
A small language for what a scripted model does, so that a test reads as a story.

    story = Story("bob")
    story.first().runs("Bash", command="pytest -q")
    story.when(sees("mail from ann")).says("ann, the tests pass")
    story.otherwise().says("done")

A line has a condition and an answer. The first line in the order of writing that fits a request answers it, and is
used up; `whenever` and `otherwise` stay. Only requests that offer tools take a line.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

from atm.testing.model.answers import ModelAnswer, ModelFault, ToolCall, bland
from atm.testing.model.requests import ModelRequest

OVERLOADED = 529


class When:
    """A condition on a request; `&`, `|` and `~` put conditions together."""

    def __init__(self, words: str, holds: Callable[[ModelRequest], bool]) -> None:
        self.words = words
        self.holds = holds

    def __and__(self, other: When) -> When:
        return When(f"({self.words} and {other.words})", lambda request: self.holds(request) and other.holds(request))

    def __or__(self, other: When) -> When:
        return When(f"({self.words} or {other.words})", lambda request: self.holds(request) or other.holds(request))

    def __invert__(self) -> When:
        return When(f"not {self.words}", lambda request: not self.holds(request))

    def __repr__(self) -> str:
        return self.words


def sees(text: str) -> When:
    """It was told this, at some time in the conversation."""
    return When(f"sees {text!r}", lambda request: any(text in piece.text for piece in request.told))


def hears(text: str) -> When:
    """It was told this since it spoke last."""
    return When(f"hears {text!r}", lambda request: any(text in piece.text for piece in request.news))


def offered(tool: str) -> When:
    """It may use this tool: programs add those of MCP servers when these are ready."""
    return When(f"offered {tool!r}", lambda request: tool in request.said.offers)


ALWAYS = When("always", lambda _: True)


class StoryLine:
    """When it fits, and what the model answers then. Said and run things add up: several calls are made at once."""

    def __init__(self, when: When, *, stays: bool) -> None:
        self.when = when
        self.stays = stays
        self.is_over = False
        self.answer = ModelAnswer()

    def says(self, text: str) -> StoryLine:
        self.answer.text += text
        return self

    def runs(self, tool: str, /, **arguments: Any) -> StoryLine:
        self.answer.calls.append(ToolCall(tool, arguments))
        return self

    def writes(self, tool: str, text: str) -> StoryLine:
        """A call of a tool that takes plain text instead of arguments."""
        self.answer.calls.append(ToolCall(tool, {}, text))
        return self

    def after(self, seconds: float) -> StoryLine:
        self.answer.seconds = seconds
        return self

    def waits_for(self, event: Event) -> StoryLine:
        """Answers when the test says so, and not before."""
        self.answer.awaited = event
        return self

    def fails(self, status: int, message: str = "scripted", retry_after: float | None = None) -> StoryLine:
        self.answer.fault = ModelFault(status, message, retry_after)
        return self

    def is_overloaded(self) -> StoryLine:
        return self.fails(OVERLOADED, "Overloaded")

    def cuts(self, text: str = "This sentence will never be heard to its end.") -> StoryLine:
        """Begins to say this, and the connection breaks."""
        self.answer.fault = ModelFault(0, "the stream is cut")
        return self.says(text)


class Story:
    """What one agent's model does."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.steps = 0
        self._lines: list[StoryLine] = []
        self._otherwise: StoryLine | None = None

    def first(self) -> StoryLine:
        """For its first request, and no other."""
        return self._add(When("first", lambda _: self.steps == 0))

    def then(self) -> StoryLine:
        """For the next request after those of the lines above."""
        return self._add(ALWAYS)

    def when(self, condition: When) -> StoryLine:
        """Once, when this holds."""
        return self._add(condition)

    def whenever(self, condition: When) -> StoryLine:
        """Each time when this holds."""
        return self._add(condition, stays=True)

    def otherwise(self) -> StoryLine:
        """Whenever no line fits."""
        self._otherwise = StoryLine(ALWAYS, stays=True)
        return self._otherwise

    @property
    def untold(self) -> list[str]:
        """The conditions of lines that are still waited for. A story that ran to its end has none."""
        return [line.when.words for line in self._lines if not line.stays and not line.is_over]

    def take(self, request: ModelRequest) -> ModelAnswer:
        """The answer to this request. Called by the server, for one request at a time."""
        if not request.takes_a_step:
            return bland(request.said.schema)
        for line in self._lines:
            if not line.is_over and line.when.holds(request):
                break
        else:
            self.steps += 1
            return self._otherwise.answer if self._otherwise else bland(request.said.schema)
        self.steps += 1
        line.is_over = not line.stays
        return line.answer

    def _add(self, condition: When, *, stays: bool = False) -> StoryLine:
        line = StoryLine(condition, stays=stays)
        self._lines.append(line)
        return line
