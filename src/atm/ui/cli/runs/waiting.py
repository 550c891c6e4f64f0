"""The wait for a run, which Ctrl-C ends."""

from __future__ import annotations

import time

from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.wiring.runs import RunNews

SLICE, TICK = 0.1, 1.0


def wait_for(news: RunNews, known: object) -> None:
    """For a second, or until something is not as it was before the last look: what came meanwhile is not missed."""
    end = time.monotonic() + TICK
    with interruptions:
        while news.now() == known and (left := end - time.monotonic()) > 0:
            time.sleep(min(SLICE, left))
