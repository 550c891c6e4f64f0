"""Parts of the daemon: one file each, found by lying there; adding one touches no other file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atm.files.formats.layout import Layout
from atm.teamd import parts
from atm.teamd.daemon import Daemon
from atm.teamd.part import find_parts

A_PART = """
from atm.teamd.part import LoopPlan, DaemonPart


class TidePart(DaemonPart):
    name = "tide"
    wakes = {"inbox": ("tide",)}

    def loops(self):
        return [LoopPlan(name="tide", work=lambda: 1, period=60.0)]

    def answers(self):
        return {"tide": lambda request: {"is": "high"}}

    def facts(self):
        return {"level": 3}


PART = TidePart
"""


@pytest.fixture
def with_one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tide.py").write_text(A_PART)
    monkeypatch.setattr(parts, "__path__", [*parts.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "atm.teamd.parts.tide", raising=False)


def test_every_topic_has_one_and_no_loop_has_two():
    found = find_parts()
    assert [part.name for part in found] == [
        *("approvals", "board", "crew", "delivery", "mail", "runs", "sessions", "team", "worksync")
    ]


def in_a_daemon(layout: Layout, look: Callable[[Daemon], None]) -> None:
    """One that is made and does not run."""

    async def run() -> None:
        daemon = Daemon(layout, {"HOME": layout.claude_root.removesuffix("/.claude")})
        try:
            look(daemon)
        finally:
            daemon._news.close()
            daemon._watcher.tree.close()
            daemon._telemetry.close()

    asyncio.run(run())


@pytest.mark.usefixtures("with_one_more")
def test_a_file_that_is_put_there_is_a_part(layout):
    def look(daemon: Daemon) -> None:
        status: Any = daemon._status()
        assert status["tide"] == {"level": 3}
        assert "tide" in [loop["name"] for loop in status["loops"]]
        request: Any = None
        assert daemon._answers["tide"](request) == {"is": "high"}

    in_a_daemon(layout, look)


def test_loops_have_names_of_their_own_and_wakes_mean_loops_that_exist(layout):
    def look(daemon: Daemon) -> None:
        named = [plan.name for part in daemon._parts for plan in part.loops()]
        assert len(named) == len({*named}) == len(daemon._loops)
        assert {name for part in daemon._parts for names in part.wakes.values() for name in names} <= {*named}

    in_a_daemon(layout, look)
