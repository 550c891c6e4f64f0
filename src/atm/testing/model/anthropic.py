"""Anthropic's messages: what Claude Code speaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atm.testing.model.answers import ModelAnswer, ModelFault
from atm.testing.model.dialect import INPUT_TOKENS, OUTPUT_TOKENS, Body, Dialect, Json, event, fresh, in_bits
from atm.testing.model.requests import CALL, RESULT, TEXT, Conversation, blocks, numbered, strings

USAGE = {
    "input_tokens": INPUT_TOKENS,
    "output_tokens": OUTPUT_TOKENS,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
ERRORS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


def read(_: str, body: Body) -> Conversation:
    system = [("system", TEXT, strings(block)) for block in blocks(body.get("system"))]
    said = [[_piece(str(one.get("role")), block) for block in blocks(one.get("content"))] for one in body["messages"]]
    wanted = ((body.get("output_config") or {}).get("format") or body.get("output_format") or {}).get("schema")
    names = tuple(str(tool.get("name")) for tool in body.get("tools") or [])
    return Conversation(numbered([system, *said]), names, str(body.get("model")), bool(body.get("stream")), wanted)


def _piece(role: str, block: Json) -> tuple[str, str, str]:
    kind = str(block.get("type"))
    if kind == "tool_use":
        return role, CALL, f"{block.get('name')} {strings(block.get('input'))}"
    if kind == "tool_result":
        return role, RESULT, strings(block.get("content"))
    return role, kind, str(block.get(kind, "")) if kind in (TEXT, "thinking") else ""


def whole(body: Body, answer: ModelAnswer) -> Json:
    return {
        "id": fresh("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": list(_content(answer)),
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _content(answer: ModelAnswer) -> Iterator[Json]:
    if answer.text or not answer.calls:
        yield {"type": "text", "text": answer.text}
    for call in answer.calls:
        yield {"type": "tool_use", "id": fresh("toolu_"), "name": call.tool, "input": dict(call.arguments)}


def events(body: Body, answer: ModelAnswer) -> list[str]:
    message = whole(body, answer)
    parts: list[Json] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
    calls = iter(answer.calls)
    for index, block in enumerate(message["content"]):
        started, deltas = _in_deltas(block, next(calls).as_text if block["type"] == "tool_use" else "")
        parts.append({"type": "content_block_start", "index": index, "content_block": started})
        parts += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        parts.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    parts += [{"type": "message_delta", "delta": ended, "usage": USAGE}, {"type": "message_stop"}]
    return [event(part, part["type"]) for part in parts]


def _in_deltas(block: Json, arguments: str) -> tuple[Json, list[dict[str, Any]]]:
    if block["type"] == "tool_use":
        bits = in_bits(arguments)
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": bit} for bit in bits]
    return {**block, "text": ""}, [{"type": "text_delta", "text": bit} for bit in in_bits(block["text"])]


def refusal(fault: ModelFault) -> Json:
    kind = ERRORS.get(fault.status, "api_error" if fault.status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": fault.message}, "request_id": fresh("req_")}


DIALECT = Dialect(
    *("anthropic", ("/messages",), read, whole, events, refusal),
    *(("/messages/count_tokens",), lambda: {"input_tokens": INPUT_TOKENS}),
)
