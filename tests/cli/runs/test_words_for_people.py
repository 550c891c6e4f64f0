"""What a run asks people to do is written as commands, and these exist."""

from __future__ import annotations

import re

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.runs.rules.memory import RunMemory
from atm.runs.rules.orders import RunOrder
from atm.runs.rules.view import RunView, TaskFacts
from atm.ui.views.runs import for_people

ORDER = RunOrder(run="r", team="my-team", folder="/r")


def told() -> list[str]:
    cards = [
        Card(1, status="in_progress", owner="a1", plan="submitted"),
        Card(2, status="in_progress", owner="a1", needs="lead"),
        Card(3),
    ]
    memory = RunMemory()
    memory.task("3").refused = "nobody has allowed `make`"
    board = Board({card.number: card for card in cards})
    facts = {"3": TaskFacts(untrusted="make")}
    view = RunView(now=0.0, board=board, agents={}, facts=facts, approvals={"abcdef012345": ("a1", "waiting")})
    return for_people(ORDER, memory, view)


def test_every_command_that_a_run_suggests_exists_and_names_the_team(quickly):
    lines = told()
    commands = [words for line in lines for words in re.findall(r"\batm [^;]+", line)]
    assert len(lines) == 4
    assert len(commands) == 6
    for words in commands:
        assert words.endswith("--team my-team"), words
        verbs = [word for word in words.split()[1:] if re.fullmatch("[a-z]+", word)]
        assert "usage: atm" in quickly(*verbs, "--help").out, words
