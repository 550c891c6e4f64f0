"""How a plugin fares: pauses that grow, a circuit that opens, one trial, and forgetting."""

from __future__ import annotations

import pytest

from atm.plugins.rules import health
from atm.plugins.rules.health import (
    BACKOFF,
    BROKEN,
    FAILED_INIT,
    INIT,
    RUN,
    RUNNING,
    STARTING,
    PluginHealth,
    RestartPolicy,
)

POLICY = RestartPolicy()
MIDDLE = 0.5
"""The chance that leaves every pause as it is."""


def run_through(*steps: tuple[str, float]) -> PluginHealth:
    """A life as a table of (what happens, at which second)."""
    now: PluginHealth = PluginHealth()
    for what, at in steps:
        match what:
            case "start":
                now = health.started(now, at)
            case "ready":
                now = health.ready(now, at)
            case "fail":
                now = health.failed(now, at, "it broke", RUN, POLICY, MIDDLE)
            case "fail-init":
                now = health.failed(now, at, "it broke", INIT, POLICY, MIDDLE)
            case "stop":
                now = health.stopped(now, at)
            case "disable":
                now = health.disabled(now, at, "no repository here")
    return now


def failing(count: int, every: float = 1.0, begin: float = 0.0) -> list[tuple[str, float]]:
    """So many runs, each of which fails at once."""
    return [(what, begin + every * i) for i in range(count) for what in ("start", "ready", "fail")]


LIVES = [
    # the steps, the state, the second of the next start
    ([], "stopped", None),
    ([("start", 0)], STARTING, None),
    ([("start", 0), ("ready", 1)], RUNNING, None),
    ([("start", 0), ("ready", 1), ("fail", 2)], BACKOFF, 3),
    ([("start", 0), ("fail-init", 2)], FAILED_INIT, 3),
    (failing(2), BACKOFF, 3),
    (failing(3), BACKOFF, 6),
    (failing(4), BACKOFF, 11),
    (failing(5), BROKEN, 4 + 1800),
    ([("start", 0), ("fail-init", 0), *failing(4, begin=1)], BROKEN, 4 + 1800),
    # Five failures that are further apart than ten minutes in all do not open it, and the pauses grow on.
    (failing(5, every=200), BACKOFF, 800 + 16),
    (failing(9, every=200), BACKOFF, 1600 + 60),
    # The fifth comes exactly ten minutes after the first: that one does not count any more.
    ([*failing(4), ("start", 600), ("ready", 600), ("fail", 600)], BACKOFF, 616),
    ([*failing(4), ("start", 599.9), ("ready", 599.9), ("fail", 599.9)], BROKEN, 599.9 + 1800),
    # Ten minutes of running clear everything.
    ([*failing(4), ("start", 10), ("ready", 10), ("fail", 610)], BACKOFF, 611),
    ([*failing(4), ("start", 10), ("ready", 10), ("fail", 609)], BACKOFF, 625),
    # The trial.
    ([*failing(5), ("start", 1804)], STARTING, None),
    ([*failing(5), ("start", 1804), ("fail-init", 1805)], BROKEN, 1805 + 1800),
    ([*failing(5), ("start", 1804), ("ready", 1805), ("fail", 1900)], BROKEN, 1900 + 1800),
    ([*failing(5), ("start", 1804), ("ready", 1805), ("fail", 2405)], BACKOFF, 2406),
    ([*failing(5), ("start", 1804), ("fail", 1805), ("start", 3605), ("fail", 3606)], BROKEN, 3606 + 1800),
    # Asked for.
    ([*failing(4), ("stop", 5)], "stopped", None),
    ([*failing(4), ("stop", 5), ("start", 6), ("ready", 6), ("fail", 7)], BACKOFF, 8),
    ([("start", 0), ("disable", 1)], "disabled", None),
]


@pytest.mark.parametrize(("steps", "state", "retry_at"), LIVES)
def test_every_life_ends_where_the_table_says(steps, state, retry_at):
    found = run_through(*steps)
    assert found.state == state
    assert found.retry_at == (None if retry_at is None else pytest.approx(retry_at))


@pytest.mark.parametrize(
    ("streak", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (5000, 60)]
)
def test_pauses_double_up_to_a_minute(streak, seconds):
    assert health.pause(streak, POLICY, MIDDLE) == pytest.approx(seconds)


@pytest.mark.parametrize(("chance", "share"), [(0.0, 0.8), (0.25, 0.9), (0.5, 1.0), (0.999999, 1.2)])
def test_chance_moves_a_pause_by_a_fifth_at_most(chance, share):
    assert health.pause(3, POLICY, chance) == pytest.approx(4 * share, abs=1e-4)


def test_it_is_due_when_its_pause_is_over_and_never_without_one():
    found = run_through(*failing(1))
    assert not health.is_due(found, 0.99)
    assert health.is_due(found, 1.0)
    assert not health.is_due(run_through(("start", 0)), 1e9)
    assert not health.is_due(run_through(("start", 0), ("stop", 1)), 1e9)
    assert not health.is_due(run_through(("start", 0), ("disable", 1)), 1e9)


def test_a_long_run_forgets_the_last_error_too():
    found = run_through(*failing(3), ("start", 10), ("ready", 10))
    assert found.last_error == "it broke"
    assert health.settled(found, 609, POLICY) is found
    later = health.settled(found, 610, POLICY)
    assert (later.failures, later.streak, later.last_error, later.state) == ((), 0, "", RUNNING)


def test_restarts_are_counted_from_the_second_start():
    assert run_through().restarts == 0
    assert run_through(("start", 0)).restarts == 0
    assert run_through(*failing(3)).restarts == 2


def test_an_endless_error_is_cut():
    found = health.failed(PluginHealth(), 0, "x" * 10_000, RUN, POLICY, MIDDLE)
    assert len(found.last_error) == health.LONGEST_ERROR


def test_only_a_plugin_with_a_process_is_alive():
    alive = {state for state in health.STATES if PluginHealth(state=state).is_alive}
    assert alive == {STARTING, RUNNING}
