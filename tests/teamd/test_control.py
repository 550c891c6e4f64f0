"""The control socket: versioned lines, a bound on every question, and only for its owner."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from atm.daemon.formats.control_line import LONGEST, BadLine, Request, decode_answer, decode_request, encode_request
from atm.events.rules import TeamEvent
from atm.teamd.control import QUERY_SECONDS, Control
from atm.teamd.events.hub import Hub


@pytest.fixture
def path() -> Iterator[str]:
    """A socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="atm") as folder:
        yield f"{folder}/s"


async def answer(request: Request) -> Any:
    match request.do:
        case "ping":
            return {"pid": 1}
        case "later":
            await asyncio.sleep(QUERY_SECONDS + 0.2)
            return {"pid": 1}
        case "slow":
            await asyncio.sleep(60)
        case "broken":
            raise ZeroDivisionError("oh")
    raise BadLine("unknown-request", f"no {request.do}", request.id)


def talk(path: str, *lines: bytes) -> list[dict[str, Any]]:
    """Send lines over one connection; the answers."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hub: Hub) -> list[dict[str, Any]]:
        answers = []
        for line in lines:
            writer.write(line)
            answers.append(json.loads(await reader.readline() or b"{}"))
        return answers

    said: list[dict[str, Any]] = serve(path, speak)
    return said


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def serve(path: str, speak: Callable[..., Awaitable[Any]]) -> Any:
    async def run() -> Any:
        hub = Hub()
        hub.is_ready.set()
        control = Control(path, answer, hub)
        await control.start()
        try:
            async with asyncio.timeout(60):
                reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST * 2)
                try:
                    return await speak(reader, writer, hub)
                finally:
                    await close(writer)
        finally:
            await control.stop()

    return asyncio.run(run())


def test_a_question_is_answered_under_its_own_id(path):
    (said,) = talk(path, encode_request(Request("ping", {}, "7")))
    assert said == {"v": 1, "id": "7", "ok": True, "result": {"pid": 1}}


def test_one_connection_takes_several_questions(path):
    said = talk(path, *(encode_request(Request("ping", {}, str(n))) for n in range(3)))
    assert [one["id"] for one in said] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"v": 2, "id": "1", "do": "ping"}\n', "version-mismatch"),
        (b'{"id": "1", "do": "ping"}\n', "version-mismatch"),
        (b'{"v": 1, "id": "1"}\n', "bad-request"),
        (b'{"v": 1, "id": "1", "do": 5}\n', "bad-request"),
        (b"hello\n", "bad-request"),
        (b"[]\n", "bad-request"),
        (b"\xff\xfe\n", "bad-request"),
        (b'{"v": 1, "id": "1", "do": "dance"}\n', "unknown-request"),
        (b'{"v": 1, "id": "1", "do": "broken"}\n', "internal-error"),
        (b'{"v": 1, "id": "1", "do": "slow"}\n', "too-slow"),
    ],
)
def test_what_cannot_be_answered_says_why_and_the_next_question_is_answered(path, line, code):
    said = talk(path, line, encode_request(Request("ping", {}, "2")))
    assert said[0]["ok"] is False
    assert said[0]["error"]["code"] == code
    assert said[1]["ok"] is True


def test_whoever_says_how_long_they_wait_is_answered_within_that(path):
    """`later` takes longer than anybody waits who says nothing."""
    hasty, patient = talk(
        path, encode_request(Request("later", {}, "1")), encode_request(Request("later", {}, "2", 60))
    )
    assert hasty["error"]["code"] == "too-slow"
    assert patient["result"] == {"pid": 1}


@pytest.mark.parametrize(
    ("said", "within"),
    [
        (b"10", 10),
        (b"0.2", 0.2),
        (b"1e300", 60),
        (b"9" * 400, 60),
        (b"NaN", 0),
        (b"0", 0),
        (b"-5", 0),
        (b"true", 1),
        (b"null", 0),
        (b'"10"', 0),
    ],
)
def test_nobody_is_waited_for_without_end(said, within):
    assert decode_request(b'{"v": 1, "id": "1", "do": "ping", "within": ' + said + b"}\n").within == within


def test_a_line_without_an_end_closes_only_its_own_connection(path):
    async def flood(reader, writer, hub):
        writer.write(b"x" * (LONGEST + 10))
        end = b""
        with contextlib.suppress(ConnectionError):  # so it ends where the last of it has not been taken yet
            end = await reader.read()
        again, other = await asyncio.open_unix_connection(path)
        other.write(encode_request(Request("ping", {}, "1")))
        line = await again.readline()
        await close(other)
        return end, line

    end, line = serve(path, flood)
    assert end == b""
    assert decode_answer(line)["ok"] is True


def test_the_socket_is_for_its_owner_alone(path):
    async def look(reader, writer, hub):
        return stat.S_IMODE(os.stat(path).st_mode)

    assert serve(path, look) == 0o600


def test_events_come_as_they_happen_and_only_those_that_were_asked_for(path):
    async def listen(reader, writer, hub):
        writer.write(encode_request(Request("events", {"kinds": ["task"], "team": "crew"}, "1")))
        first = json.loads(await reader.readline())
        hub.publish(TeamEvent("message.written", "crew", "ann", 1.0))
        hub.publish(TeamEvent("task.created", "other", "1", 1.0))
        hub.publish(TeamEvent("task.created", "crew", "2", 1.0, {"subject": "hello"}))
        second = json.loads(await reader.readline())
        return first["result"], second["result"]

    first, second = serve(path, listen)
    assert first == {"kind": "listening"}
    assert (second["kind"], second["subject"], second["detail"]) == ("task.created", "2", {"subject": "hello"})


def test_a_listener_who_goes_is_forgotten(path):
    async def leave(reader, writer, hub):
        other_reader, other = await asyncio.open_unix_connection(path)
        other.write(encode_request(Request("events", {}, "1")))
        await other_reader.readline()
        assert hub.listeners == 1
        await close(other)
        async with asyncio.timeout(60):
            while hub.listeners:
                await asyncio.sleep(0.005)
        return True

    assert serve(path, leave)


@pytest.mark.parametrize("is_cancelled_late", [False, True])
def test_whoever_asks_and_never_reads_does_not_keep_it_from_stopping(path, is_cancelled_late):
    """Also if it is cancelled when an answer is there already: until Python 3.12 `wait_for` swallows that."""

    async def run() -> set[Any]:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def answer_at_length(_: Request) -> Any:
            asked.set()
            await may_answer.wait()
            return "x" * 8_000_000

        control = Control(path, answer_at_length, Hub())
        await control.start()
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(encode_request(Request("ping", {}, "1")) * 2)
        await asked.wait()
        may_answer.set()
        for _ in range(2 if is_cancelled_late else 20):
            await asyncio.sleep(0)
        await control.stop()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        stuck = (await asyncio.wait(left, timeout=5))[1] if left else set()
        writer.transport.abort()
        return stuck

    assert asyncio.run(run()) == set()


def test_a_socket_that_a_killed_daemon_left_is_taken_over(path):
    with open(path, "w") as file:
        file.write("left behind")
    assert talk(path, encode_request(Request("ping", {}, "1")))[0]["ok"] is True


def test_requests_survive_the_way_there():
    request = decode_request(encode_request(Request("events", {"team": "crew", "kinds": ["a"]}, "9")))
    assert (request.do, request.id, request.text("team"), request.fields["kinds"]) == ("events", "9", "crew", ["a"])


def test_nobody_is_told_that_he_listens_before_everything_has_been_looked_at(path):
    async def listen(reader, writer, hub):
        hub.is_ready.clear()
        writer.write(encode_request(Request("events", {}, "1")))
        coming = asyncio.ensure_future(reader.readline())
        await asyncio.wait([coming], timeout=0.05)
        early = coming.done()
        hub.is_ready.set()
        return early, json.loads(await coming)["result"]["kind"]

    assert serve(path, listen) == (False, "listening")
