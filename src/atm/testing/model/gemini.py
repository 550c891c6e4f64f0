"""Gemini's generateContent and streamGenerateContent: what Gemini CLI speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from atm.testing.model.answers import ModelAnswer, ModelFault
from atm.testing.model.dialect import INPUT_TOKENS, OUTPUT_TOKENS, Body, Dialect, Json, event, in_bits
from atm.testing.model.requests import CALL, OWN, RESULT, TEXT, Conversation, numbered, strings

USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}
STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}


def read(path: str, body: Body) -> Conversation:
    system = body.get("systemInstruction") or {}
    system = system if isinstance(system, dict) else {"parts": [{"text": str(system)}]}
    contents = [{**system, "role": "system"}, *body.get("contents", [])]
    names = tuple(
        str(one.get("name")) for tool in body.get("tools") or [] for one in tool.get("functionDeclarations") or []
    )
    model = path.rpartition("/")[2].partition(":")[0]
    return Conversation(
        numbered(list(_pieces(content)) for content in contents), names, model, "stream" in path, _schema(body)
    )


def _schema(body: Body) -> Json | None:
    wanted = body.get("generationConfig") or {}
    if wanted.get("responseMimeType") != "application/json":
        return None
    return wanted.get("responseJsonSchema") or wanted.get("responseSchema") or {}


def _pieces(content: Json) -> Iterator[tuple[str, str, str]]:
    role = OWN if content.get("role") == "model" else str(content.get("role", "user"))
    for part in content.get("parts") or []:
        if "functionCall" in part:
            yield role, CALL, f"{part['functionCall'].get('name')} {strings(part['functionCall'].get('args'))}"
        elif "functionResponse" in part:
            yield role, RESULT, strings(part["functionResponse"].get("response"))
        elif TEXT in part:
            yield role, "thinking" if part.get("thought") else TEXT, str(part[TEXT])
        else:
            yield role, next(iter(part), ""), ""


def whole(_: Body, answer: ModelAnswer) -> Json:
    return _candidate(_parts(answer), finished=True)


def _parts(answer: ModelAnswer) -> list[Json]:
    said: list[Json] = [{"text": bit} for bit in in_bits(answer.text) or ([] if answer.calls else [""])]
    return said + [{"functionCall": {"name": call.tool, "args": _plain(call.arguments)}} for call in answer.calls]


def _plain(arguments: Any) -> Any:
    return json.loads(json.dumps(dict(arguments)))


def _candidate(parts: list[Json], *, finished: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finished:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "scripted"}


def events(_: Body, answer: ModelAnswer) -> list[str]:
    parts = _parts(answer)
    return [event(_candidate([part], finished=part is parts[-1])) for part in parts]


def refusal(fault: ModelFault) -> Json:
    status = STATUSES.get(fault.status, "UNAVAILABLE")
    return {"error": {"code": fault.status, "message": fault.message, "status": status}}


DIALECT = Dialect(
    *("gemini", (":generateContent", ":streamGenerateContent"), read, whole, events, refusal),
    *((":countTokens",), lambda: {"totalTokens": INPUT_TOKENS}),
)
