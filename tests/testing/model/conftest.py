"""A scripted model and somebody who asks it over plain HTTP, in each vendor's words."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from atm.testing.model import ScriptedModel

TOOLS = {
    "anthropic": [{"name": "Bash", "input_schema": {"type": "object"}}],
    "openai-responses": [{"type": "function", "name": "Bash"}],
    "openai-chat": [{"type": "function", "function": {"name": "Bash"}}],
    "gemini": [{"functionDeclarations": [{"name": "Bash"}]}],
}
PATHS = {
    "anthropic": "/v1/messages",
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/scripted:generateContent",
}
STREAMED_GEMINI = "/v1beta/models/scripted:streamGenerateContent?alt=sse"


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The data of a stream, without its closing mark."""
        lines = [line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


def ask(model: ScriptedModel, path: str, body: object, method: str = "POST") -> Answered:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=30)
    try:
        connection.request(method, path, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        return Answered(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
    finally:
        connection.close()


def prompt(dialect: str, *texts: str, tools: bool = True, stream: bool = False) -> dict[str, Any]:
    """A conversation: what the user said, what the model said, and so on in turn."""
    turns = [("user" if index % 2 == 0 else "assistant", text) for index, text in enumerate(texts)]
    body: dict[str, Any] = {"model": "scripted", "stream": stream}
    if dialect == "gemini":
        roles = {"user": "user", "assistant": "model"}
        body = {"contents": [{"role": roles[role], "parts": [{"text": text}]} for role, text in turns]}
    else:
        name = "input" if dialect == "openai-responses" else "messages"
        body[name] = [{"role": role, "content": text} for role, text in turns]
    return {**body, "tools": TOOLS[dialect]} if tools else body


class Caller:
    """An agent's program: asks in one dialect."""

    def __init__(self, model: ScriptedModel, dialect: str, agent: str = "bob") -> None:
        self.model = model
        self.dialect = dialect
        self.agent = agent

    def __call__(self, *texts: str, tools: bool = True, stream: bool = False, **more: Any) -> Answered:
        path = STREAMED_GEMINI if stream and self.dialect == "gemini" else PATHS[self.dialect]
        body = {**prompt(self.dialect, *texts, tools=tools, stream=stream), **more}
        return ask(self.model, f"/agent/{self.agent}{path}", body)


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as made:
        yield made


@pytest.fixture(params=sorted(PATHS))
def caller(request: pytest.FixtureRequest, model: ScriptedModel) -> Caller:
    return Caller(model, request.param)
