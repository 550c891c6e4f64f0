"""The screen for a screen reader: lines, spoken units, and only what is new."""

from __future__ import annotations

import io
import sys

import pytest
from tests.conftest import Atm
from tests.proving import proves
from tests.tui.lantern import LANTERN, NOW

from atm.ui.tui.plain import sentence
from atm.ui.views.team.attention import NEEDS, attention


def test_a_row_is_a_sentence_with_spoken_units():
    said = [sentence(row, LANTERN) for row in attention(LANTERN, NOW) if row.group == NEEDS]
    assert said[0] == (
        "Command. kite, Codex, task 6. git push -u origin lantern/6-only-changed. 11:42 left, then denied."
    )
    assert said[1] == "Question. finch, Gemini CLI, task 13. Should a missing #anchor fail the run? Waits 6 minutes."


def test_without_a_terminal_it_is_said_once(crew: Atm):
    said = crew("top", "--plain").out
    assert said.startswith("crew, ")
    assert "1 needs you.\n1. Question. ann, task 3. which colour? Waits" in said
    assert "◆" not in said


def test_what_is_typed_is_answered(
    crew: Atm, reader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    from atm.ui.tui.plain import speak

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("1\np\nw\nb\nwhat\nq\n"))
    assert speak(reader.session, reader, "crew") == 0
    said = capsys.readouterr().out
    assert "“which colour?”  said by ann" in said
    assert "Problems: none." in said
    assert "Working. bob, task 1. Write the parser." in said
    assert "Task 2, blocked. Write the docs." in said
    assert "A number and Enter" in said


def test_a_team_that_cannot_be_read_is_said(crew: Atm):
    assert "no team" in crew("top", "--plain", "--team", "nobody", code=1).out.casefold()


@proves("R004-architecture-01")
def test_in_a_pipe_the_drawn_screen_says_what_to_use(crew: Atm):
    done = crew("top", code=1, env={"TERM": "xterm"})
    assert "atm top --plain" in done.err


def test_for_programs_there_is_the_snapshot(crew: Atm):
    assert "atm snapshot --json --watch" in crew("top", "--json", code=1).out
