"""
The lead's mail, while a loop leads: what is for a program is taken, everything else is left for a person.

Status, shutdown and plan messages are consumed. A question or any other letter stays unread, and is told once: nothing
is swallowed.
"""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.files.formats.times import from_iso
from atm.mail.formats.protocol_message import IDLE, parse
from atm.mail.rules.messages import PLAN, SHUTDOWN, SHUTDOWN_ANSWER, STATUS
from atm.mail.services.typed.consuming import take, waiting_of
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.typed_message import TypedMessage
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom

CONSUMED = (STATUS, SHUTDOWN, SHUTDOWN_ANSWER, PLAN)
LONGEST_SHOWN = 300


class LeadsMail:
    """Of one run."""

    def __init__(self, desk: Runroom, order: RunOrder) -> None:
        self._desk = desk
        self._order = order
        self._known: set[object] = set()

    def read(self, heard: dict[str, float]) -> list[RunEvent]:
        """What came since the last look; `heard` is told when each agent wrote last."""
        if self._order.leader is not None:
            return []
        room = self._desk.crew.room
        try:
            team = find_team(room, self._order.team)
            waiting = waiting_of(room, team.name, team.lead)
            if any(one.type in CONSUMED for one in waiting):
                taken = take(room, team.name, team.lead, CONSUMED)
                waiting = [*taken, *(one for one in waiting if one.type not in CONSUMED)]
        except (AtmError, OSError):
            return []  # the next look finds it
        return [event for one in waiting for event in self._told(one, heard)]

    def _told(self, one: TypedMessage, heard: dict[str, float]) -> list[RunEvent]:
        stamp = one.message.timestamp
        heard[one.sender] = max(heard.get(one.sender, 0.0), (from_iso(stamp) or 0.0) if stamp else 0.0)
        is_ours = self._order.seat(one.sender) is not None
        notice = parse(one.text)
        is_noise = notice is not None and (notice.kind == IDLE or one.type not in CONSUMED)
        if one.key in self._known or not is_ours or is_noise:
            return []
        self._known.add(one.key)
        now, text = self._desk.clock.now(), one.text[:LONGEST_SHOWN]
        return [RunEvent(kinds.MESSAGE, one.sender, now, text=text, type=one.type, **_facts(one))]


def _facts(one: TypedMessage) -> dict[str, str]:
    return {key: value for key, value in one.metadata.items() if key in ("task_id", "state", "approved")}
