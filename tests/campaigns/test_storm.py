"""Storms: bounded here, long ones by `make chaos`."""

from __future__ import annotations

import pytest
from tests.chaos import LONG
from tests.conftest import UNHURRIED
from tests.proving import proves

from atm.ui.demo.storm_run import Storm, Tally

MOST = 120.0
"""Seconds, however busy the machine is."""

pytestmark = pytest.mark.campaign


@proves("R001-3.2-01", "R001-3.2-02", "R001-3.2-40", "R001-8.1-07", "R001-10-10")
@pytest.mark.parametrize("seed", range(6 if LONG else 1))
def test_a_storm_with_a_rival_and_a_killer_loses_and_doubles_nothing(seed):
    storm = Storm(60.0 if LONG else 2.0, seed)
    least = storm.seconds

    def blow_until_something_happened(gone: float, tally: Tally) -> None:
        """On a busy machine its processes need all of that time to start."""
        is_enough = len(tally.sent) > 20 and tally.rewrites and tally.kills
        storm.seconds = least if is_enough or gone > MOST else float("inf")

    tally = storm.blow(blow_until_something_happened)
    assert tally.lost == 0, f"sandbox kept at {storm.sandbox}"
    assert tally.doubled == 0, f"sandbox kept at {storm.sandbox}"
    assert tally.still_spooled == 0
    assert tally.kills > 0
    assert tally.rewrites > 0
    assert len(tally.sent) > 20
    storm.remove()


@proves("R000-lock-01", "R000-lock-06", "R000-lock-28", "R000-delivery-retry-02", "R001-3.2-35", "R001-10-05")
def test_a_crowd_without_a_rival_is_in_order_too(monkeypatch):
    # Nine at one lock: on a busy machine it can take more than the usual 5 s until everybody had his turn.
    monkeypatch.setenv("PYTHONPATH", str(UNHURRIED))
    storm = Storm(30.0 if LONG else 1.0, 7, rival=False, killer=False)
    least = storm.seconds

    def blow_until_enough_was_sent(gone: float, tally: Tally) -> None:
        storm.seconds = least if len(tally.sent) > 20 or gone > MOST else float("inf")

    tally = storm.blow(blow_until_enough_was_sent)
    assert len(tally.sent) > 20
    assert (tally.lost, tally.doubled, tally.queued) == (0, 0, 0)
    assert tally.merged == 0
    storm.remove()
