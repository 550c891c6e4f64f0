"""Attacks by what is said on a connection: odd ids, batches, duplicates, cancelling, and JSON that nobody writes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
from typing import Any

import pytest
from tests.mcp.conftest import INITIALIZE, Spoken, World, claim, run, until
from tests.mcp.test_host import House, Talk

from atm.services.mail import Letter, send
from atm.ui.mcp import client as clients
from atm.ui.mcp import workers
from atm.ui.mcp.hello import encode_hello
from atm.ui.mcp.identity import admit


@pytest.fixture
def open_house(layout: Any, room: Any, tmp_path: Any, world: World) -> House:
    return House(layout, str(tmp_path), world)


ECHO = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


async def still_answers(talk: Talk) -> None:
    talk.ask(777, "tools/call", name="echo", arguments={"text": "ok"})
    while (said := await talk.hear())["id"] != 777:
        pass
    assert said["result"]["structuredContent"] == {"said": "ann: ok"}


@pytest.mark.parametrize("id", [None, 1.5, True, [1], {}, [[]]])
def test_a_request_with_an_id_that_is_none_is_answered_and_not_done(open_house, world, id):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.say(line(id=id, **ECHO))
            said = await odd.hear()
            assert (said["id"], said["error"]["code"]) == (None, -32600)
            assert world.calls == []
            await still_answers(odd)

    run(talk())


@pytest.mark.parametrize("id", ["", 0, -5, "x" * 10_000, 10**30])
def test_an_odd_but_good_id_comes_back_as_it_was(open_house, id):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.say(line(id=id, **ECHO))
            said = await odd.hear()
            assert said["id"] == id
            assert type(said["id"]) is type(id)

    run(talk())


def test_a_batch_is_refused_whole(open_house, world):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.say(b"[", line(id=1, **ECHO).strip(), b",", line(id=2, **ECHO).strip(), b"]\n")
            assert (await odd.hear())["error"]["code"] == -32700
            assert world.calls == []
            await still_answers(odd)

    run(talk())


def test_a_second_request_of_an_id_that_is_under_way_is_refused(open_house, world):
    """Both would be entered under that id: if one then does not get through, its mail would be lost."""

    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.ask(5, "tools/call", name="wait", arguments={})
            await until(lambda: world.calls == ["wait"])
            odd.say(line(id=5, **ECHO))
            said = await odd.hear()
            assert (said["id"], "under way" in said["error"]["message"]) == (None, True)
            world.hold.set()
            assert (await odd.hear())["result"]["structuredContent"] == {"waited": True}
            odd.say(line(id=5, **ECHO))  # and after that the id is free again
            assert (await odd.hear())["id"] == 5

    run(talk())


def test_a_tool_call_without_an_id_is_not_done(open_house, world):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.say(line(**ECHO))
            await still_answers(odd)
            assert world.calls == ["ok"]

    run(talk())


def test_a_cancelled_call_gives_back_what_it_had_taken_and_is_not_answered(open_house, world):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as odd:
            await odd.come_in()
            odd.ask(5, "tools/call", name="wait", arguments={})
            await until(lambda: world.calls == ["wait"])
            odd.say(line(method="notifications/cancelled", params={"requestId": 5}))
            await still_answers(odd)
            world.hold.set()
            await until(lambda: world.given_back == [("wait", "the client did not wait for it")])
            await still_answers(odd)

    run(talk())


def test_an_answer_that_is_cancelled_on_its_way_is_given_back_once(layout, room, world):
    async def talk() -> None:
        given_back: list[int] = []
        seen: list[str] = []
        client = clients.Client(admit(layout, claim(), has_daemon=True), "", lambda *_: ())
        client.sees_delivery = True
        client.hand_over(5, clients.Handed(lambda: given_back.append(5), seen.append))
        client.cancelled(5)
        client.cancelled(5)
        client.delivered(5)
        await until(lambda: given_back)
        client.hand_over(6, clients.Handed(lambda: given_back.append(6), seen.append))
        client.delivered(6)
        client.cancelled(6)
        assert client.goes_on() == []  # sent, but nobody looks at it: that proves nothing
        await client.close()
        assert given_back == [5]
        assert seen == []

    run(talk())


ODD = [
    line(method="notifications/cancelled"),
    line(method="notifications/cancelled", params={"requestId": [1]}),
    line(method="notifications/cancelled", params={"requestId": 10**30}),
    line(method="notifications/progress", params={"progressToken": {}}),
    line(method="notifications/nonsense", params={"x": [[[]]]}),
    line(id=9005, result={}),
    line(id=9005, error={"code": 1, "message": "x"}),
    line(id=9001, method="no/such"),
    line(id=9001, method="__class__"),
    line(id=9001, method="tools/call", params=[1]),
    line(id=9001, method="tools/call", params={"name": 5}),
    line(id=9001, method="tools/call", params={"name": "echo", "arguments": "x"}),
    line(id=9001, method="tools/call", params={"name": "echo", "arguments": {"text": "x"}, "_meta": {"member": "bob"}}),
    line(id=9001, method="tools/call", params={"name": "echo", "arguments": {"text": "x", "member": "bob"}}),
    line(id=9001, method="tools/call", params={"name": "echo\ud83d", "arguments": {"text": "\ud83d"}}),
    line(id=9001, method="tools/list", params={"cursor": "zzz"}),
    line(id=9001, method="resources/read", params={"uri": "x" * 100_000}),
    line(id=9001, method="prompts/get", params={"name": "help", "arguments": {"about": 5}}),
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"much","arguments":{"count":'
    + b"9" * 4000
    + b"}}}\n",
    b'{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"echo","arguments":{"text":'
    + b"[" * 9000
    + b"]}}\n",
    b'{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"echo","arguments":{"text":NaN}}}\n',
    b'{"jsonrpc":"2.0","id":9001,"id":9002,"method":"ping"}\n',
    b'{"jsonrpc":"1.0","id":9001,"method":"ping"}\n',
    b"\xef\xbb\xbf" + line(id=9001, method="ping"),
    b"\x1e" + line(id=9001, method="ping"),
]


def test_odd_messages_in_any_order_cost_nothing(open_house, world):
    async def talk() -> None:
        async with open_house.open() as made:
            chance = random.Random(5)
            async with Talk(open_house.path) as odd:
                await odd.come_in()
                for _ in range(3):
                    for said in chance.sample(ODD, len(ODD)):
                        odd.say(said)
                    await still_answers(odd)
            assert "bob: x" not in world.calls
            await until(lambda: made.facts()["connections"] == 0)
            assert not [said for said in open_house.log if "failed" in said], open_house.log

    run(talk())


def test_lines_that_come_byte_by_byte_are_lines(open_house):
    async def talk() -> None:
        async with open_house.open(), Talk(open_house.path) as slow:
            await slow.come_in()
            for byte in line(id=1, **ECHO):
                slow.say(bytes([byte]))
                await slow.writer.drain()
            assert (await slow.hear())["id"] == 1

    run(talk())


def test_two_hundred_connections_at_once_are_all_served(open_house):
    async def one(number: int) -> None:
        async with Talk(open_house.path) as talk:
            await talk.come_in(member="ann" if number % 2 else "bob")
            talk.ask(1, "tools/call", name="echo", arguments={"text": str(number)})
            assert (await talk.hear())["result"]["structuredContent"]["said"].endswith(f": {number}")

    async def talk() -> None:
        async with open_house.open() as made:
            await asyncio.gather(*(one(number) for number in range(200)))
            await until(lambda: made.facts()["connections"] == 0)

    run(talk())


def test_those_who_wait_do_not_keep_out_those_who_work():
    async def talk() -> None:
        desk = workers.Workers(most=1, most_waiting=1, seconds=20)
        let_go = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> bool:
            return asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result(20)

        waiting = [asyncio.ensure_future(desk.run(wait, waits=True)) for _ in range(5)]
        assert await desk.run(lambda: "done") == "done"
        let_go.set()
        assert await asyncio.gather(*waiting) == [True] * 5

    run(talk())


# The pump, with the real daemon.


def sent(daemon: Any) -> list[str]:
    return [row["text"] for row in daemon.atm.rows("bob")] if daemon.atm.inbox("bob").exists() else []


def test_mail_that_was_being_sent_when_the_daemon_died_is_never_sent_twice(daemon, speak):
    """The agent is told that nobody knows; the pump asks no second time on its own."""
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    ids = [
        spoken.begin("tools/call", name="mail_send", arguments={"to": "bob", "text": f"letter {n}"}) for n in range(40)
    ]
    daemon.kill()
    heard: dict[Any, dict[str, Any]] = {}
    while len(heard) < len(ids):
        said = spoken.hear()
        heard[said.get("id")] = said
    answered = {id for id in ids if "result" in heard[id]}
    assert all("look whether it was done" in heard[id]["error"]["message"] for id in ids if id not in answered)
    assert spoken.call("whoami")["structuredContent"]["member"] == "ann"
    found = sent(daemon)
    assert len(found) == len(set(found)), "nothing came twice"
    assert {f"letter {n}" for n, id in enumerate(ids) if id in answered} <= set(found), "what was answered is there"


def test_a_call_whose_agent_closed_its_input_is_done_once_and_the_pump_ends(daemon, speak):
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    spoken.begin("tools/call", name="mail_send", arguments={"to": "bob", "text": "last words"})
    assert spoken.end() == 0
    daemon.until(lambda: sent(daemon) == ["last words"])


def test_an_agent_that_closes_its_ear_ends_the_pump_and_not_the_daemon(daemon, speak):
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    assert spoken.process.stdout is not None
    spoken.process.stdout.close()
    with contextlib.suppress(BrokenPipeError):  # a notice of the daemon may have shown the pump already, and ended it
        spoken.begin("tools/list")
    assert spoken.process.wait(20) == 0
    daemon.until(lambda: daemon.status()["surfaces"][0]["connections"] == 0)
    assert [record for record in daemon.log() if record["level"] == "error"] == []


def test_a_pump_that_is_stopped_and_goes_on_has_missed_nothing(daemon, speak):
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    spoken.process.send_signal(signal.SIGSTOP)
    ids = [spoken.begin("ping") for _ in range(50)]
    spoken.process.send_signal(signal.SIGCONT)
    assert sorted(spoken.hear()["id"] for _ in ids) == ids


def test_odd_lines_through_the_pump_leave_it_and_the_daemon_well(daemon, speak):
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    for said in ODD:
        spoken.say(said.rstrip(b"\n"))
    assert spoken.call("whoami")["structuredContent"]["member"] == "ann"
    assert [record for record in daemon.log() if record["level"] == "error"] == []


def test_nothing_but_the_protocol_is_on_standard_output(house, room, speak):
    """Also without a daemon, where the SDK runs in this very process, and also when it has something to complain of."""
    spoken = speak("--team", "crew", "--as", "ann", env={"ATM_DAEMON_AUTOSTART": "0"})
    spoken.shake_hands()
    for said in ODD:
        spoken.say(said.rstrip(b"\n"))
    assert spoken.call("whoami")["structuredContent"]["member"] == "ann"  # `hear` reads JSON, or fails
    assert spoken.end() == 0
    assert spoken.process.stdout is not None
    assert all(json.loads(rest)["jsonrpc"] == "2.0" for rest in spoken.process.stdout)


def test_a_server_without_standard_error_serves_all_the_same(house, room, speak):
    read, write = os.pipe()
    os.close(read)
    words = house.atm.command("mcp", "--team", "crew", "--as", "ann")
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=write,
        env={**house.atm.environment, "ATM_DAEMON_AUTOSTART": "0"},
        cwd=house.atm.folder,
    ) as process:
        os.close(write)
        spoken = Spoken(process)
        spoken.shake_hands()
        spoken.say(ODD[0].strip())
        assert spoken.call("whoami")["structuredContent"]["member"] == "ann"
        assert spoken.end() == 0


# Memory.


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_thousands_of_calls_and_hundreds_of_connections_leave_no_memory_behind(daemon, room, speak):
    """Bounds mean a leak: a kilobyte for each call, thirty for each connection; noise is far below."""
    path = f"{os.path.dirname(daemon.socket)}/mcp.sock"
    pid = daemon.status()["pid"]

    def connect(calls: int) -> None:
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(30)
            raw.connect(path)
            hands = [encode_hello(claim()), line(id=0, method="initialize", params=INITIALIZE)]
            raw.sendall(b"".join(hands))
            with raw.makefile("rb") as lines:
                assert json.loads(lines.readline())["ok"] is True
                assert json.loads(lines.readline())["id"] == 0
                for begin in range(0, calls, 50):
                    ids = range(begin + 1, begin + 51)
                    raw.sendall(b"".join(line(id=id, method="ping") for id in ids[:25]))
                    raw.sendall(b"".join(line(id=id, method="prompts/list") for id in ids[25:]))
                    assert sorted(json.loads(lines.readline())["id"] for _ in ids) == [*ids]

    connect(1000)
    before = resident(pid)
    connect(4000)
    after_calls = resident(pid)
    for _ in range(100):
        connect(0)
    warm = resident(pid)
    for _ in range(200):
        connect(0)
    daemon.until(lambda: daemon.status()["surfaces"][0]["connections"] == 0)
    assert after_calls - before < 4 << 20
    assert resident(pid) - warm < 6 << 20


def test_mail_cancelled_while_it_is_read_is_read_later(daemon, room, speak):
    """Whatever the moment at which the agent gives up, it gets each message: none is lost to a cancelled call."""
    for number in range(10):
        send(room, "crew", "ann", Letter(sender="bob", text=f"letter-{number};"))
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    texts = ""
    for _ in range(10):
        id = spoken.begin("tools/call", name="mail_read", arguments={"limit": 3})
        spoken.say(line(method="notifications/cancelled", params={"requestId": id}).strip())
    spoken.ask("ping")
    late = [said for said in spoken.notices if "result" in said]  # those were answered before they were cancelled
    texts = json.dumps(late)

    def read_all() -> bool:
        nonlocal texts
        texts += json.dumps(spoken.call("mail_read", limit=20))
        return all(f"letter-{number};" in texts for number in range(10))

    daemon.until(read_all)
