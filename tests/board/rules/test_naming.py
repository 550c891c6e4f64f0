"""Tasks are called by their number, their plan's id, their title, or how it begins."""

from __future__ import annotations

import pytest

from atm.board.rules.dependencies import Board
from atm.board.rules.naming import meant_task
from atm.board.rules.tasks import Card
from atm.core.work_errors import BadTask

BOARD = Board(
    {
        1: Card(1, "Write the parser", key="parse"),
        2: Card(2, "Write the manual"),
        3: Card(3, "Paint", status="completed"),
        4: Card(4, "Paint"),
        5: Card(5, "7 dwarfs"),
        6: Card(6, "Hidden thing", is_hidden=True),
        7: Card(7, "Print", status="completed"),
        8: Card(8, "Print", status="completed"),
    }
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *(("7", "7"), ("#07", "7"), ("99", "99")),
        *(("parse", "1"), ("PARSE", "1"), ("write  the PARSER", "1"), ("write the m", "2")),
        *(("paint", "4"), ("7 dwarfs", "5"), ("7 d", "5")),
    ],
)
def test_a_task_is_found_by_what_it_is_called(said, meant):
    assert meant_task(BOARD, said) == meant


@pytest.mark.parametrize(
    ("said", "words"),
    [
        *(("write the", "#1, #2"), ("print", "#7, #8")),
        *(("hidden", "no task"), ("wr", "no task"), ("", "no task"), ("²", "no task"), ("-1", "no task")),
    ],
)
def test_what_means_none_or_several_is_refused(said, words):
    with pytest.raises(BadTask, match=words):
        meant_task(BOARD, said)


def test_a_slip_is_answered_with_the_title():
    with pytest.raises(BadTask) as caught:
        meant_task(BOARD, "write the parsre")
    assert "write the parser" in caught.value.remedy
