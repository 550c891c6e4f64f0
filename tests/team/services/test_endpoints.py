"""A program that has been opened and has no session yet sits where it says, unless more is known of its member."""

from __future__ import annotations

from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import IDLE, WORKING
from atm.team.services.endpoints import endpoint_of, put_endpoint, sit_down
from atm.team.services.presence import beat


def seat(boardroom, **more):
    return Endpoint(vendor="codex", at=boardroom.clock.now(), **{"session": "", "pane": "%1", **more})


def sits(boardroom, pid=10, locate=seat):
    team = boardroom.rosters.load("crew")
    return sit_down(boardroom, team, "ann", pid, "its MCP server", lambda: locate(boardroom))


def known(boardroom):
    return endpoint_of(boardroom, boardroom.rosters.load("crew"), "ann")


def test_it_waits_for_a_prompt_where_it_sits(boardroom):
    assert sits(boardroom)
    assert known(boardroom).pane == "%1"
    last = boardroom.presence.last("crew", "ann")
    assert (last.state, last.pid) == (IDLE, 10)


def test_a_program_without_a_terminal_sits_nowhere(boardroom):
    assert not sits(boardroom, locate=lambda _: None)
    assert known(boardroom) is None


def test_what_the_hooks_of_a_session_said_counts_more(boardroom):
    team = boardroom.rosters.load("crew")
    put_endpoint(boardroom, team, "ann", seat(boardroom, session="s-1", pane="%7"))
    boardroom.presence.running.add(10)
    beat(boardroom.presence, team, "ann", boardroom.clock.now(), "codex hook Stop", pid=10, state=WORKING)
    assert not sits(boardroom, pid=10)
    assert not sits(boardroom, pid=11)
    assert known(boardroom).pane == "%7"


def test_a_session_whose_process_has_ended_makes_room(boardroom):
    team = boardroom.rosters.load("crew")
    put_endpoint(boardroom, team, "ann", seat(boardroom, session="s-1", pane="%7"))
    beat(boardroom.presence, team, "ann", boardroom.clock.now(), "codex hook Stop", pid=10, state=WORKING)
    assert sits(boardroom, pid=11)
    assert known(boardroom).pane == "%1"
