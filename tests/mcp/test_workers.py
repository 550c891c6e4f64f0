"""Where calls do their work: a few at a time, and one that waits for something keeps nobody else from beginning."""

from __future__ import annotations

import asyncio
import threading
import time

from atm.ui.mcp.serving import workers as workers_module
from atm.ui.mcp.serving.workers import AT_ONCE, Workers


def test_short_calls_begin_a_few_at_a_time_and_all_of_them_are_done(monkeypatch):
    monkeypatch.setattr(workers_module, "SHORT", 600.0)  # however busy the machine is
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
