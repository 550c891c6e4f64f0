"""A board that is locked for a while, as after a kill of its holder, is no reason to call a person."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from atm.board.services import working
from atm.core.errors import FileBusy
from atm.core.work_errors import TaskClosed
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import Give
from atm.runs.rules.memory import RunMemory
from atm.runs.rules.orders import AgentSeat, RunOrder
from atm.runs.services.performing import Performing

ORDER = RunOrder(run="r", team="t", folder="/r", seats=[AgentSeat(name="a1", runtime="script", is_script=True)])


@pytest.mark.parametrize(
    ("error", "told"),
    [(FileBusy("the board is locked", "wait"), []), (TaskClosed("it is over", "nothing"), [kinds.REFUSED])],
)
def test_a_task_is_refused_only_where_trying_again_does_not_help(monkeypatch, error, told):
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(working, "claim", refuse)
    desk = SimpleNamespace(boardroom=None, clock=SimpleNamespace(now=lambda: 0.0))
    performing = Performing(desk, ORDER, RunMemory(), None)  # type: ignore[arg-type]
    happened = performing.perform(Give("1", "a1"), None)  # type: ignore[arg-type]
    assert [event.kind for event in happened] == told
