"""OpenAI's chat completions: what OpenCode and most other programs speak."""

from __future__ import annotations

import time
from collections.abc import Iterator

from atm.testing.model.answers import ModelAnswer
from atm.testing.model.dialect import INPUT_TOKENS, OUTPUT_TOKENS, Body, Dialect, Json, event, fresh, in_bits
from atm.testing.model.openai_errors import refusal
from atm.testing.model.requests import CALL, OWN, RESULT, TEXT, Conversation, blocks, numbered, strings

USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(_: str, body: Body) -> Conversation:
    names = tuple(str((tool.get("function") or tool).get("name")) for tool in body.get("tools") or [])
    wanted = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    pieces = numbered(list(_pieces(message)) for message in body["messages"])
    return Conversation(pieces, names, str(body.get("model")), bool(body.get("stream")), wanted)


def _pieces(message: Json) -> Iterator[tuple[str, str, str]]:
    role = str(message.get("role"))
    for block in blocks(message.get("content")):
        if role == "tool":
            yield role, RESULT, strings(block)
        elif block.get("type") == TEXT:
            yield role, TEXT, str(block.get("text"))
        else:
            yield role, str(block.get("type")), ""
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        yield OWN, CALL, f"{function.get('name')} {function.get('arguments')}"


def whole(body: Body, answer: ModelAnswer) -> Json:
    message: Json = {"role": OWN, "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    return {**_base(body), "object": "chat.completion", "choices": [choice], "usage": USAGE}


def _base(body: Body) -> Json:
    return {"id": fresh("chatcmpl-"), "created": int(time.time()), "model": body.get("model")}


def _calls(answer: ModelAnswer) -> list[Json]:
    return [
        {"id": fresh("call_"), "type": "function", "function": {"name": call.tool, "arguments": call.as_text}}
        for call in answer.calls
    ]


def _finish(answer: ModelAnswer) -> str:
    return "tool_calls" if answer.calls else "stop"


def events(body: Body, answer: ModelAnswer) -> list[str]:
    chunk = {**_base(body), "object": "chat.completion.chunk"}
    deltas: list[Json] = [{"role": OWN, "content": ""}, *({"content": bit} for bit in in_bits(answer.text))]
    for index, call in enumerate(_calls(answer)):
        bits = in_bits(call["function"]["arguments"])
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": bit}}]} for bit in bits]
    choices: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": _finish(answer)})
    said = [event({**chunk, "choices": [choice]}) for choice in choices]
    return [*said, event({**chunk, "choices": [], "usage": USAGE}), event("[DONE]")]


DIALECT = Dialect("openai-chat", ("/chat/completions",), read, whole, events, refusal)
