"""Each vendor's real program in a real terminal: it sits there, mail comes, and its model sees it without a key."""

from __future__ import annotations

import re
import socket
from threading import Event

import pytest
from tests.lab.conftest import FRIEND, Run, until
from tests.optional import needs

pytestmark = [pytest.mark.lab, needs("tmux")]

OUR_TAG = re.compile(r"\[(atm:[0-9a-f]{8})\]")


@pytest.fixture
def woken(agent):
    """An agent with a daemon, and a model that has little to say."""
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
        sighting = woken.seen.eventually("letter-2 was there before", within=120)
    assert "teammate-message" in sighting.frame


def test_a_program_opened_with_a_prompt_is_not_given_another_one_for_mail_that_waited(woken):
    woken.gets("letter-5 before its first prompt")
    pane = woken.sits_down("begin")
    with pane.shown_on_failure():
        woken.seen.eventually("letter-5 before its first prompt", within=60)
        until(lambda: woken.state == "idle", 30, lambda: woken.state)
        woken.gets("letter-6 when it is idle")
        woken.seen.eventually("letter-6 when it is idle", within=60)
    tags = {tag for one in woken.seen.all("[atm:") for tag in OUR_TAG.findall(one.piece.text)}
    assert len(tags) <= 1, tags
    woken.seen.once("letter-5 before its first prompt")


def test_whoever_listens_at_the_address_that_opencode_names_gets_no_mail_of_another_agent(agent):
    """It names port 4096 also where it does not listen; and every process of a home knows every session."""
    if agent.vendor.name != "opencode":
        pytest.skip("names no address")
    anns = {**agent.environment, "ATM_IDENTITY": FRIEND}
    stranger = Run(["opencode", "serve", "--port", "4096"], anns, agent.folder, agent.home / "serve")
    try:
        until(answers_at_4096, 60)
        agent.atm("daemon", "start")
        agent.story.otherwise().says("at your service")
        pane = agent.sits_down("begin")
        with pane.shown_on_failure():
            agent.seen.asks(1)
            message = agent.gets("letter-7 for bob alone")
            agent.seen.eventually("letter-7 for bob alone", within=60)
    finally:
        stranger.close()
    told = agent.atm("receipts", message, "--json")
    assert "opencode hook" in told
    assert "OpenCode at" not in told


def answers_at_4096() -> bool:
    try:
        with socket.create_connection(("127.0.0.1", 4096), 5):
            return True
    except OSError:
        return False


def test_an_agent_that_was_interrupted_in_its_turn_is_woken(agent):
    """Esc, after a tool call: before the first answer, Claude Code puts the prompt back, and nobody types there."""
    agent.atm("daemon", "start")
    is_over = Event()
    agent.vendor.shell(agent.story.first(), "echo shell-ran")
    agent.story.then().waits_for(is_over).says("nobody hears this")
    agent.story.otherwise().says("at your service")
    pane = agent.sits_down("begin")
    with pane.shown_on_failure():
        agent.seen.asks(2)
        until(lambda: agent.state == "working", 20)
        pane.press("Escape")
        if agent.vendor.asks_again:
            until(lambda: agent.vendor.asks_again in pane.screen, 20)
            pane.press("Escape")
        until(lambda: agent.state == "idle", 30, lambda: agent.state)
        agent.gets("letter-3 after Esc")
        sighting = agent.seen.eventually("letter-3 after Esc", within=120)
    is_over.set()
    assert "teammate-message" in sighting.frame


def test_an_agent_whose_dialog_was_cancelled_is_woken(agent):
    if agent.vendor.name not in ("claude", "gemini"):
        pytest.skip("its dialogs are switched off in the lab")
    agent.atm("daemon", "start")
    agent.vendor.shell(agent.story.first(), "touch asked-for.txt")
    agent.story.otherwise().says("at your service")
    pane = agent.sits_down("begin", asking=True)
    with pane.shown_on_failure():
        until(lambda: agent.state == "waiting", 60)
        agent.keep_shapes(agent.shapes())  # of a session that waits for its user
        pane.press("Escape")
        until(lambda: agent.state == "idle", 30, lambda: agent.state)
        agent.gets("letter-4 after the dialog")
        sighting = agent.seen.eventually("letter-4 after the dialog", within=120)
    assert "teammate-message" in sighting.frame
    assert not (agent.folder / "asked-for.txt").exists()
