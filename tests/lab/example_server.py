"""
`atm mcp --http` with the conformance suite's examples beside our own tools, resources and prompts.

    ATM_HOME=… python -m tests.lab.example_server

What an `Offer` can say is offered through it, and is served as ours is: checked, called in a thread, put into the
protocol. Ours never give pictures or sounds and never ask back; examples that do are answered here, behind the same
gate, sessions, events and middleware.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import os
import re
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.context import HandlerResult

from atm.core.errors import RequestError
from atm.files.adapters.machine import find_layout
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.definition import define
from atm.ui.mcp.http.serve import HttpServer, serve
from atm.ui.mcp.offer import Offer, full_offer
from atm.ui.mcp.schema import gives, text
from atm.ui.mcp.serving.client import Client
from atm.ui.mcp.serving.reception import Reception
from atm.ui.mcp.serving.server import AtmServer, Context
from atm.ui.mcp.tool import Tool

Content = types.TextContent | types.ImageContent | types.AudioContent | types.EmbeddedResource


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_HEADER = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
_PIXEL = zlib.compress(b"\x00\xff\x00\x00")
_PNG = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", _HEADER) + _chunk(b"IDAT", _PIXEL) + _chunk(b"IEND", b"")
_WAV = b"RIFF" + struct.pack("<I4s4sIHHIIHH4sI", 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 0)
PNG, WAV = base64.b64encode(_PNG).decode(), base64.b64encode(_WAV).decode()
"""A red point, and a sound of no length."""


# What an offer can say.


def _fails(*_: object) -> Any:
    raise RequestError("This tool intentionally returns an error for testing", "nothing can be done")


def _tool(name: str, does: Callable[..., Any]) -> Tool:
    return define(name, name, "of the conformance suite", does, gives=gives({"said": text()}), group="team")


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": text(), "city": text()}}},
    "properties": {"name": text(), "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}

TOOLS = (
    _tool("test_simple_text", lambda *_: {"said": "This is a simple text response for testing."}),
    _tool("test_error_handling", _fails),
    dataclasses.replace(_tool("json_schema_2020_12_tool", lambda *_: {"said": ""}), input=SCHEMA_2020_12),
)


class Example(NamedTuple):
    """A resource, by its template or uri, or a prompt."""

    name: str
    uri: str = ""
    arguments: Mapping[str, str] = {}
    title: str = "an example"
    description: str = "of the conformance suite"


TEXT, BINARY, WATCHED = "test://static-text", "test://static-binary", "test://watched-resource"
TEMPLATE = Example("data", "test://template/{id}/data")
PROMPTS = (
    Example("test_simple_prompt"),
    Example("test_prompt_with_arguments", arguments={"arg1": "the first", "arg2": "the second"}),
    Example("test_prompt_with_embedded_resource", arguments={"resourceUri": "which one to embed"}),
    Example("test_prompt_with_image"),
)


def offer_with_examples(ours: Offer) -> Offer:
    def read(caller: Caller, uri: str) -> tuple[str, str]:
        if uri in (TEXT, WATCHED):
            return "text/plain", "This is the content of the static text resource."
        if found := re.fullmatch(r"test://template/(\w+)/data", uri):
            id = found[1]
            return "application/json", json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
        assert ours.read is not None
        return ours.read(caller, uri)

    def render(caller: Caller, name: str, arguments: Mapping[str, str]) -> str:
        if name == "test_simple_prompt":
            return "This is a simple prompt for testing."
        if name == "test_prompt_with_arguments":
            said = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
            return f"Prompt with arguments: {said}"
        assert ours.render is not None
        return ours.render(caller, name, arguments)

    return dataclasses.replace(
        ours,
        tools_for=lambda role: [*ours.tools_for(role), *TOOLS],
        resources=[*ours.resources, TEMPLATE],
        uris=lambda caller: [*ours.uris(caller), TEXT, BINARY, WATCHED],
        read=read,
        prompts_for=lambda role: [*ours.prompts_for(role), *PROMPTS],
        render=render,
    )


# What only the SDK's own server can.


def _said(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def _image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def _embedded(uri: str, mime: str, words: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


async def _logs(ctx: Context, _: dict[str, Any]) -> list[Content]:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        said = types.LoggingMessageNotificationParams(level="info", logger="examples", data=words)
        await ctx.session.send_notification(types.LoggingMessageNotification(params=said), ctx.request_id)
        await asyncio.sleep(0.05)
    return [_said("logged three times")]


async def _progresses(ctx: Context, _: dict[str, Any]) -> list[Content]:
    for part in (0, 50, 100):
        await ctx.session.report_progress(part, 100)
        await asyncio.sleep(0.05)
    return [_said("there were three steps")]


async def _samples(ctx: Context, arguments: dict[str, Any]) -> list[Content]:
    asked = types.SamplingMessage(role="user", content=_said(str(arguments["prompt"])))
    request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[asked], max_tokens=100))
    came = await ctx.session.send_request(request, types.CreateMessageResult, metadata=_about(ctx))
    assert isinstance(came.content, types.TextContent)
    return [_said(f"LLM response: {came.content.text}")]


def _elicits(*, defaults: bool = False, enums: bool = False) -> Does:
    properties: dict[str, Any] = DEFAULTS if defaults else ENUMS if enums else PERSON

    async def does(ctx: Context, arguments: dict[str, Any]) -> list[Content]:
        schema = {"type": "object", "properties": properties, "required": [*PERSON] if properties is PERSON else []}
        message = str(arguments.get("message", "Please look at these"))
        came = await ctx.session.elicit_form(message, schema, ctx.request_id)
        return [_said(f"Elicitation completed: action={came.action}, content={json.dumps(came.content)}")]

    return does


def _about(ctx: Context) -> Any:
    from mcp.shared.message import ServerMessageMetadata

    return ServerMessageMetadata(related_request_id=ctx.request_id)


def _gives(*content: Content) -> Does:
    async def does(*_: object) -> list[Content]:
        return [*content]

    return does


Does = Callable[[Context, dict[str, Any]], Awaitable[list[Content]]]

PERSON: dict[str, Any] = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}

CALLS: dict[str, tuple[Does, tuple[str, ...]]] = {
    "test_image_content": (_gives(_image()), ()),
    "test_audio_content": (_gives(types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")), ()),
    "test_embedded_resource": (_gives(_embedded("test://embedded-resource", "text/plain", "This is embedded.")), ()),
    "test_multiple_content_types": (
        _gives(
            _said("Multiple content types test:"),
            _image(),
            _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
        (),
    ),
    "test_tool_with_logging": (_logs, ()),
    "test_tool_with_progress": (_progresses, ()),
    "test_sampling": (_samples, ("prompt",)),
    "test_elicitation": (_elicits(), ("message",)),
    "test_elicitation_sep1034_defaults": (_elicits(defaults=True), ()),
    "test_elicitation_sep1330_enums": (_elicits(enums=True), ()),
}
"""What each does, and the names of its arguments."""


class Examples:
    """Answers what it knows, and hands everything else to the server that it stands before."""

    def __init__(self, server: AtmServer) -> None:
        self._ours = {
            method: self._take_over(server, method, handler)
            for method, handler in {
                "tools/list": self._list_tools,
                "tools/call": self._call,
                "resources/read": self._read,
                "prompts/get": self._prompt,
            }.items()
        }

    @staticmethod
    def _take_over(server: AtmServer, method: str, handler: Any) -> Callable[..., Awaitable[HandlerResult]]:
        former = server.get_request_handler(method)
        assert former is not None
        server.add_request_handler(method, former.params_type, handler)
        return former.handler

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams) -> HandlerResult:
        found = await self._ours["tools/list"](ctx, params)
        assert isinstance(found, types.ListToolsResult)
        for name, (_, arguments) in CALLS.items():
            taken = {"type": "object", "properties": {one: {"type": "string"} for one in arguments}}
            found.tools.append(types.Tool(name=name, description="of the conformance suite", input_schema=taken))
        return found

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        if params.name not in CALLS:
            return await self._ours["tools/call"](ctx, params)
        does, _ = CALLS[params.name]
        return types.CallToolResult(content=[*await does(ctx, params.arguments or {})])

    async def _read(self, ctx: Context, params: types.ReadResourceRequestParams) -> HandlerResult:
        if params.uri != BINARY:
            return await self._ours["resources/read"](ctx, params)
        contents = types.BlobResourceContents(uri=BINARY, mime_type="image/png", blob=PNG)
        return types.ReadResourceResult(contents=[contents])

    async def _prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> HandlerResult:
        content: list[Content]
        if params.name == "test_prompt_with_image":
            content = [_image(), _said("Please analyze the image above.")]
        elif params.name == "test_prompt_with_embedded_resource":
            uri = (params.arguments or {})["resourceUri"]
            content = [_embedded(uri, "text/plain", "Embedded."), _said("Please process the embedded resource above.")]
        else:
            return await self._ours["prompts/get"](ctx, params)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in content])


class ExampleReception(Reception):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, offer=offer_with_examples(full_offer()), **named)

    def server(self, client_of: Callable[[Context], Client]) -> AtmServer:
        made = super().server(client_of)
        Examples(made)
        return made


def main() -> None:
    served = HttpServer(find_layout(os.environ), os.environ, os.getcwd(), ExampleReception)
    serve(served, 0, lambda url, port: print(json.dumps({"url": url, "port": port}), flush=True))


if __name__ == "__main__":
    main()
