"""A vendor's real program starts before the daemon does: its model is offered our tools all the same, and uses them."""

from __future__ import annotations

import json
from threading import Event

import pytest
from tests.lab.conftest import until
from tests.mcp.starting import Starting

from atm.files.adapters.machine import find_layout
from atm.testing.model import offered

pytestmark = pytest.mark.lab


def test_our_tools_are_offered_before_there_is_a_daemon_and_used_when_there_is_one(agent):
    is_there, send = Event(), agent.vendor.tool("mail_send")
    agent.story.when(offered(send)).waits_for(is_there).runs(send, to="ann", text="letter from bob")
    agent.vendor.shell(agent.story.whenever(~offered(send)), "sleep 0.2")
    agent.story.otherwise().says("done")
    with Starting(find_layout(agent.environment)) as starting:
        run = agent.starts("begin")
        until(lambda: any(send in request.said.offers for request in agent.seen.requests), 120)
        assert starting.is_waited_for()
    agent.atm("daemon", "start")
    is_there.set()
    run.ends()
    rows = json.loads(agent.atm("read", "--json"))["messages"]
    assert [(row["from"], row["text"]) for row in rows] == [("bob", "letter from bob")]
