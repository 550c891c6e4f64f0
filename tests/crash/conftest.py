"""
For all who count steps: how many something takes must not depend on how busy this machine is.

The files decide by the clock how closely to look. A file of the last 50 ms is read once more, because its stamp could
hide a second change; a roster is remembered when it is two seconds old; a lock that is held for two seconds is touched.
A process that another one keeps from its processor for so long takes fewer steps, or more, than it took when they were
counted, and is not killed where a test says. So here a file is young for far longer than any trial takes, and still old
for whoever comes half a minute later.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from atm.system.files import board_scan, locking, rewriting, team_store

YOUNG = 25.0
"""Seconds. Less than the half minute after which what a killed process left is cleared away."""


def stretch_moments(put: Callable[[object, str, float], None] = setattr, young: float = YOUNG) -> None:
    """Also called in processes that tests start."""
    for module in (rewriting, board_scan):
        put(module, "FINE_TICK_NS", int(young * 1e9))
        put(module, "COARSE_TICK_NS", int(young * 1e9))
    put(team_store, "SETTLED", young)
    put(locking, "REFRESH_AFTER", YOUNG)


@pytest.fixture
def young() -> float:
    return YOUNG


@pytest.fixture(autouse=True)
def _moments(monkeypatch: pytest.MonkeyPatch, young: float) -> None:
    stretch_moments(monkeypatch.setattr, young)
