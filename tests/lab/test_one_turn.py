"""The short form: one turn of each vendor's real program in which everything happens that mail and board are for."""

from __future__ import annotations

import json
from threading import Event

import pytest

from atm.testing.model import hears, offered, sees

pytestmark = pytest.mark.lab


def test_a_turn_with_mail_before_it_in_it_and_at_its_end_and_with_calls_over_mcp(agent):
    agent.atm("daemon", "start")
    agent.atm("tasks", "add", "sort the letters")
    agent.gets("letter-1 waited")
    second, third = Event(), Event()
    send, claim = agent.vendor.tool("mail_send"), agent.vendor.tool("board_claim")
    ready = offered(send) & offered(claim)

    story = agent.story
    agent.vendor.shell(story.first().waits_for(second), "echo shell-ran")
    agent.vendor.shell(story.whenever(~ready), "sleep 0.2")  # until the program has met our server
    story.when(sees("letter-2")).runs(send, to="ann", text="letter-4 from bob").runs(claim)
    story.when(ready).waits_for(third).says("done")
    story.when(hears("letter-3")).says("done, and letter-3 is read")

    run = agent.starts("begin")
    agent.seen.asks(1)
    waited = agent.seen.once("letter-1 waited")
    agent.gets("letter-2 came in the turn")
    second.set()
    during = agent.seen.eventually("letter-2 came in the turn")
    assert agent.model.wait_until(lambda: story.untold == ["hears 'letter-3'"], 60), story.untold
    agent.gets("letter-3 came at the end", "--urgent")
    third.set()
    run.ends()

    assert waited.request is agent.seen.requests[0]
    assert "teammate-message" in waited.frame
    assert during.request is agent.seen.requests[1]
    assert "teammate-message" in during.frame
    rows = json.loads(agent.atm("read", "--json"))["messages"]
    assert [(row["from"], row["text"]) for row in rows] == [("bob", "letter-4 from bob")]
    (task,) = json.loads(agent.atm("tasks", "list", "--json"))["tasks"]
    assert task["owner"] == "bob"
    if agent.vendor.can_go_on:
        assert agent.seen.once("letter-3 came at the end").is_last
        assert story.untold == []
    else:
        assert agent.unread() == ["[URGENT] letter-3 came at the end"]
    assert agent.model.strays == []
