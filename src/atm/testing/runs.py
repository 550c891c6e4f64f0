"""Runs in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy

from atm.domain.approvals.policy import Policy, PolicyLayer
from atm.domain.errors import RunActive, UnreadableFile
from atm.formats.runs.event_line import decode_events, encode_event
from atm.formats.runs.order_file import decode_order, encode_order
from atm.services.approvals.approvalroom import Approvalroom
from atm.services.crew.crewroom import CrewPolicy
from atm.services.roster.full_boardroom import FullBoardroom
from atm.services.runs.runroom import Runroom
from atm.testing.agents import memory_crewroom
from atm.testing.approvals import MemoryApprovals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Record
    from atm.domain.runs.memory import RunEvent
    from atm.domain.runs.orders import RunOrder


class MemoryRuns:
    """Implements `ports.runs.Runs`. `plans` are files of the user's."""

    def __init__(self) -> None:
        self._orders: dict[tuple[str, str], bytes] = {}
        self._lines: dict[tuple[str, str], str] = {}
        self._reports: dict[tuple[str, str], tuple[Record, str]] = {}
        self.copies: dict[tuple[str, str], str] = {}
        self.plans: dict[str, str] = {}
        self._held: set[str] = set()

    @contextmanager
    def hold(self, team: str) -> Iterator[object]:
        if team in self._held:
            raise RunActive(f"a run of team {team!r} is under way", "wait for it")
        self._held.add(team)
        try:
            yield self
        finally:
            self._held.discard(team)

    def is_held(self, team: str) -> bool:
        return team in self._held

    def names(self, team: str) -> list[str]:
        known = {*self._orders, *self._lines, *self._reports, *self.copies}
        return sorted(run for home, run in known if home == team)

    def write(self, order: RunOrder) -> None:
        self._orders[order.team, order.run] = encode_order(order)

    def is_as_written(self, team: str, run: str) -> bool:
        return (team, run) in self._orders

    def order(self, team: str, run: str) -> RunOrder | None:
        found = self._orders.get((team, run))
        return decode_order(found) if found is not None else None

    def append(self, team: str, run: str, events: Sequence[RunEvent]) -> None:
        if events:
            lines = "".join(encode_event(event, team, run) for event in events)
            self._lines[team, run] = self._lines.get((team, run), "") + lines

    def events(self, team: str, run: str) -> list[RunEvent]:
        return self.events_since(team, run, 0)[0]

    def events_since(self, team: str, run: str, offset: int) -> tuple[list[RunEvent], int]:
        data = self._lines.get((team, run), "").encode()[offset:]
        return [*decode_events(data.decode())], offset + len(data)

    def report(self, team: str, run: str) -> Record | None:
        found = self._reports.get((team, run))
        return deepcopy(found[0]) if found is not None else None

    def write_report(self, team: str, run: str, facts: Record, text: str) -> None:
        self._reports[team, run] = (deepcopy(facts), text)

    def write_copy(self, team: str, run: str, text: str) -> None:
        self.copies[team, run] = text

    def change_copy(self, team: str, run: str, change: Callable[[str], str]) -> None:
        if (team, run) in self.copies:
            self.copies[team, run] = change(self.copies[team, run])

    def change_plan(self, path: str, change: Callable[[str], str]) -> None:
        if path not in self.plans:
            raise UnreadableFile(f"{path} is not there", "check the path", path)
        self.plans[path] = change(self.plans[path])

    def folder(self, team: str, run: str) -> str:
        return f"/teams/{team}/runs/{run}"

    def remove(self, team: str, run: str) -> None:
        for kept in (self._orders, self._lines, self._reports, self.copies):
            kept.pop((team, run), None)


def memory_runroom(boardroom: FullBoardroom, *, policy: CrewPolicy | None = None) -> Runroom:
    """Runs on a machine that is made of twins."""
    crew = memory_crewroom(boardroom, policy=policy)
    approvals = Approvalroom(
        room=boardroom.room,
        boardroom=lambda: boardroom,
        approvals=MemoryApprovals(boardroom.room.rosters),  # type: ignore[arg-type]
        policy=Policy(PolicyLayer(""), []),
        real=lambda path: path,
        pid=crew.pid,
    )
    return Runroom(crew, MemoryRuns(), approvals)
