"""
Each vendor's real program, headless, as one member of a team: what its model saw of the briefing and of the mail, and
what it did over MCP.

A turn is held in the model, not by sleeping: the model answers when the test has done what shall happen meanwhile.
"""

from __future__ import annotations

import json
from threading import Event

import pytest

from atm.testing.model import offered

pytestmark = pytest.mark.lab

BRIEFING = "# atm: you are bob in team crew"


def test_the_briefing_stands_once_in_the_first_request(agent):
    agent.story.otherwise().says("done")
    agent.runs("begin")
    sighting = agent.seen.once(BRIEFING)
    assert sighting.request is agent.seen.requests[0]
    assert sighting.role == agent.vendor.briefed_as
    assert agent.model.strays == []


def test_mail_that_waits_at_the_start_stands_once_in_the_first_request(agent):
    message = agent.gets("letter-0 from ann")
    agent.story.otherwise().says("done")
    agent.runs("begin")
    sighting = agent.seen.once("letter-0 from ann")
    assert sighting.request is agent.seen.requests[0]
    assert "teammate-message" in sighting.frame
    assert agent.state_of(message) in ("surfaced", "read")
    assert agent.unread() == []


def test_mail_sent_during_a_turn_stands_once_in_the_next_request(agent):
    is_sent = Event()
    agent.vendor.shell(agent.story.first().waits_for(is_sent), "echo shell-ran")
    agent.story.otherwise().says("done")
    run = agent.starts("begin")
    agent.seen.asks(1)
    message = agent.gets("letter-1 from ann")
    is_sent.set()
    run.ends()
    sighting = agent.seen.once("letter-1 from ann")
    assert sighting.request is agent.seen.requests[1]
    assert sighting.role != "assistant"
    assert "teammate-message" in sighting.frame
    assert agent.seen.once("shell-ran").request is sighting.request
    assert agent.state_of(message) in ("surfaced", "read")


def test_urgent_mail_sent_while_the_turn_ends_is_answered_in_one_more_request(agent):
    if not agent.vendor.can_go_on:
        pytest.skip(f"no hook keeps {agent.vendor.name} from ending its turn")
    is_sent = Event()
    agent.story.first().waits_for(is_sent).says("done")
    agent.story.otherwise().says("read it")
    run = agent.starts("begin")
    agent.seen.asks(1)
    message = agent.gets("letter-2 from ann", "--urgent")
    is_sent.set()
    run.ends()
    sighting = agent.seen.once("letter-2 from ann")
    assert sighting.request is agent.seen.requests[1]
    assert sighting.is_last
    assert len(agent.seen.requests) == 2
    assert agent.state_of(message) in ("surfaced", "read")


def test_other_mail_sent_while_the_turn_ends_stays_unread_for_the_next_one(agent):
    is_sent = Event()
    agent.story.first().waits_for(is_sent).says("done")
    agent.story.otherwise().says("read it")
    run = agent.starts("begin")
    agent.seen.asks(1)
    agent.gets("letter-3 from ann")
    is_sent.set()
    run.ends()
    agent.seen.never("letter-3 from ann")
    assert agent.unread() == ["letter-3 from ann"]


def test_an_agent_sends_mail_and_claims_a_task_over_mcp(agent):
    agent.atm("daemon", "start")
    agent.atm("tasks", "add", "sort the letters")
    send, claim = agent.vendor.tool("mail_send"), agent.vendor.tool("board_claim")
    ready = offered(send) & offered(claim)
    agent.story.when(ready).runs(send, to="ann", text="letter-4 from bob").runs(claim)
    agent.vendor.shell(agent.story.whenever(~ready), "sleep 0.2")  # until the program has met the server
    agent.story.otherwise().says("done")
    agent.runs("begin")
    rows = json.loads(agent.atm("read", "--json"))["messages"]
    assert [(row["from"], row["text"]) for row in rows] == [("bob", "letter-4 from bob")]
    (task,) = json.loads(agent.atm("tasks", "list", "--json"))["tasks"]
    assert (task["subject"], task["owner"]) == ("sort the letters", "bob")


def test_a_model_that_was_overloaded_for_a_moment_sees_mail_once_all_the_same(agent):
    agent.gets("letter-5 from ann")
    agent.story.first().is_overloaded()
    agent.story.otherwise().says("done")
    agent.runs("begin")
    assert len(agent.seen.requests) == 2
    assert agent.seen.once("letter-5 from ann").request is agent.seen.requests[0]
