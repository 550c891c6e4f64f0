"""When to look again: at once when a file of a team changes or its run dies, else now and then."""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.files.formats.layout import Layout
    from atm.runs.ports import Runs

LOOK_EVERY = 5.0
"""Seconds: who falls silent changes no file. Everything else is seen when its file changes."""
PULSE_EVERY = 1.0
"""Seconds between two checks of the loop that holds the team's run: one that is killed or suspended changes no file."""
SLICE = 0.25
"""Seconds after which whoever leaves is noticed."""


def looks(layout: Layout, team: str, go_on: Callable[[], bool]) -> Iterator[None]:
    """For whoever looks each time. What changes during a look is looked at next."""
    from atm.wiring.events import build_watch
    from atm.wiring.runs import build_runs
    from atm.wiring.snapshot import watched

    runs = build_runs(layout)
    while go_on():
        with build_watch(watched(layout, team)) as changes:
            held_before, checked_at = _pulse(runs, team), monotonic()
            yield
            end = monotonic() + LOOK_EVERY
            while go_on() and monotonic() < end and not changes.wait(SLICE):
                if team and monotonic() - checked_at > PULSE_EVERY:
                    checked_at = monotonic()
                    if _pulse(runs, team) != held_before:
                        break


def _pulse(runs: Runs, team: str) -> tuple[bool, int]:
    """Whether a loop holds the team's run, and its process if it is suspended: neither changes a file."""
    return (runs.is_held(team), runs.suspended_loop(team)) if team else (False, 0)
