"""
The short form: one turn of each vendor's real program in which everything happens that mail and board are for; then it
sits idle, and mail wakes it. One start of each program, in a real terminal: CI has three minutes for all of them.
"""

from __future__ import annotations

import json
from threading import Event

import pytest
from tests.lab.conftest import until
from tests.optional import needs

from atm.testing.model import hears, offered, sees

BRIEFING = "# atm: you are bob in team crew"

pytestmark = [pytest.mark.lab, needs("tmux")]


def test_a_turn_with_mail_in_it_and_at_its_end_and_with_calls_over_mcp_and_then_a_wake(agent):
    agent.atm("daemon", "start")
    agent.atm("tasks", "add", "sort the letters")
    second, third = Event(), Event()
    send, claim = agent.vendor.tool("mail_send"), agent.vendor.tool("board_claim")
    ready = offered(send) & offered(claim)

    story = agent.story
    agent.vendor.shell(story.first().waits_for(second), "echo shell-ran")
    agent.vendor.shell(story.whenever(~ready), "sleep 0.2")  # until the program has met our server
    story.when(sees("letter-2")).runs(send, to="ann", text="letter-4 from bob").runs(claim)
    story.when(ready).waits_for(third).says("done")
    story.when(hears("letter-3")).says("letter-3 is read")
    story.when(hears("letter-5")).says("awake")

    pane = agent.sits_down("begin")
    with pane.shown_on_failure():
        agent.seen.asks(1)
        agent.gets("letter-2 came in the turn")
        second.set()
        during = agent.seen.eventually("letter-2 came in the turn")
        assert agent.model.wait_until(lambda: len(story.untold) == 2, 60), story.untold
        agent.gets("letter-3 came at the end", "--urgent")
        third.set()
        at_the_end = agent.seen.eventually("letter-3 came at the end", within=60)
        until(lambda: agent.state == "idle", 60, lambda: agent.state)
        agent.gets("letter-5 woke it")
        woken = agent.seen.eventually("letter-5 woke it", within=60)

    assert agent.seen.once(BRIEFING).request in agent.seen.requests[: agent.vendor.briefed_by]
    assert during.request is agent.seen.requests[1]
    if agent.vendor.can_go_on:  # else it was woken for it
        assert at_the_end.is_last
    for sighting in (during, at_the_end, woken):
        assert "teammate-message" in sighting.frame
    agent.seen.once("letter-2 came")  # not letter-3: Claude Code says once more what a Stop hook said, in later turns
    rows = json.loads(agent.atm("read", "--json"))["messages"]
    assert [(row["from"], row["text"]) for row in rows] == [("bob", "letter-4 from bob")]
    (task,) = json.loads(agent.atm("tasks", "list", "--json"))["tasks"]
    assert task["owner"] == "bob"
    assert agent.model.strays == []
