"""Work that takes longer than a call: it is done once, and whoever asks again hears what came of it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import pytest
from tests.mcp.conftest import World, claim, run, until
from tests.mcp.crew import Crew

from atm.board.rules.acceptance import COMMAND, check
from atm.board.services import planning
from atm.board.services.new_tasks import NewTask
from atm.ui.mcp.catalog import all_tools
from atm.ui.mcp.serving import lasting
from atm.ui.mcp.serving.reception import Reception
from atm.ui.mcp.serving.workers import Workers
from mcp import Client as Official


def receive(layout: Any, world: World, seconds: float = 0.2) -> Reception:
    offer = dataclasses.replace(world.offer(), lasting=frozenset({"wait"}))
    made = Reception(layout, lambda *_, **__: None, has_daemon=True, offer=offer)
    made.workers = Workers(seconds=seconds)
    return made


async def connected(reception: Reception, **named: str) -> Any:
    client = await reception.admit(claim(**named))
    return Official(reception.server(lambda _: client), mode="legacy")


def test_a_call_that_takes_long_says_so_and_the_next_one_hears_what_came_of_it(room, layout, world):
    async def talk() -> None:
        async with await connected(receive(layout, world)) as client:
            for _ in range(3):
                said = (await client.call_tool("wait", {})).structured_content
                assert said["under_way"] is True
                assert "call again" in said["hint"]
            world.hold.set()
            while "under_way" in (said := (await client.call_tool("wait", {})).structured_content):
                pass
            assert said == {"waited": True}
            assert world.calls == ["wait"]
            await client.call_tool("wait", {})
            assert world.calls == ["wait", "wait"], "whoever has heard it begins anew"

    run(talk())


def test_two_who_ask_at_once_wait_for_the_same(room, layout, world):
    async def talk() -> None:
        reception = receive(layout, world, seconds=60)
        async with await connected(reception) as one, await connected(reception) as two:
            calls = [asyncio.ensure_future(client.call_tool("wait", {})) for client in (one, two, one)]
            await until(lambda: world.calls)
            await one.list_tools()
            await two.list_tools()
            world.hold.set()
            assert [(await call).structured_content for call in calls] == [{"waited": True}] * 3
            assert world.calls == ["wait"]

    run(talk())


def test_another_member_begins_its_own(room, layout, world):
    async def talk() -> None:
        reception = receive(layout, world)
        async with await connected(reception) as ann, await connected(reception, member="bob") as bob:
            await ann.call_tool("wait", {})
            await bob.call_tool("wait", {})
            assert world.calls == ["wait", "wait"]

    run(talk())


def test_a_client_that_gives_up_does_not_end_it(room, layout, world):
    async def talk() -> None:
        async with await connected(receive(layout, world, seconds=60)) as client:
            calling = asyncio.ensure_future(client.call_tool("wait", {}))
            await until(lambda: world.calls)
            calling.cancel()
            await asyncio.wait([calling])
            await client.list_tools()
            world.hold.set()
            assert (await client.call_tool("wait", {})).structured_content == {"waited": True}
            assert world.calls == ["wait"]

    run(talk())


def test_what_nobody_asked_for_in_ten_minutes_is_forgotten(room, layout, world, monkeypatch):
    async def talk() -> None:
        async with await connected(receive(layout, world)) as client:
            await client.call_tool("wait", {})
            world.hold.set()
            monkeypatch.setattr(lasting, "KEPT_SECONDS", -1.0)
            while "under_way" in (await client.call_tool("wait", {})).structured_content:
                pass
            assert set(world.calls) == {"wait"}

    run(talk())


def test_what_is_kept_has_a_bound():
    async def many() -> int:
        kept = lasting.Lasting()
        for number in range(2 * lasting.MOST_KEPT):
            done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            kept.keep(number, done)
            done.set_result(number)
            await asyncio.sleep(0)
        return sum(kept.find(number) is not None for number in range(2 * lasting.MOST_KEPT))

    assert asyncio.run(many()) <= lasting.MOST_KEPT + 1


def test_only_completing_lasts():
    assert [tool.name for tool in all_tools() if tool.lasts] == ["board_complete"]


# Completing a task whose check hangs, and where checks look.


def test_a_check_that_hangs_is_run_once_and_its_failure_is_told_to_who_asks_again(layout, tmp_path):
    crew = Crew(layout)
    gate = tmp_path / "gate"
    wish = NewTask(
        "work",
        acceptance=[check(COMMAND, f"echo x >> {tmp_path}/runs; while ! test -e {gate}; do sleep 0.02; done; exit 3")],
        folder=str(tmp_path),
    )
    planning.add(crew.boardroom, "crew", "hugo", [wish])
    crew.call("ann", "board_claim", id=1)

    async def talk() -> None:
        reception = Reception(layout, lambda *_, **__: None, has_daemon=True)
        reception.workers = Workers(seconds=0.3)
        async with await connected(reception) as client:
            runs = tmp_path / "runs"
            said = (await client.call_tool("board_complete", {"id": 1})).structured_content
            assert said["under_way"] is True
            await until(runs.exists)
            for id in ("1", "#1", 1):
                assert (await client.call_tool("board_complete", {"id": id})).structured_content["under_way"] is True
            gate.touch()
            answer = await client.call_tool("board_complete", {"id": "1"})
            while not answer.is_error:
                assert answer.structured_content["under_way"] is True
                answer = await client.call_tool("board_complete", {"id": "1"})
            assert json.loads(answer.content[0].text)["code"] == "checks-failed"
            assert runs.read_text() == "x\n"

    run(talk())


@pytest.mark.parametrize("stands_in", ["there", ""])
def test_files_are_looked_for_where_the_claimant_stands_and_never_where_the_daemon_does(layout, tmp_path, stands_in):
    crew = Crew(layout)
    there = tmp_path / "there"
    there.mkdir()
    (there / "proof-of-this-test").touch()
    crew.add(accept_files=["proof-of-this-test"])
    caller = crew.caller("ann")
    caller.folder = str(tmp_path / stands_in) if stands_in else ""
    crew.call("ann", "board_claim", id=1)
    if stands_in:
        assert crew.call("ann", "board_complete", id=1)["task"]["state"] == "completed"
    else:
        refusal = crew.refused("ann", "board_complete", id=1)
        assert refusal.code == "not-trusted"
        assert refusal.remedy == "run there: atm tasks complete 1 --team crew --as ann"


def test_the_connection_says_where_its_agent_stands(room, layout, tmp_path):
    async def talk() -> str:
        reception = Reception(layout, lambda *_, **__: None, has_daemon=True)
        return (await reception.admit(claim(folder=str(tmp_path)))).caller.boardroom.stands_in

    assert run(talk()) == str(tmp_path)
