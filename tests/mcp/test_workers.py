"""Where calls do their work: a few at a time, and one that waits for something keeps nobody else from beginning."""

from __future__ import annotations

import asyncio
import threading
import time

from atm.teamd import loops
from atm.teamd.loops import AT_ONCE, Door, Loop
from atm.ui.mcp.serving.workers import Workers


def test_short_calls_begin_a_few_at_a_time_and_all_of_them_are_done(monkeypatch):
    monkeypatch.setattr(loops, "SHORT", 600.0)  # however busy the machine is
    running: list[int] = []
    most, turn = [0], threading.Lock()

    def work() -> str:
        with turn:
            running.append(1)
            most[0] = max(most[0], len(running))
        time.sleep(0.005)
        with turn:
            running.pop()
        return "done"

    async def all_of_them() -> list[str]:
        workers = Workers()
        return [*await asyncio.gather(*(workers.run(work) for _ in range(40)))]

    assert asyncio.run(all_of_them()) == ["done"] * 40
    assert most[0] <= AT_ONCE


def test_calls_that_wait_for_something_keep_nobody_from_beginning():
    let_go = threading.Event()

    async def meanwhile() -> str:
        workers = Workers()
        stuck = [asyncio.ensure_future(workers.run(lambda: let_go.wait(60))) for _ in range(10)]
        await asyncio.sleep(0)
        try:
            said: str = await asyncio.wait_for(workers.run(lambda: "done"), 30)
        finally:
            let_go.set()
            await asyncio.gather(*stuck)
        return said

    assert asyncio.run(meanwhile()) == "done"


def test_a_call_that_fails_opens_the_door_for_the_next():
    def fail() -> None:
        raise ValueError("no")

    async def in_turn() -> list[object]:
        workers = Workers()
        return [*await asyncio.gather(*(workers.run(fail) for _ in range(10)), return_exceptions=True)]

    assert [str(error) for error in asyncio.run(in_turn())] == ["no"] * 10


def test_loops_and_calls_pass_the_same_door(monkeypatch):
    monkeypatch.setattr(loops, "SHORT", 600.0)
    inside: list[str] = []
    most: list[int] = []

    def work(who: str) -> int:
        inside.append(who)
        most.append(len(inside))
        time.sleep(0.002)
        inside.remove(who)
        return 1

    async def all_of_them() -> None:
        door, stop = Door(), asyncio.Event()
        workers, loop = Workers(door=door), Loop("spool", lambda: work("loop"), period=0.001, door=door)
        running = asyncio.ensure_future(loop.run(stop, lambda *_: None, lambda: 0.5))
        await asyncio.gather(*(workers.run(lambda: work("call")) for _ in range(20)))
        while not loop.health.runs:
            await asyncio.sleep(0)
        stop.set()
        await running

    asyncio.run(all_of_them())
    assert max(most) == 1
