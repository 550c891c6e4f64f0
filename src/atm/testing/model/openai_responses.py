"""
OpenAI's responses: what Codex speaks.

Tools come alone or in namespaces (Codex offers an MCP server as one); one of a namespace is named `space/tool` here.
"""

from __future__ import annotations

from collections.abc import Iterator

from atm.testing.model.answers import ModelAnswer, ToolCall
from atm.testing.model.dialect import INPUT_TOKENS, OUTPUT_TOKENS, Body, Dialect, Json, event, fresh, in_bits
from atm.testing.model.openai_errors import refusal
from atm.testing.model.requests import CALL, OWN, RESULT, TEXT, Conversation, blocks, numbered, strings

USAGE = {
    "input_tokens": INPUT_TOKENS,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": OUTPUT_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(_: str, body: Body) -> Conversation:
    system = [("system", TEXT, str(body["instructions"]))] if body.get("instructions") else []
    given = body.get("input")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    pieces = numbered([system, *(list(_pieces(item)) for item in items)])
    wanted = ((body.get("text") or {}).get("format") or {}).get("schema")
    return Conversation(pieces, tuple(_names(body)), str(body.get("model")), bool(body.get("stream")), wanted)


def _names(body: Body) -> Iterator[str]:
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            yield from (f"{tool.get('name')}/{inner.get('name')}" for inner in tool.get("tools") or [])
        else:
            yield str(tool.get("name") or tool.get("type"))


def _pieces(item: Json) -> Iterator[tuple[str, str, str]]:
    kind = str(item.get("type", "message"))
    if kind == "message":
        for block in blocks(item.get("content")):
            yield str(item.get("role")), TEXT, str(block.get("text", ""))
    elif kind.endswith("_output"):
        yield "tool", RESULT, strings(item.get("output"))
    elif kind.endswith("_call"):
        yield OWN, CALL, f"{item.get('name')} {item.get('arguments') or item.get('input') or ''}"
    else:
        yield OWN, kind, strings(item.get("summary"))


def whole(body: Body, answer: ModelAnswer) -> Json:
    return {
        "id": fresh("resp_"),
        "object": "response",
        "status": "completed",
        "model": body.get("model"),
        "output": list(_output(answer)),
        "usage": USAGE,
    }


def _output(answer: ModelAnswer) -> Iterator[Json]:
    if answer.text or not answer.calls:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        yield {"type": "message", "id": fresh("msg_"), "role": OWN, "status": "completed", "content": content}
    yield from (_call(call) for call in answer.calls)


def _call(call: ToolCall) -> Json:
    space, _, name = call.tool.rpartition("/")
    facts: Json = {"call_id": fresh("call_"), "name": name, "status": "completed"}
    if space:
        facts["namespace"] = space
    if call.raw is not None:
        return {"type": "custom_tool_call", "id": fresh("ctc_"), **facts, "input": call.raw}
    return {"type": "function_call", "id": fresh("fc_"), **facts, "arguments": call.as_text}


def events(body: Body, answer: ModelAnswer) -> list[str]:
    done = whole(body, answer)
    parts: list[Json] = [
        {"type": "response.created", "response": {**done, "status": "in_progress", "output": [], "usage": None}}
    ]
    for index, item in enumerate(done["output"]):
        begun = {**item, "status": "in_progress"}
        parts.append(
            {"type": "response.output_item.added", "output_index": index, "item": begun | _empty(item["type"])}
        )
        if item["type"] == "message":
            where = {"item_id": item["id"], "output_index": index, "content_index": 0}
            parts += [{"type": "response.output_text.delta", **where, "delta": bit} for bit in in_bits(answer.text)]
        parts.append({"type": "response.output_item.done", "output_index": index, "item": item})
    parts.append({"type": "response.completed", "response": done})
    return [event({**part, "sequence_number": number}, part["type"]) for number, part in enumerate(parts)]


def _empty(kind: str) -> Json:
    """An item before any of it has come."""
    names = {"message": "content", "function_call": "arguments"}
    return {names.get(kind, "input"): [] if kind == "message" else ""}


DIALECT = Dialect("openai-responses", ("/responses",), read, whole, events, refusal)
