"""Surfaces in the daemon: one that fails, hangs or does not stop keeps the daemon from nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from atm.teamd import surfaces
from atm.teamd.events.hub import Hub
from atm.teamd.surfaces import DaemonFacts, Surfaces


class Good:
    def __init__(self, name: str = "good") -> None:
        self.name = name
        self.life: list[str] = []

    async def start(self, facts: DaemonFacts) -> None:
        self.life.append(f"start in {facts.folder}")

    async def stop(self) -> None:
        self.life.append("stop")

    async def keep_reachable(self) -> None:
        return None

    def facts(self) -> dict[str, Any]:
        return {"life": len(self.life)}


class Failing(Good):
    async def start(self, _: DaemonFacts) -> None:
        raise OSError("no room")

    async def stop(self) -> None:
        raise OSError("no way")


class Hanging(Good):
    async def start(self, _: DaemonFacts) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        await asyncio.Event().wait()


def test_all_are_started_and_stopped_whatever_the_others_do(layout, monkeypatch):
    monkeypatch.setattr(surfaces, "START_SECONDS", 0.05)
    monkeypatch.setattr(surfaces, "STOP_SECONDS", 0.05)
    log: list[tuple[str, str]] = []
    good = Good()

    async def live() -> None:
        carried = Surfaces([Failing("bad"), Hanging("slow"), good], lambda _, source, text: log.append((source, text)))
        facts = DaemonFacts(layout=layout, environment={}, folder="/here", hub=Hub(), log=print)
        await carried.start(facts)
        assert carried.facts()[2] == {"name": "good", "life": 1}
        await carried.stop()

    asyncio.run(live())
    assert good.life == ["start in /here", "stop"]
    assert [source for source, _ in log] == ["bad", "slow", "bad", "slow"]


def test_none_is_fine(layout):
    async def live() -> None:
        carried = Surfaces([], print)
        await carried.start(DaemonFacts(layout=layout, environment={}, folder="", hub=Hub(), log=print))
        await carried.stop()
        assert carried.facts() == []

    asyncio.run(live())
