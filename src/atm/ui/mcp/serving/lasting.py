"""
Work that may outlive the call that began it, such as the checks of a task: whoever calls again hears of the same run.

Clients give a call about a minute. Beginning anew at each call would run the same checks beside themselves, in one
folder, and would never come to an end if they take longer than that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

MOST_KEPT = 256
KEPT_SECONDS = 600.0
"""For what came of it, until whoever asked for it asks again. Later it says nothing of how things are."""


class Lasting:
    """What is under way or has just ended, each by whose and what it is."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()
        self._ended: dict[Hashable, float] = {}

    def find(self, key: Hashable) -> asyncio.Future[Any] | None:
        """What was begun and not told yet."""
        now = asyncio.get_running_loop().time()
        for old in [key for key, at in self._ended.items() if now - at > KEPT_SECONDS]:
            self.told(old)
        return self._runs.get(key)

    def keep(self, key: Hashable, running: asyncio.Future[Any]) -> None:
        self._runs[key] = running
        loop = asyncio.get_running_loop()

        def ended(_: asyncio.Future[Any]) -> None:
            if self._runs.get(key) is running:
                self._ended[key] = loop.time()

        running.add_done_callback(ended)
        while len(self._ended) > MOST_KEPT:
            self.told(next(iter(self._ended)))

    def told(self, key: Hashable) -> None:
        """Somebody has heard what came of it; the next call begins anew."""
        self._runs.pop(key, None)
        self._ended.pop(key, None)
