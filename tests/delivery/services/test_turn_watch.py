"""Turns that end without a word are noticed, and nobody who works is called idle."""

from __future__ import annotations

import pytest

from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.rules.stillness import LONG_ENOUGH
from atm.delivery.services.turn_watch import TurnWatch
from atm.mail.services.surfacing import unread_for
from atm.roster.services.members import add_member
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import ENDED, IDLE, WAITING, WORKING
from atm.team.rules.team import Member
from atm.team.services.endpoints import put_endpoint
from atm.team.services.presence import beat, last_beat
from atm.testing.delivery import MemorySessions, MemoryTerminals

AT = PaneAddress("/tmp/tmux", "%1")


class Stage:
    """One agent, ann, in a pane, and who looks at it."""

    def __init__(self, room, vendor):
        self.room = room
        self.vendor = vendor
        self.sessions, self.terminals = MemorySessions(), MemoryTerminals()
        self.pane = self.terminals.open(AT, "node")
        self.watch = TurnWatch(self.sessions)
        self.panes_allowed = True
        self.live()

    def live(self, **more):
        here = {"host": self.room.presence.host, "boot": self.room.presence.boot, "session": "s-1"}
        pane = {"server": AT.server, "pane": AT.pane, "pane_pid": 100, "pane_command": "node"}
        endpoint = Endpoint(vendor=self.vendor, at=self.room.clock.now(), **{**here, **pane, **more})
        put_endpoint(self.room, self.team, "ann", endpoint)

    @property
    def team(self):
        return self.room.rosters.load("crew")

    def hears(self, state, event="PostToolUse"):
        beat(self.room.presence, self.team, "ann", self.room.clock.now(), f"{self.vendor} hook {event}", state=state)

    def rests(self):
        self.sessions.note("s-1", "idle")

    def works(self):
        self.sessions.note("s-1", "busy")
        self.pane.above = [" Thinking... (esc to cancel, 4s)"]

    def look(self):
        self.watch.begin_round(self.terminals if self.panes_allowed else None)
        return self.watch.look(self.room, self.team, "ann")

    def looks(self, seconds=LONG_ENOUGH):
        """Twice, with time between."""
        first = self.look()
        self.room.clock.pass_time(seconds)
        return first, self.look()

    @property
    def state(self):
        last = last_beat(self.room.presence, self.team, "ann", self.room.clock.now())
        return last.state if last is not None else None


@pytest.fixture(params=["claude", "gemini"])
def stage(boardroom, request) -> Stage:
    return Stage(boardroom, request.param)


@pytest.mark.parametrize("state", [WORKING, WAITING])
def test_an_agent_that_is_seen_at_rest_twice_is_idle(stage, state):
    stage.hears(state)
    stage.rests()
    assert stage.looks() == (False, True)
    assert stage.state == IDLE
    assert stage.looks() == (False, False)


def test_the_lead_is_told_as_after_any_other_turn(stage):
    add_member(stage.room, "crew", Member(stage.team.lead))
    stage.live()
    stage.hears(WORKING)
    stage.rests()
    stage.looks()
    (notice,) = unread_for(stage.room, "crew", stage.team.lead)
    assert "idle_notification" in notice.text


def test_two_looks_in_short_succession_prove_nothing(stage):
    stage.hears(WORKING)
    stage.rests()
    assert stage.looks(LONG_ENOUGH - 0.1) == (False, False)


def test_whoever_works_is_not_idle(stage):
    stage.hears(WORKING)
    stage.works()
    assert stage.looks(60) == (False, False)
    assert stage.state == WORKING


def test_work_between_two_looks_begins_the_time_anew(stage):
    stage.hears(WORKING)
    stage.rests()
    stage.look()
    stage.room.clock.pass_time(2)
    stage.works()
    stage.look()
    stage.pane.above = []
    stage.rests()
    assert stage.looks(2) == (False, False)


def test_a_hook_between_two_looks_begins_the_time_anew(stage):
    stage.hears(WORKING)
    stage.rests()
    stage.look()
    stage.room.clock.pass_time(LONG_ENOUGH)
    stage.hears(WORKING)
    assert not stage.look()


@pytest.mark.parametrize("state", [IDLE, ENDED])
def test_whoever_is_not_busy_is_not_looked_at(stage, state):
    stage.hears(state)
    stage.rests()
    assert stage.looks() == (False, False)
    assert stage.sessions.looks == 0


def test_another_machine_is_not_looked_at(stage):
    stage.live(host="elsewhere")
    stage.hears(WORKING)
    stage.rests()
    assert stage.looks() == (False, False)


def test_other_vendors_are_not_looked_at(boardroom):
    stage = Stage(boardroom, "codex")
    stage.hears(WORKING)
    stage.rests()
    assert stage.looks() == (False, False)


@pytest.fixture
def gemini(boardroom):
    made = Stage(boardroom, "gemini")
    made.hears(WAITING, "Notification")
    return made


def test_a_dialog_that_is_still_there_waits(gemini):
    gemini.pane.dialog = ("Allow execution of [Shell]?", "● 1. Allow once", "  2. No, suggest changes (esc)")
    assert gemini.looks() == (False, False)


def test_a_screen_that_changes_is_not_at_rest(gemini):
    gemini.look()
    gemini.room.clock.pass_time(LONG_ENOUGH)
    gemini.pane.above.append("another row of output")
    assert not gemini.look()


def test_a_draft_is_nobody_at_work(gemini):
    gemini.pane.type("and then")
    assert gemini.looks() == (False, True)


@pytest.mark.parametrize("what", ["dead", "gone", "other", "off"])
def test_a_pane_that_is_not_the_agents_says_nothing(gemini, what):
    if what == "dead":
        gemini.pane.is_dead = True
    elif what == "gone":
        gemini.terminals.panes.clear()
    elif what == "other":
        gemini.pane.pid = 101
    else:
        gemini.panes_allowed = False
    assert gemini.looks() == (False, False)
