"""`atm tasks graph`: the board drawn as text, DOT and SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest


@pytest.fixture
def board(tasks):
    tasks("add", "First <b>")
    tasks("add", "Second", "--depends-on", "1")
    tasks("claim", "--as", "ann")
    return tasks


def test_text_shows_states_owners_and_what_waits_for_what(board):
    text = board("graph").out
    assert "◉ #1 First <b>  @ann" in text
    assert "#2 Second  ← #1" in text


def test_dot_has_an_arrow(board):
    assert '"1" -> "2";' in board("graph", "--format", "dot").out


def test_svg_is_a_picture(board):
    assert ElementTree.fromstring(board("graph", "--format", "svg").out).tag.endswith("svg")


@pytest.mark.parametrize("kind", ["text", "dot", "svg"])
def test_json_carries_the_drawing(board, kind):
    answer = board("graph", "--format", kind, "--json").json
    assert (answer["action"], answer["team"], answer["format"], answer["tasks"]) == ("graph", "crew", kind, 2)
    assert answer["graph"].strip() == board("graph", "--format", kind).out.strip()


def test_it_can_be_written_to_a_file(board, atm):
    done = board("graph", "--format", "svg", "--output", "board.svg")
    assert "board.svg" in done.out
    ElementTree.fromstring((atm.folder / "board.svg").read_text())
    assert board("graph", "--output", "x", "--json").json["path"] == "x"


def test_a_file_that_cannot_be_written_is_named(board):
    error = board("graph", "--output", "missing/board.svg", "--json", code=1).json["error"]
    assert "missing/board.svg" in error["message"]
    assert error["remedy"]


def test_an_unknown_format_is_answered_with_the_known(board):
    assert "text, dot, svg" in board("graph", "--format", "png", code=1).err


@pytest.mark.parametrize("kind", ["text", "dot", "svg"])
def test_an_empty_board_is_drawn_too(tasks, kind):
    assert tasks("graph", "--format", kind).out.strip()


def test_a_circle_that_another_program_made_is_told(board, atm):
    path = atm.home / ".claude/tasks/crew/1.json"
    path.write_text(path.read_text().replace('"blockedBy": []', '"blockedBy": ["2"]').replace("in_progress", "pending"))
    assert "circle" in board("graph").out
    assert {row["state"] for row in board("list", "--json").json["tasks"]} <= {"unreachable", "in_progress"}


@pytest.mark.parametrize("kind", ["text", "dot", "svg"])
def test_escapes_do_not_get_out_of_their_place(tasks, kind, atm):
    tasks("add", 'x\x1b[2J\x07"]; <script> \u202e')
    shown = tasks("graph", "--format", kind).out
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    if kind == "svg":
        assert "<script>" not in shown
