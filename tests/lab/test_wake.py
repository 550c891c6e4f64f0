"""Each vendor's real program in a real terminal: it sits there, mail comes, and its model sees it without a key."""

from __future__ import annotations

import pytest
from tests.optional import needs

pytestmark = [pytest.mark.lab, needs("tmux")]


@pytest.fixture
def woken(agent):
    """An agent whose program can be woken, with a daemon and a model that has little to say."""
    if not agent.vendor.is_woken:
        pytest.skip(f"{agent.vendor.name} is not woken in a terminal yet (issue 14)")
    agent.atm("daemon", "start")
    agent.story.otherwise().says("at your service")
    return agent


def test_an_idle_agent_is_woken_by_mail_and_sees_it_once(woken):
    pane = woken.sits_down("begin")
    woken.seen.asks(1)
    message = woken.gets("letter-1 for an idle agent")
    with pane.shown_on_failure():
        sighting = woken.seen.eventually("letter-1 for an idle agent", within=60)
    assert "teammate-message" in sighting.frame
    assert woken.state_of(message) in ("surfaced", "read")


def test_mail_that_waits_for_a_program_opened_without_a_prompt_is_seen_once(woken):
    woken.gets("letter-2 was there before")
    pane = woken.sits_down("")
    with pane.shown_on_failure():
        sighting = woken.seen.eventually("letter-2 was there before", within=40)
    assert "teammate-message" in sighting.frame
