"""A line for an agent in a pane: every outcome, and whoever is killed half-way."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.services.pane_delivery import (
    ENTERS,
    LOOK_FOR,
    PROVEN,
    REFUSED,
    UNPROVEN,
    Expected,
    Pasted,
    paste_line,
)
from atm.testing import FakeClock
from atm.testing.delivery import DIALOG, MemoryPane, MemoryTerminals

AT = PaneAddress("/tmp/tmux-0/default", "%14")
TAG = "atm:3f0c1f4e"
LINE = f"[{TAG} from bob] the parser is done; do you want to look at it? $(touch x)"


class Stage:
    """One agent in one pane, and a clock."""

    def __init__(self) -> None:
        self.terminals = MemoryTerminals()
        self.clock = FakeClock()
        self.agent = self.terminals.open(AT)

    def paste(self, line: str = LINE, tag: str = TAG, expected: Expected | None = None) -> Pasted:
        return paste_line(self.terminals, self.clock, AT, expected or Expected(100, "claude"), line, tag)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def open_dialog(agent: MemoryPane) -> None:
    agent.dialog = DIALOG


def leave_for_a_shell(agent: MemoryPane) -> None:
    agent.command, agent.composer = "bash", ""


def test_a_line_is_pasted_submitted_and_seen_to_go(stage):
    pasted = stage.paste()
    assert pasted.outcome == PROVEN
    assert "is seen outside" in pasted.evidence
    assert stage.agent.submitted == [LINE]
    assert (stage.agent.pastes, stage.agent.enters) == (1, 1)


def test_enter_is_pressed_a_moment_after_the_paste(stage):
    times = []
    stage.agent.on_paste = lambda _: times.append(stage.clock.monotonic())
    stage.agent.on_enter = lambda _: times.append(stage.clock.monotonic())
    stage.paste()
    assert times[1] - times[0] >= 0.1


@pytest.mark.parametrize("lag", [1, 5, 30])
def test_a_slow_agent_is_waited_for(stage, lag):
    stage.agent.lag = lag
    assert stage.paste().outcome == PROVEN
    assert stage.agent.submitted == [LINE]
    assert stage.agent.pastes == 1


def test_an_agent_without_registered_facts_is_taken_as_it_is(stage):
    assert stage.paste(expected=Expected()).outcome == PROVEN


def test_a_suggestion_in_the_composer_is_no_obstacle(stage):
    stage.agent.suggestion = "yes, commit it"
    assert stage.paste().outcome == PROVEN
    assert stage.agent.submitted == [LINE]


def test_a_paste_that_is_shown_as_a_chip_is_submitted(stage):
    stage.agent.shows_chips = True
    assert stage.paste().outcome == PROVEN
    assert stage.agent.submitted == ["[Pasted text #1]"]


def test_a_first_enter_that_was_swallowed_is_pressed_again(stage):
    stage.agent.swallowed_enters = 1
    assert stage.paste().outcome == PROVEN
    assert stage.agent.submitted == [LINE]
    assert stage.agent.enters == 2


def test_a_line_that_is_gone_at_once_is_proven_by_the_empty_composer(stage):
    stage.agent.on_enter = lambda agent: agent.above.clear()
    pasted = stage.paste()
    assert pasted.outcome == PROVEN
    assert "moved on" in pasted.evidence


@pytest.mark.parametrize("lag", range(50, 75))
def test_an_enter_that_takes_effect_late_is_proven_all_the_same(stage, lag):
    stage.agent.on_paste = lambda agent: setattr(agent, "lag", lag)
    assert stage.paste().outcome == PROVEN
    assert stage.agent.submitted == [LINE]


def test_a_dialog_that_the_line_itself_causes_does_not_hide_the_proof(stage):
    stage.agent.on_enter = open_dialog
    assert stage.paste().outcome == PROVEN


class TestRefusals:
    """Nothing is pasted, and it is said why."""

    def refused(self, stage: Stage, why: str, expected: Expected | None = None, line: str = LINE) -> None:
        pasted = stage.paste(line, expected=expected)
        assert pasted.outcome == REFUSED
        assert why in pasted.evidence
        assert (stage.agent.pastes, stage.agent.enters) == (0, 0)
        assert stage.agent.submitted == stage.agent.eaten == stage.agent.ran == []

    def test_a_dialog_in_front(self, stage):
        open_dialog(stage.agent)
        self.refused(stage, "dialog")

    @pytest.mark.parametrize("command", ["bash", "-zsh", "fish", "pwsh"])
    def test_a_shell_in_front(self, stage, command):
        stage.agent.command = command
        self.refused(stage, "shell", expected=Expected(100))
        self.refused(stage, "in front now", expected=Expected(100, "claude"))

    def test_a_shell_in_front_of_somebody_who_registered_one(self, stage):
        stage.agent.command = "bash"
        self.refused(stage, "shell", expected=Expected(100, "bash"))

    def test_a_pane_that_is_gone(self, stage):
        stage.terminals.panes.clear()
        self.refused(stage, "not there")

    def test_a_pane_that_belongs_to_another_process_now(self, stage):
        self.refused(stage, "another process", expected=Expected(99, "claude"))

    def test_another_program_in_front(self, stage):
        stage.agent.command = "vim"
        self.refused(stage, "'vim'")
        self.refused(stage, "another program", expected=Expected())

    def test_a_dead_pane(self, stage):
        stage.agent.is_dead = True
        self.refused(stage, "dead")

    @pytest.mark.parametrize(
        ("fact", "why"), [("in_mode", "copy mode"), ("is_synchronized", "synchronize"), ("is_locked", "switched off")]
    )
    def test_a_pane_whose_keys_are_not_its_own(self, stage, fact, why):
        setattr(stage.agent, fact, True)
        self.refused(stage, why)

    def test_a_draft_of_somebodys(self, stage):
        stage.agent.type("please also")
        self.refused(stage, "begun to write")
        assert stage.agent.composer == "please also"

    def test_a_screen_without_a_composer(self, stage):
        stage.agent.dialog = ("loading",)
        self.refused(stage, "no composer")

    def test_a_multiplexer_that_says_no(self, stage):
        stage.terminals.refuses = True
        self.refused(stage, "refused")

    @pytest.mark.parametrize(
        "line", [f"[{TAG}] a\nb", f"[{TAG}] \x1b[201~", f"!{TAG}", f"/exit {TAG}", "no tag", TAG + "\t"]
    )
    def test_a_line_that_could_do_more_than_be_read(self, stage, line):
        self.refused(stage, "the line", line=line)


class TestDoubts:
    """It was pasted; that it was submitted was not seen."""

    def unproven(self, stage: Stage, why: str) -> None:
        pasted = stage.paste()
        assert pasted.outcome == UNPROVEN
        assert why in pasted.evidence
        assert stage.agent.pastes == 1

    def test_a_paste_that_never_appears_is_not_followed_by_enter(self, stage):
        stage.agent.swallows_pastes = True
        self.unproven(stage, "not seen in the composer")
        assert stage.agent.enters == 0
        assert stage.clock.monotonic() == pytest.approx(LOOK_FOR, abs=0.2)

    def test_enter_is_pressed_twice_at_most(self, stage):
        stage.agent.swallowed_enters = 9
        self.unproven(stage, "still in the composer")
        assert stage.agent.enters == ENTERS

    def test_a_dialog_that_opens_after_the_paste_gets_no_enter(self, stage):
        stage.agent.on_paste = open_dialog
        self.unproven(stage, "not seen in the composer")
        assert (stage.agent.enters, stage.agent.eaten) == (0, [])

    def test_a_dialog_that_opens_at_the_last_moment_gets_no_enter(self, stage):
        looks = 0

        def look(at: PaneAddress) -> str | None:
            nonlocal looks
            seen = MemoryTerminals.screen(stage.terminals, at)
            looks += bool(stage.agent.composer)
            if looks == 2:
                open_dialog(stage.agent)
            return seen

        stage.terminals.screen = look
        self.unproven(stage, "dialog")
        assert (stage.agent.enters, stage.agent.eaten) == (0, [])

    def test_a_dialog_that_swallows_the_enter_proves_nothing(self, stage):
        stage.agent.swallowed_enters = 1
        stage.agent.on_enter = open_dialog
        self.unproven(stage, "dialog")
        assert stage.agent.enters == 1

    def test_an_agent_that_leaves_before_enter_leaves_a_shell_that_gets_none(self, stage):
        stage.agent.on_paste = leave_for_a_shell
        self.unproven(stage, "not seen")
        assert (stage.agent.enters, stage.agent.ran) == (0, [])

    def test_a_shell_that_shows_the_line_gets_no_enter(self, stage):
        """The agent died with the paste unread, and a shell with a fancy prompt took it."""

        def die(agent: MemoryPane) -> None:
            agent.command = "zsh"
            agent.above.append(f"❯ {agent.composer}")

        stage.agent.on_paste = die
        assert stage.paste(expected=Expected(100)).outcome == UNPROVEN
        assert (stage.agent.enters, stage.agent.ran) == (0, [])

    def test_an_agent_that_dies_at_enter_proves_nothing(self, stage):
        def die(agent: MemoryPane) -> None:
            leave_for_a_shell(agent)
            agent.above.clear()

        stage.agent.on_enter = die
        self.unproven(stage, "in front")

    def test_the_last_picture_of_an_agent_that_died_proves_nothing(self, stage):
        def die(agent: MemoryPane) -> None:
            agent.command = "zsh"
            agent.above.append("❯ ")

        stage.agent.on_enter = die
        assert stage.paste(expected=Expected(100)).outcome == UNPROVEN

    def test_a_pane_that_vanishes_after_the_paste(self, stage):
        stage.agent.on_paste = lambda _: stage.terminals.panes.clear()
        self.unproven(stage, "not seen")

    def test_a_pane_that_vanishes_at_enter(self, stage):
        stage.agent.on_enter = lambda _: stage.terminals.panes.clear()
        self.unproven(stage, "not there")

    def test_a_multiplexer_that_refuses_enter(self, stage):
        def refuse(_: MemoryPane) -> None:
            stage.terminals.refuses = True

        stage.agent.on_paste = refuse
        self.unproven(stage, "refused Enter")
        assert stage.agent.enters == 0

    def test_somebody_who_types_meanwhile_is_not_cut_short(self, stage):
        stage.agent.on_paste = lambda agent: agent.type(" wait, I")
        self.unproven(stage, "something else is written")
        assert stage.agent.enters == 0
        assert stage.agent.composer == LINE + " wait, I"


class TestRepeats:
    """Another process pasted and was killed; or said that it could not prove it."""

    def test_a_line_that_was_pasted_but_not_submitted_is_submitted_and_not_pasted_again(self, stage):
        stage.agent.composer = LINE
        pasted = stage.paste()
        assert pasted.outcome == PROVEN
        assert "pasted before" in pasted.evidence
        assert stage.agent.submitted == [LINE]
        assert (stage.agent.pastes, stage.agent.enters) == (0, 1)

    def test_a_line_that_was_submitted_is_left_alone(self, stage):
        stage.paste()
        again = stage.paste()
        assert again.outcome == PROVEN
        assert "had been submitted before" in again.evidence
        assert stage.agent.submitted == [LINE]
        assert (stage.agent.pastes, stage.agent.enters) == (1, 1)

    @pytest.mark.parametrize("now", [open_dialog, lambda agent: agent.type("and")])
    def test_it_is_left_alone_whatever_the_agent_does_now(self, stage, now):
        stage.paste()
        now(stage.agent)
        assert stage.paste().outcome == PROVEN
        assert (stage.agent.pastes, stage.agent.enters) == (1, 1)

    @pytest.mark.parametrize("steps", range(12))
    def test_a_process_killed_at_any_step_is_completed_by_the_next_one(self, stage, steps):
        with contextlib.suppress(InterruptedError):
            paste_line(_Mortal(stage.terminals, steps), stage.clock, AT, Expected(100, "claude"), LINE, TAG)
        assert stage.paste().outcome == PROVEN
        assert stage.agent.submitted == [LINE]

    def test_a_line_on_a_shells_prompt_had_not_been_submitted(self, stage):
        stage.agent.command = "bash"
        stage.agent.type(LINE)
        assert stage.paste(expected=Expected(100)).outcome == REFUSED
        assert stage.agent.ran == []

    def test_a_dead_pane_that_shows_it_proves_nothing(self, stage):
        stage.paste()
        stage.agent.is_dead = True
        assert stage.paste().outcome == REFUSED

    def test_another_line_is_another_line(self, stage):
        stage.paste()
        assert stage.paste("[atm:00000002] more", "atm:00000002").outcome == PROVEN
        assert stage.agent.submitted == [LINE, "[atm:00000002] more"]

    def test_two_lines_that_met_in_a_composer_are_left_to_the_human(self, stage):
        stage.agent.type(f"[atm:00000002] more{LINE}")
        assert stage.paste().outcome == UNPROVEN
        assert stage.paste("[atm:00000003] third", "atm:00000003").outcome == REFUSED
        assert stage.agent.enters == 0


class _Mortal:
    """The ports of a process that is killed after so many calls."""

    def __init__(self, terminals: MemoryTerminals, steps: int) -> None:
        self._terminals = terminals
        self._left = steps

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise InterruptedError
        self._left -= 1
        return getattr(self._terminals, name)
