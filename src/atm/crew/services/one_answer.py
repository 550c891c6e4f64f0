"""An agent that is asked for one thing: waiting for the answer of a turn, and letting it go afterwards."""

from __future__ import annotations

from atm.core.errors import AtmError, RequestError
from atm.crew.rules.states import IDLE
from atm.roster.services.members import remove_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom

NAP = 0.1


class NoAnswer(RequestError):
    """It ended, or its time is over."""


def await_answer(crew: Crewroom, record: AgentRecord, turn: int, end: float, meanwhile: Callable[[], None]) -> str:
    """What it said at the end of its n-th turn. Raises NoAnswer, with why."""
    while True:
        now = crew.records.read(record.team, record.member)
        if now is None or now.generation != record.generation or now.is_over:
            raise NoAnswer(now.error if now is not None and now.error else "it ended")
        if now.turns >= turn and now.state == IDLE:
            return now.said
        if crew.clock.monotonic() >= end:
            raise NoAnswer("its time is over")
        meanwhile()
        crew.clock.sleep(NAP)


def dismiss(crew: Crewroom, team: str, member: str) -> None:
    """Off the roster: nobody writes to it any more."""
    try:
        remove_member(crew.room, team, member, force=True)
    except AtmError:
        return  # `atm doctor` finds it
