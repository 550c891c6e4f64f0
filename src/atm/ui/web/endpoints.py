"""The page's API: what can be asked, in one table. Routes are made from it, and so is the OpenAPI file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm import __version__
from atm.ui.web.reading import NEEDS_ID, READABLE

if TYPE_CHECKING:
    from atm.core.plain import Plain

    Schema = dict[str, Plain]

GET, POST = "GET", "POST"


def text() -> Schema:
    return {"type": "string"}


def number() -> Schema:
    return {"type": "number"}


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def rows(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def fields(**properties: Schema) -> Schema:
    """An object with all of these; a name that ends with an underscore may be missing, and one that begins with one is
    a word of Python's."""
    named: dict[str, Plain] = {name.strip("_"): schema for name, schema in properties.items()}
    return {"type": "object", "properties": named, "required": [n.strip("_") for n in properties if n[-1] != "_"]}


def named(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


ANYTHING: Schema = {}
OPEN: Schema = {"type": "object"}

SCHEMAS: dict[str, Schema] = {
    "Error": fields(error=text(), remedy_=text(), code_=ANYTHING, command_=text()),
    "Offer": fields(deed=text(), word=text(), command=text(), asks=text(), twice={"type": "boolean"}),
    "Row": fields(
        group=text(),
        word=text(),
        target=rows(text()),
        who=text(),
        vendor=text(),
        task=text(),
        text=text(),
        right=text(),
        age=maybe(number()),
        source=text(),
        offers=rows(named("Offer")),
    ),
    "Team": fields(
        version=text(),
        now=number(),
        vendors=OPEN,
        snapshot=OPEN,
        rows=rows(named("Row")),
        cells=OPEN,
        counts=fields(needs=number(), problems=number()),
    ),
    "Change": fields(
        _from=text(),
        version=text(),
        now=number(),
        snapshot=OPEN,
        tasks=maybe(named("RowsChanged")),
        members=maybe(named("RowsChanged")),
        rows=maybe(rows(named("Row"))),
        cells=OPEN,
        counts=OPEN,
    ),
    "RowsChanged": fields(changed=rows(OPEN), gone=rows(text()), order=maybe(rows(text()))),
    "Mark": fields(at=number(), kind=text(), who=text(), what=text(), about=text()),
}


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """One thing that can be asked."""

    name: str
    method: str
    path: str
    about: str
    answer: Schema
    query: tuple[tuple[str, str], ...] = ()
    """Words behind the question mark, and what each means."""
    body: Schema | None = None
    kind: str = "application/json"


TEAM = "/api/teams/{team}"

ENDPOINTS = (
    ApiEndpoint(
        "login",
        POST,
        "/api/login",
        "Come in with the key of a link, which is good for one entry. Sets the cookie that every other call needs.",
        fields(role={"type": "string", "enum": ["human", "observer"]}, person=text()),
        body=fields(key=text()),
    ),
    ApiEndpoint("logout", POST, "/api/logout", "Leave: the cookie is worth nothing from now on.", OPEN),
    ApiEndpoint(
        "hello",
        GET,
        "/api/hello",
        "Who is signed in, and at which atm.",
        fields(role=text(), person=text(), version=text(), home=text()),
    ),
    ApiEndpoint("openapi", GET, "/api/openapi.json", "This description.", OPEN),
    ApiEndpoint("teams", GET, "/api/teams", "All teams in figures.", fields(teams=rows(OPEN))),
    ApiEndpoint(
        "team",
        GET,
        TEAM,
        "A team as a whole: its snapshot (as `atm snapshot --json` says it), and who must act first.",
        named("Team"),
    ),
    ApiEndpoint(
        "events",
        GET,
        f"{TEAM}/events",
        "The same as it changes, as server-sent events: `snapshot` is the whole, `change` what is new since the version"
        " in `from`, `beat` comes when nothing else does, `gone` says why there is no team. Resumes after"
        " Last-Event-ID.",
        named("Change"),
        query=(("after", "the version to resume after, if no Last-Event-ID is sent"),),
        kind="text/event-stream",
    ),
    ApiEndpoint(
        "read",
        GET,
        TEAM + "/read/{what}",
        f"One thing, as the command in the answer prints it with --json. There are {', '.join(READABLE)}.",
        fields(command=text(), at=number(), value=ANYTHING),
        query=(("id", f"of what; for {', '.join(sorted(NEEDS_ID))}"),),
    ),
    ApiEndpoint(
        "offers",
        GET,
        f"{TEAM}/offers",
        "What a person can do for one thing now. Observers are offered nothing.",
        fields(offers=rows(named("Offer"))),
        query=(
            ("kind", "approval, member, task, merge, thread, message, inbox, run, session or team"),
            ("id", "which"),
        ),
    ),
    ApiEndpoint(
        "deeds",
        POST,
        f"{TEAM}/deeds",
        "Do one of them: runs the very command of the offer. 409 with what it said if it fails, 403 for observers.",
        fields(command=text(), code=number(), said=text()),
        body=fields(kind=text(), id=text(), deed=text(), text_=text()),
    ),
    ApiEndpoint(
        "replay",
        GET,
        f"{TEAM}/replay",
        "Everything that happened, for a slider over time.",
        fields(_from=number(), to=number(), marks=rows(named("Mark"))),
    ),
    ApiEndpoint(
        "at",
        GET,
        f"{TEAM}/at",
        "The team as it stood at a moment.",
        fields(
            moment=number(),
            tasks=rows(OPEN),
            members=rows(OPEN),
            approvals=rows(OPEN),
            merges=rows(OPEN),
            happened=rows(named("Mark")),
        ),
        query=(("moment", "seconds since 1970"),),
    ),
)


def openapi() -> Schema:
    paths: dict[str, Plain] = {}
    for one in ENDPOINTS:
        known = paths.setdefault(one.path, {})
        assert isinstance(known, dict)
        known[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "atm web",
            "version": __version__,
            "description": "The API of the page that `atm web` opens, on this machine only. Calls that change something"
            " carry the header `X-Atm`; every call but the login needs the cookie that the login sets.",
        },
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS},
            "securitySchemes": {"cookie": {"type": "apiKey", "in": "cookie", "name": "atm-PORT"}},
        },
    }


def _operation(one: ApiEndpoint) -> dict[str, Plain]:
    said: dict[str, Plain] = {
        "operationId": one.name,
        "summary": one.about,
        "parameters": [*_parameters(one)],
        "responses": {
            "200": {"description": "so it is", "content": {one.kind: {"schema": one.answer}}},
            "default": {
                "description": "why not, and what to do",
                "content": {"application/json": {"schema": named("Error")}},
            },
        },
    }
    if one.body is not None:
        said["requestBody"] = {"required": True, "content": {"application/json": {"schema": one.body}}}
    if one.name != "login":
        said["security"] = [{"cookie": []}]
    return said


def _parameters(one: ApiEndpoint) -> list[Plain]:
    in_path: list[Plain] = [
        {"name": name, "in": "path", "required": True, "schema": text()}
        for name in ("team", "what")
        if f"{{{name}}}" in one.path
    ]
    mark: list[Plain] = (
        [{"name": "X-Atm", "in": "header", "required": True, "schema": text()}] if one.method == POST else []
    )
    asked: list[Plain] = [
        {"name": name, "in": "query", "required": False, "description": about, "schema": text()}
        for name, about in one.query
    ]
    return [*in_path, *mark, *asked]
