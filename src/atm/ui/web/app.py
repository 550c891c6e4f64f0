"""The page's server: each endpoint of `endpoints.py` and what answers it."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from atm import __version__
from atm.core.errors import AtmError
from atm.core.names import check_known_name
from atm.core.untrusted_text import many_lines, one_line
from atm.files.formats.json_record import NotJson, decode_object, encode, to_text
from atm.teamd.loops import in_thread
from atm.ui.faces.deeds import spelled, words
from atm.ui.web.endpoints import ENDPOINTS, openapi
from atm.ui.web.files import page_files
from atm.ui.web.gate import cookie_name, token_in
from atm.ui.web.reading import NEEDS_ID, READABLE
from atm.ui.web.sending import PageEvents
from atm.ui.web.streams import TeamStream
from atm.ui.web.whole import offer_fields, offers_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from atm.core.plain import Plain
    from atm.snapshot.services.replay import TeamPast
    from atm.ui.web.doors import Doors, Visitor
    from atm.ui.web.reading import PageReader

LARGEST_BODY = 1 << 20
LONGEST_WORD = 300
LATEST = 253402300799.0
"""The last second of the year 9999, after which no time can be written."""
MOST_STREAMS = 64
"""Of all visitors together."""
KINDS = ("approval", "member", "task", "merge", "thread", "message", "inbox", "run", "session", "team")


class ApiRefusal(Exception):
    """An answer that is not 200."""

    def __init__(self, status: int, error: str, remedy: str = "", **more: Plain) -> None:
        super().__init__(error)
        self.status = status
        self.fields: dict[str, Plain] = {"error": error, "remedy": remedy, **more}


class WebApp:
    """What stands behind the gate."""

    def __init__(self, reader: PageReader, doors: Doors, port: int, run: str) -> None:
        self._reader = reader
        self._doors = doors
        self._cookie = cookie_name(port)
        self._run = run
        self._files = page_files()
        self._streams: dict[str, TeamStream] = {}
        self._made = 0
        self._deeds = asyncio.Semaphore(2)
        self._sending: set[PageEvents] = set()

    def asgi(self) -> Starlette:
        answers: dict[str, Callable[[Request], Awaitable[Response]]] = {
            name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")
        }
        routes = [Route(one.path, _guarded(answers[one.name]), methods=[one.method]) for one in ENDPOINTS]
        routes += [
            Route("/static/{path:path}", self._static, methods=["GET"]),
            Route("/api/{path:path}", _nothing),
            Route("/{path:path}", self._shell, methods=["GET"]),
        ]
        return Starlette(routes=routes)

    @property
    def listeners(self) -> int:
        return len(self._sending)

    def close(self) -> None:
        """Whoever listens is told that this is the end."""
        for one in [*self._sending]:
            one.end()

    # Files.

    async def _static(self, request: Request) -> Response:
        found = self._files.get(request.path_params["path"])
        if found is None:
            return Response("there is no such file", 404, media_type="text/plain")
        headers = {"etag": found.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == found.tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.kind, headers=headers)

    async def _shell(self, _: Request) -> Response:
        """Every address of the page is the same file; what it shows is decided in the browser."""
        return Response(self._files["index.html"].data, media_type=self._files["index.html"].kind)

    # Who is there.

    async def do_login(self, request: Request) -> Response:
        fields = await _body(request)
        entered = self._doors.enter(str(fields.get("key") or ""))
        if entered is None:
            raise ApiRefusal(403, "this link was used already, or is too old", "type `atm web` for another one")
        token, visitor = entered
        answer = _json({"role": visitor.role, "person": visitor.person})
        answer.set_cookie(self._cookie, token, httponly=True, samesite="strict", path="/")
        return answer

    async def do_logout(self, request: Request) -> Response:
        self._doors.leave(token_in(request.scope, self._cookie))
        answer = _json({})
        answer.delete_cookie(self._cookie, path="/", httponly=True, samesite="strict")
        return answer

    async def do_hello(self, request: Request) -> Response:
        visitor, home = _visitor(request), self._reader.session.layout.claude_root
        return _json({"role": visitor.role, "person": visitor.person, "version": __version__, "home": home})

    async def do_openapi(self, _: Request) -> Response:
        return _json(openapi())

    # Looking.

    async def do_teams(self, _: Request) -> Response:
        return _json({"teams": await in_thread(self._reader.teams)})

    async def do_team(self, request: Request) -> Response:
        return Response(await (await self._stream(request)).whole(), media_type="application/json")

    async def do_events(self, request: Request) -> Response:
        if len(self._sending) >= MOST_STREAMS:
            raise ApiRefusal(503, "too many pages are open", "close some")
        stream = await self._stream(request)
        after = request.headers.get("last-event-id") or request.query_params.get("after") or ""
        return PageEvents(stream, after[:LONGEST_WORD], self._reader.session.room.clock.now, self._sending)

    async def do_read(self, request: Request) -> Response:
        team, what = await self._team(request), request.path_params["what"]
        id = _word(request, "id")
        if what not in READABLE:
            raise ApiRefusal(404, f"{one_line(what)} cannot be read", f"there are {', '.join(READABLE)}")
        if what in NEEDS_ID and not id:
            raise ApiRefusal(400, f"{what} of what?", "say it with ?id=")
        return _json(await in_thread(lambda: self._reader.read(team, what, id, _visitor(request))))

    async def do_replay(self, request: Request) -> Response:
        team = await self._team(request)
        marks = await in_thread(lambda: self._past(team).marks())
        now = self._reader.session.room.clock.now()
        began = marks[0].at if marks else now
        return _json({"from": began, "to": now, "marks": [mark.fields() for mark in marks]})

    async def do_at(self, request: Request) -> Response:
        team = await self._team(request)
        try:
            moment = float(_word(request, "moment"))
        except ValueError:
            moment = -1.0
        if not 0 <= moment <= LATEST:  # NaN is not between them either
            raise ApiRefusal(400, "moment is no number of seconds since 1970", "give such a number, as 1763000000.5")

        def look() -> dict[str, Plain]:
            past = self._past(team)
            return past.at(moment, past.marks())

        return _json(await in_thread(look))

    def _past(self, team: str) -> TeamPast:
        with self._reader.turn:
            return self._reader.past(team)

    # Doing.

    async def do_offers(self, request: Request) -> Response:
        team = await self._team(request)
        target = _word(request, "kind"), _word(request, "id")
        if not _visitor(request).may_act:
            return _json({"offers": []})
        seen = await in_thread(lambda: self._reader.seen(team))
        return _json({"offers": [offer_fields(one, seen.team) for one in offers_of(target, seen)]})

    async def do_deeds(self, request: Request) -> Response:
        visitor = _visitor(request)
        if not visitor.may_act:
            raise ApiRefusal(403, "this link may only look", "a person's link comes from `atm web`")
        team, fields = await self._team(request), await _body(request)
        kind, id, deed = (_checked(str(fields.get(key) or ""), key) for key in ("kind", "id", "deed"))
        text = str(fields.get("text") or "")
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
            raise ApiRefusal(
                400, "there is a NUL or half of a character in the text: no command can take it", "leave it out"
            )
        seen = await in_thread(lambda: self._reader.seen(team))
        offer = next((one for one in offers_of((kind, id), seen) if one.word == deed), None)
        if offer is None:
            raise ApiRefusal(409, f"{one_line(deed)} is not offered for that now", "look at it again")
        if offer.asks and not text.strip():
            raise ApiRefusal(400, "there is no text", offer.asks)
        command = spelled(offer, seen.team)
        async with self._deeds:
            code, out, err = await in_thread(lambda: self._reader.run(words(offer, seen.team, text), visitor))
        if code != 0:
            said, _, remedy = many_lines(err or out).strip().partition("\n")
            remedy = remedy.strip().removeprefix("fix:").strip()
            raise ApiRefusal(
                409, said.removeprefix("error:").strip() or "it failed", remedy, command=command, code=code
            )
        return _json({"command": command, "code": code, "said": many_lines(out).strip()})

    # Teams.

    async def _team(self, request: Request) -> str:
        given = request.path_params["team"]
        try:
            name = check_known_name(given, "team")
        except AtmError as error:
            raise ApiRefusal(404, str(error), error.remedy) from None
        found: str | None = await in_thread(lambda: self._reader.session.room.rosters.find(name))
        if found is None:
            raise ApiRefusal(404, f"there is no team {one_line(name)}", "see the list of teams")
        return found

    async def _stream(self, request: Request) -> TeamStream:
        team = await self._team(request)
        for name in [name for name, one in self._streams.items() if one.is_idle and name != team][:-16]:
            del self._streams[name]  # sixteen that nobody looks at just now are kept
        if team not in self._streams:
            reader, self._made = self._reader, self._made + 1
            run = f"{self._run}.{self._made}"  # a stream that is made anew counts from one again
            self._streams[team] = TeamStream(reader.session.layout, team, lambda: reader.whole(team), run)
        return self._streams[team]


def _guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    async def guarded(request: Request) -> Response:
        try:
            return await answer(request)
        except ApiRefusal as refused:
            return _json(refused.fields, refused.status)
        except AtmError as error:
            return _json({"error": str(error), "remedy": error.remedy}, 409)
        except (OSError, TimeoutError) as error:
            return _json({"error": f"it cannot be read: {error}", "remedy": "try again"}, 503)

    return guarded


async def _nothing(_: Request) -> Response:
    return _json({"error": "there is no such address", "remedy": "see /api/openapi.json"}, 404)


def _visitor(request: Request) -> Visitor:
    found: Visitor = request.scope["atm.visitor"]
    return found


def _word(request: Request, key: str) -> str:
    return _checked((request.query_params.get(key) or "")[:LONGEST_WORD], key)


def _checked(word: str, what: str) -> str:
    """A word that is looked up or stands in a command. Only the key of a thread has several lines."""
    if any(character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs") for character in word):
        raise ApiRefusal(400, f"{what} has a control character in it, or half of a character", f"give a plain {what}")
    return word


async def _body(request: Request) -> dict[str, Plain]:
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST_BODY:
            raise ApiRefusal(413, "that is too long", f"at most {LARGEST_BODY:,} bytes")
    try:
        return decode_object(to_text(data))
    except NotJson:
        raise ApiRefusal(400, "the body is no JSON object", "see /api/openapi.json") from None


def _json(fields: dict[str, Any], status: int = 200) -> Response:
    return Response(encode(fields), status, media_type="application/json")
