"""
Whatever a team did to a repository, and however it is merged: each change is on the target, or it is kept and named.

Nothing of the user's is touched, nothing of anybody else's is lost, nothing lies about, and it ends.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.chaos import LONG
from tests.merges.histories import History, histories
from tests.merges.workshop import Workshop

EXAMPLES = 10_000 if LONG else 8

pytestmark = pytest.mark.campaign


@settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
@given(history=histories())
def test_every_change_is_on_the_target_or_kept_and_named(place: Path, history: History):
    with tempfile.TemporaryDirectory(dir=place) as folder:
        shop = Workshop(Path(folder), history)
        queue = shop.merge()
        shop.check(queue)
        tip = shop.tip()
        again = shop.merge()
        shop.check(again)
        assert shop.tip() == tip, "there was nothing left to do"
