"""What the scripted model says over raw HTTP, in each vendor's protocol, whole and as a stream."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from tests.testing.model.conftest import PATHS, Answered, Caller, ask

SENTENCE = "All is well, and more words than one event of a stream can hold."


def said_in(dialect: str, answer: Answered, *, stream: bool) -> str:
    """The text of an answer, put together as a program does."""
    if not stream:
        return {"anthropic": _text_of_blocks, "openai-responses": _text_of_output}.get(dialect, _text_of_rest)(
            answer.json
        )
    found = []
    for event in answer.events:
        if dialect == "anthropic":
            found.append(event.get("delta", {}).get("text", ""))
        elif dialect == "openai-responses":
            found.append(event["delta"] if event["type"] == "response.output_text.delta" else "")
        else:
            found.append(_text_of_rest(event))
    return "".join(found)


def _text_of_blocks(body: Any) -> str:
    return "".join(block.get("text", "") for block in body["content"])


def _text_of_output(body: Any) -> str:
    return "".join(block["text"] for item in body["output"] for block in item.get("content", []))


def _text_of_rest(body: Any) -> str:
    if "candidates" in body:
        return "".join(part.get("text", "") for part in body["candidates"][0]["content"]["parts"])
    return "".join((one.get("message") or one.get("delta")).get("content") or "" for one in body["choices"])


def calls_in(dialect: str, answer: Answered, *, stream: bool) -> list[tuple[str, Any]]:
    """Names and arguments of the calls in an answer."""
    return {
        "anthropic": _calls_of_blocks,
        "openai-responses": _calls_of_output,
        "openai-chat": _calls_of_choices,
        "gemini": _calls_of_parts,
    }[dialect](answer.events if stream else [answer.json], stream)


def _calls_of_blocks(bodies: list[Any], stream: bool) -> list[tuple[str, Any]]:
    if not stream:
        return [(block["name"], block["input"]) for block in bodies[0]["content"] if block["type"] == "tool_use"]
    names = {body["index"]: body["content_block"]["name"] for body in bodies if body["type"] == "content_block_start"}
    bits: dict[int, str] = dict.fromkeys(names, "")
    for body in bodies:
        if body["type"] == "content_block_delta":
            bits[body["index"]] += body["delta"]["partial_json"]
    return [(names[index], json.loads(bits[index])) for index in names]


def _calls_of_output(bodies: list[Any], stream: bool) -> list[tuple[str, Any]]:
    items = bodies[-1]["response"]["output"] if stream else bodies[0]["output"]
    return [(item["name"], json.loads(item["arguments"])) for item in items if item["type"] == "function_call"]


def _calls_of_choices(bodies: list[Any], stream: bool) -> list[tuple[str, Any]]:
    if not stream:
        calls = [call["function"] for call in bodies[0]["choices"][0]["message"]["tool_calls"]]
        return [(call["name"], json.loads(call["arguments"])) for call in calls]
    names: dict[int, str] = {}
    bits: dict[int, str] = {}
    for body in bodies:
        for choice in body["choices"]:
            for call in choice["delta"].get("tool_calls", []):
                names.setdefault(call["index"], call["function"].get("name"))
                bits[call["index"]] = bits.get(call["index"], "") + call["function"]["arguments"]
    return [(names[index], json.loads(bits[index])) for index in names]


def _calls_of_parts(bodies: list[Any], _: bool) -> list[tuple[str, Any]]:
    parts = [part for body in bodies for part in body["candidates"][0]["content"]["parts"]]
    return [(part["functionCall"]["name"], part["functionCall"]["args"]) for part in parts if "functionCall" in part]


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_arrives(caller, stream):
    caller.model.story("bob").first().says(SENTENCE)
    assert said_in(caller.dialect, caller("hello", stream=stream), stream=stream) == SENTENCE


@pytest.mark.parametrize("stream", [False, True])
def test_several_calls_arrive_at_once(caller, stream):
    line = caller.model.story("bob").first().runs("Bash", command="pytest -q --a-long-option=so-that-it-is-split")
    line.runs("Read", path="ä.txt", lines=[1, 2])
    assert calls_in(caller.dialect, caller("hello", stream=stream), stream=stream) == [
        ("Bash", {"command": "pytest -q --a-long-option=so-that-it-is-split"}),
        ("Read", {"path": "ä.txt", "lines": [1, 2]}),
    ]


def test_a_stream_tells_how_it_ended(model):
    model.story("bob").first().runs("Bash", command="true")
    model.story("ann").first().says("done")
    called = Caller(model, "anthropic")("hello", stream=True)
    assert [event["type"] for event in called.events][-2:] == ["message_delta", "message_stop"]
    assert called.events[-2]["delta"]["stop_reason"] == "tool_use"
    said = Caller(model, "openai-chat", "ann")("hello", stream=True)
    assert said.text.endswith("data: [DONE]\n\n")
    assert said.headers["content-type"] == "text/event-stream"
    assert said.events[-2]["choices"][0]["finish_reason"] == "stop"


def test_a_tool_in_a_namespace_and_one_that_takes_plain_text(model):
    model.story("bob").first().runs("mcp__atm/mail_send", to="ann").writes("apply_patch", "*** Begin")
    first, second = Caller(model, "openai-responses")("hello").json["output"]
    assert (first["namespace"], first["name"]) == ("mcp__atm", "mail_send")
    assert (second["type"], second["input"]) == ("custom_tool_call", "*** Begin")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/v1/messages/count_tokens", {"input_tokens": 100}),
        ("/v1beta/models/scripted:countTokens", {"totalTokens": 100}),
    ],
)
def test_tokens_are_counted_and_take_no_step(model, path, answer):
    model.story("bob").first().says("hello")
    assert ask(model, f"/agent/bob{path}", {"messages": []}).json == answer
    assert model.requests == []


def test_a_request_without_tools_takes_no_step(caller):
    story = caller.model.story("bob")
    story.first().says(SENTENCE)
    assert said_in(caller.dialect, caller("a title, please", tools=False), stream=False) == "ok."
    assert story.untold == ["first"]
    assert not caller.model.requests[0].takes_a_step


def test_a_request_beside_the_conversation_gets_json_of_the_shape_that_it_wants(model):
    schema = {
        "type": "object",
        "properties": {"next": {"enum": ["user", "model"]}, "score": {"type": "integer"}, "why": {"type": "STRING"}},
    }
    wanted = {"responseMimeType": "application/json", "responseSchema": schema}
    answer = Caller(model, "gemini")("who is next?", tools=False, generationConfig=wanted)
    text = said_in("gemini", answer, stream=False)
    assert json.loads(text) == {"next": "user", "score": 1, "why": "ok."}


@pytest.mark.parametrize("status", [429, 500, 529])
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_has_its_status_and_a_body_in_the_words_of_the_vendor(caller, status, stream):
    caller.model.story("bob").first().fails(status, "not today", retry_after=2)
    answer = caller("hello", stream=stream)
    assert answer.status == status
    assert answer.headers["retry-after"] == "2"
    assert answer.json["error"]["message"] == "not today"


def test_an_overload_is_called_by_its_name(model):
    model.story("bob").first().is_overloaded()
    answer = Caller(model, "anthropic")("hello")
    assert (answer.status, answer.json["error"]["type"]) == (529, "overloaded_error")


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_cut_breaks_the_connection_and_the_next_one_is_whole(caller, stream):
    story = caller.model.story("bob")
    story.first().cuts(SENTENCE)
    story.then().says(SENTENCE)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        caller("hello", stream=stream)
    assert said_in(caller.dialect, caller("hello", stream=stream), stream=stream) == SENTENCE


def test_models_are_listed_and_anything_else_is_noticed(model):
    assert ask(model, "/agent/bob/v1/models", None, "GET").json["data"][0]["id"] == "scripted"
    assert ask(model, "/telemetry", {"who": "me"}).status == 404
    assert model.strays == ["POST /telemetry"]


@pytest.mark.parametrize("path", sorted(PATHS.values()))
def test_a_body_that_is_no_conversation_is_refused_and_the_server_goes_on(model, path):
    said = {"messages": 7, "input": [7], "contents": 7}
    assert ask(model, path, said).status == 400
    assert len(model.strays) == 1
    assert ask(model, "/v1/messages", {"messages": []}).status == 200


def test_a_program_that_keeps_its_connection_is_served_again_on_it(model):
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=30)
    for _ in range(2):
        connection.request("POST", "/agent/bob/v1/messages", json.dumps({"messages": [], "stream": True}))
        assert connection.getresponse().read().decode().startswith("event: message_start\n")
    connection.close()
    assert len(model.requests) == 2


def test_a_body_in_chunks_is_read(model):
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=30)
    bits = [b'{"messages": [{"role": "user", ', b'"content": "in bits"}]}']
    connection.request("POST", "/agent/bob/v1/messages", iter(bits), encode_chunked=True)
    assert connection.getresponse().status == 200
    connection.close()
    assert model.requests[0].told[0].text == "in bits"
