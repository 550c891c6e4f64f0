"""Drivers on pipes whose other ends a test holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.vendors.drivers.fake_agents import FakeAgent, Host, Talk

from atm.vendors.driver import Brief
from atm.vendors.drivers.choice import build_driver
from atm.vendors.runtimes import known


@pytest.fixture
def talk() -> Iterator[Callable[..., Talk]]:
    """Start one: `talk("acp", mode="plan")`. Its driver has begun."""
    agents: list[FakeAgent] = []

    def start(protocol: str, **brief: object) -> Talk:
        agent, host = FakeAgent(), Host()
        agents.append(agent)
        runtime = next(one for one in known().values() if one.protocol == protocol)
        driver = build_driver(runtime, agent.stdin, agent.stdout, Brief(**{"cwd": "/wt", **brief}))  # type: ignore[arg-type]
        driver.begin(host.hear)
        return Talk(agent, driver, host)

    yield start
    for agent in agents:
        agent.ends()
