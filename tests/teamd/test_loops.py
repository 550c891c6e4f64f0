"""Loops: they go on whatever their work does, never overtake themselves, and tell how they fare."""

from __future__ import annotations

import asyncio
import threading
import time

from tests.proving import proves

from atm.events.rules import TeamEvent
from atm.teamd.events.hub import MOST_WAITING, Hub, Listener
from atm.teamd.loops import IDLE, STUCK, Loop, in_thread


def run_loop(loop: Loop, until, seconds: float = 240.0) -> list[tuple[str, str]]:
    """Run a loop until something is true; what it reported."""
    said: list[tuple[str, str]] = []

    async def run() -> None:
        stop = asyncio.Event()
        task = asyncio.ensure_future(loop.run(stop, lambda level, text: said.append((level, text)), lambda: 0.5))
        async with asyncio.timeout(seconds):
            while not until():
                await asyncio.sleep(0.005)
        stop.set()
        await task

    asyncio.run(run())
    return said


def test_a_loop_goes_on_after_a_failure_and_counts_it():
    rounds = []

    def work() -> int:
        rounds.append(1)
        if len(rounds) == 1:
            raise ValueError("the disk is full")
        return 2

    loop = Loop("spool", work, period=0.001)
    said = run_loop(loop, lambda: len(rounds) >= 4)
    assert said == [("error", "ValueError: the disk is full")]
    assert (loop.health.failures, loop.health.failures_in_a_row) == (1, 0)
    assert loop.health.done >= 4
    assert loop.facts()["last_error"] == "ValueError: the disk is full"


@proves("R001-2.2-05")
def test_work_that_takes_too_long_is_reported_and_never_started_beside_itself():
    let_go, running, most = threading.Event(), [0], [0]

    def work() -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        let_go.wait(60)
        running[0] -= 1
        return 1

    loop = Loop("watch", work, period=0.001, bound=0.02)

    def stuck_then_free() -> bool:
        if loop.health.state == STUCK:
            let_go.set()
        return loop.health.runs >= 3

    said = run_loop(loop, stuck_then_free)
    assert ("error", "it takes longer than 0.02 s") in said
    assert most == [1]


@proves("R002-1-67")
def test_the_daemon_ends_although_work_is_stuck():
    let_go = threading.Event()
    loop = Loop("watch", lambda: let_go.wait(60) and 1, period=0.001, bound=0.02)
    run_loop(loop, lambda: loop.health.state == STUCK)
    assert not let_go.is_set()
    let_go.set()


def test_a_loop_that_is_woken_does_not_wait_for_its_period():
    rounds = []
    loop = Loop("delivery", lambda: rounds.append(1), period=3600)

    def woken_twice() -> bool:
        loop.wake()
        return len(rounds) >= 3

    run_loop(loop, woken_twice)
    assert loop.health.failures == 0


def test_what_comes_while_a_loop_gathers_is_part_of_the_same_round():
    rounds, wakes = [], [0]
    loop = Loop("reconcile", lambda: rounds.append(wakes[0]), period=3600, gathering=0.2)

    def woken_often() -> bool:
        if wakes[0] < 5 and rounds:
            wakes[0] += 1
            loop.wake()
        return len(rounds) >= 2

    run_loop(loop, woken_often)
    assert rounds == [0, 5]


def test_a_loop_that_gathers_ends_at_once_when_the_daemon_does():
    loop = Loop("reconcile", lambda: 1, period=3600, gathering=3600)

    def woken() -> bool:
        loop.wake()
        return loop.health.runs >= 1

    run_loop(loop, woken)
    assert loop.health.runs == 1


def test_pauses_grow_with_failures_in_a_row_up_to_a_bound():
    loop = Loop("spool", lambda: 1, period=1.0, jitter=0.0)
    pauses = []

    async def measure() -> None:
        stop = asyncio.Event()
        stop.set()
        for failures in range(6):
            loop.health.failures_in_a_row = failures
            before = time.monotonic()
            await loop._pause(stop, 0.5)
            assert loop.health.next_at is not None
            least, most = loop.health.next_at - time.monotonic(), loop.health.next_at - before
            pauses.append((least - 1e-6, most + 1e-6))

    asyncio.run(measure())
    for pause, (least, most) in zip([1, 2, 4, 8, 8, 8], pauses, strict=True):
        assert least <= pause <= most  # whenever between our two looks at the clock it began


def test_an_error_in_a_thread_reaches_whoever_waits():
    async def ask() -> str:
        try:
            await in_thread(lambda: 1 / 0)
        except ZeroDivisionError:
            return "heard"
        return "not heard"

    assert asyncio.run(ask()) == "heard"


def test_an_idle_loop_says_when_it_runs_next():
    loop = Loop("spool", lambda: 1, period=50.0)
    seen = [loop.facts()]

    def is_known() -> bool:
        seen.append(loop.facts())
        return seen[-1]["next_in"] is not None

    run_loop(loop, is_known)
    assert seen[-1]["state"] == IDLE
    assert 40 < seen[-1]["next_in"] <= 55
    assert loop.facts()["state"] == "stopped"


class TestTheHub:
    def event(self, kind: str = "message.written", team: str = "crew") -> TeamEvent:
        return TeamEvent(kind, team, "ann", 1.0)

    def test_everybody_hears_everything_that_they_asked_for(self):
        async def listen() -> list[str]:
            hub, heard = Hub(), []
            all_of_it, only_tasks, other_team = Listener(), Listener(("task",)), Listener((), "other")
            for listener in (all_of_it, only_tasks, other_team):
                hub.listen(listener)
            for kind in ("message.written", "task.created", "taskforce.made"):
                hub.publish(self.event(kind))
            hub.publish(self.event(team="other"))
            heard.append((await all_of_it.next()).kind)
            heard.append((await only_tasks.next()).kind)
            heard.append((await other_team.next()).team)
            return heard

        assert asyncio.run(listen()) == ["message.written", "task.created", "other"]

    def test_a_listener_who_is_slow_loses_events_and_is_told_how_many(self):
        async def overflow() -> int:
            hub, slow = Hub(), Listener()
            hub.listen(slow)
            for _ in range(MOST_WAITING + 7):
                hub.publish(self.event())
            return slow.dropped

        assert asyncio.run(overflow()) == 7
