"""What a host makes of the screens of its agent's window. tests/crew/test_windows.py has the same with processes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.approvals.services.stage import ApprovalStage

from atm.crew.services.looking import HOOKS_MAY_TAKE, READ_EVERY, STARTS_WITHIN, WindowWatch
from atm.team.rules import liveness
from atm.team.rules.endpoints import Endpoint
from atm.team.services.endpoints import endpoint_of, put_endpoint
from atm.team.services.presence import beat, last_beat
from atm.vendors.dialogs import UNRECOGNISED
from atm.vendors.runtime import PLAIN, TMUX
from atm.vendors.runtimes import known

TRUST = "Trust this folder?\n\n› 1. Trust and continue\n  2. Quit\n\n  enter continue · esc quit\n"
COMPOSER = "\n› Ask Codex to do anything\n\n  gpt-5 default\n"
ODD = "Loading the workspace index ...\n"
ASKED = "whether to trust this folder"


class Window:
    """Bob's window, and the host that reads it."""

    def __init__(self, stage: ApprovalStage, runtime: str = "codex") -> None:
        self.stage = stage
        self.screen: str | None = ""
        self.reads = 0
        self.record = SimpleNamespace(
            team="crew", member="bob", runtime=runtime, backend=TMUX, asks="", pid=7, server="/s", pane="%3"
        )
        backend = SimpleNamespace(screen=self._read)
        crew = SimpleNamespace(
            clock=stage.clock,
            room=stage.mail,
            runtimes=known(),
            backends={TMUX: backend},
        )
        self.host: Any = SimpleNamespace(
            crew=crew, record=self.record, team=stage.team, note=self._note, beat=self._beat
        )
        self.watch = WindowWatch(self.host)  # type: ignore[arg-type]

    def _read(self, _: object) -> str | None:
        self.reads += 1
        return self.screen

    def _note(self, **facts: Any) -> None:
        self.record.__dict__.update(facts)

    def _beat(self, state: str, **_: object) -> None:
        beat(self.stage.mail.presence, self.stage.team, "bob", self.stage.clock.now(), "atm host", state=state)

    def shows(self, screen: str | None, times: int = 2) -> None:
        self.screen = screen
        for _ in range(times):
            self.stage.clock.pass_time(READ_EVERY)
            self.watch.look()

    @property
    def state(self) -> str:
        last = last_beat(self.stage.mail.presence, self.stage.team, "bob", self.stage.clock.now())
        return last.state if last is not None else ""

    @property
    def endpoint(self) -> Any:
        return endpoint_of(self.stage.mail, self.stage.team, "bob")


@pytest.fixture
def window() -> Window:
    made = Window(ApprovalStage())
    made._beat(liveness.IDLE)
    return made


def test_a_question_that_is_seen_once_may_be_a_picture_half_drawn(window: Window) -> None:
    window.shows(TRUST, 1)
    assert (window.record.asks, window.state) == ("", "idle")
    window.shows(TRUST, 1)
    assert (window.record.asks, window.state) == (ASKED, "waiting")


def test_when_it_is_answered_the_agent_does_again_what_it_did_before(window: Window) -> None:
    window._beat(liveness.WORKING)
    window.shows(TRUST)
    assert window.state == "waiting"
    window.shows(COMPOSER)
    assert (window.record.asks, window.state) == ("", "working")


def test_a_hook_that_speaks_while_the_question_stands_there_is_overruled_by_the_screen(window: Window) -> None:
    window.shows(TRUST)
    window._beat(liveness.WORKING)
    window.shows(TRUST, 1)
    assert window.state == "waiting"
    window.shows(COMPOSER)
    assert window.state == "working"


def test_the_question_of_the_window_ends_no_turn(window: Window) -> None:
    """The record of the agent stays idle or at work; a dialog is neither the beginning nor the end of a turn."""
    window.shows(TRUST)
    last = last_beat(window.stage.mail.presence, window.stage.team, "bob", window.stage.clock.now())
    assert window.watch.state(last) == "idle"


def test_a_window_that_shows_nothing_known_is_told_once_a_start_has_had_its_time(window: Window) -> None:
    before = int(STARTS_WITHIN / READ_EVERY) + 1
    window.shows(ODD, before)
    assert (window.record.asks, window.state) == ("", "idle")
    window.shows(ODD, 1)
    assert (window.record.asks, window.state) == (UNRECOGNISED, "unknown")
    last = last_beat(window.stage.mail.presence, window.stage.team, "bob", window.stage.clock.now())
    assert window.watch.state(last) == "idle"  # the record of the agent: no turn has begun
    window.shows(TRUST)
    assert (window.record.asks, window.state) == (ASKED, "waiting")
    window.shows(COMPOSER)
    assert (window.record.asks, window.state) == ("", "idle")


def test_an_agent_whose_hooks_have_spoken_may_show_what_it_likes(window: Window) -> None:
    beat(
        window.stage.mail.presence, window.stage.team, "bob", window.stage.clock.now(), "codex hook Stop", state="idle"
    )
    window.shows(ODD, 10)
    assert (window.record.asks, window.state) == ("", "idle")


def test_a_hook_that_speaks_at_last_ends_the_doubt(window: Window) -> None:
    window.shows(ODD, 10)
    assert window.record.asks == UNRECOGNISED
    told = Endpoint(vendor="codex", session="s1", at=window.stage.clock.now() + 1, pane="%3", pane_pid=7)
    put_endpoint(window.stage.mail, window.stage.team, "bob", told)
    window.shows(ODD)
    assert (window.record.asks, window.state) == ("", "idle")


def test_a_window_that_cannot_be_read_changes_nothing(window: Window) -> None:
    window.shows(TRUST)
    window.shows(None, 5)
    assert window.record.asks == ASKED


def test_the_screen_is_read_no_more_often_than_it_has_to_be(window: Window) -> None:
    for _ in range(50):
        window.stage.clock.pass_time(READ_EVERY / 10)
        window.watch.look()
    assert window.reads <= 6


def test_a_plain_program_may_show_what_it_likes() -> None:
    window = Window(ApprovalStage(), "command")
    assert window.host.crew.runtimes["command"].protocol == PLAIN
    window.shows(TRUST, 5)
    assert (window.record.asks, window.reads, window.endpoint) == ("", 0, None)


def test_a_composer_of_which_no_hook_spoke_is_the_way_to_the_agent(window: Window) -> None:
    window.shows(COMPOSER, int(HOOKS_MAY_TAKE / READ_EVERY))
    before = window.endpoint
    window.shows(COMPOSER, 1)
    found = window.endpoint
    assert before is None
    assert (found.server, found.pane, found.pane_pid, found.has_hooks) == ("/s", "%3", 7, False)


def test_a_session_that_its_hook_told_of_is_left_as_it_is(window: Window) -> None:
    told = Endpoint(vendor="codex", session="s1", at=window.stage.clock.now() + 1, pane="%3", pane_pid=7)
    put_endpoint(window.stage.mail, window.stage.team, "bob", told)
    window.shows(COMPOSER, 10)
    assert window.endpoint.session == "s1"


def test_a_dialog_is_never_the_way_to_an_agent(window: Window) -> None:
    window.shows(TRUST, 10)
    assert window.endpoint is None


def test_what_a_former_host_left_is_no_way_to_this_one(window: Window) -> None:
    former = Endpoint(vendor="codex", session="old", at=window.stage.clock.now() - 100, pane="%1", pane_pid=3)
    put_endpoint(window.stage.mail, window.stage.team, "bob", former)
    window.shows(COMPOSER, 10)
    assert window.endpoint.pane == "%3"
