"""The merge queue of a run: begun with it, looked at with everything else, and worked off beside it."""

from __future__ import annotations

from atm.core.errors import AtmError, UnreadableFile
from atm.core.untrusted_text import one_line
from atm.core.work_errors import NotTrusted
from atm.merges.rules.items import MergeQueue
from atm.merges.services.people import begin_queue
from atm.merges.services.queueing import BoardReader, open_queue
from atm.merges.services.radar import Radar, tell_both
from atm.merges.services.resolving import let_go
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.dependencies import Board
    from atm.crew.ports.worktrees import Repository
    from atm.merges.rules.radar import Collision
    from atm.runs.rules.memory import RunMemory
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom

MOST_IN_VAIN = 8
AGAIN = 2.0
"""Seconds after which a process that could not do its work is started again: somebody else may merge just now."""


class RunMerging:
    """Of one run. Nothing, where it merges nothing."""

    def __init__(self, desk: Runroom, order: RunOrder) -> None:
        self._desk = desk
        self._order = order
        self._reader = BoardReader(desk.merges, order.team)
        self._in_vain = self._made_anew = 0
        self._ended_at = 0.0
        self._was_running = False
        self._radar = Radar(desk.merges, order.team)
        self._repository: Repository | None = None
        self._looked_at = desk.clock.monotonic()

    def begin(self) -> None:
        """The target is there before anybody begins with it."""
        order = self._order
        if not order.merges:
            return
        mind = next((seat for seat in order.everybody if not seat.is_script), None)
        begin_queue(
            self._desk.merges,
            MergeQueue(
                team=order.team,
                branch=order.into,
                base=order.base,
                folder=order.folder,
                strategy=order.merge,
                resolver=mind.runtime if mind is not None else "",
                model=mind.model if mind is not None else "",
                run=order.run,
                before=order.done_before,
            ),
        )

    def look(self, board: Board) -> MergeQueue | None:
        if not self._order.merges:
            return None
        try:
            queue = open_queue(self._desk.merges, self._order.team, self._order.folder)
        except (NotTrusted, UnreadableFile):
            if self._made_anew >= MOST_IN_VAIN:
                raise
            self._made_anew += 1
            self.begin()
            queue = open_queue(self._desk.merges, self._order.team, self._order.folder)
        self._reader.refresh(queue, board)
        return queue

    def touched(self) -> dict[str, list[str]]:
        return self._radar.touched()

    def scan(self, memory: RunMemory, titles: Mapping[str, str]) -> list[RunEvent]:
        """Who changes the same lines as somebody else: both are told, once."""
        desk, order, now = self._desk, self._order, self._desk.clock.monotonic()
        period = desk.merges.policy.radar
        if not order.merges or period <= 0 or now - self._looked_at < period:
            return []
        self._looked_at = now
        self._repository = self._repository or desk.crew.worktrees.repository(order.folder)
        if self._repository is None:
            return []
        found = self._radar.look(self._repository, order.into)
        desk.merges.merges.note_collisions(order.team, found)
        return [self._told(one, titles) for one in found if one.conflicts and _key(one) not in memory.told]

    def _told(self, one: Collision, titles: Mapping[str, str]) -> RunEvent:
        tell_both(self._desk.merges, self._order.team, one, titles, self._order.into)
        others = [f"#{task}" if task else self._order.into for task in one.tasks]
        text = f"{' and '.join(others)} change the same lines of {', '.join(map(one_line, one.conflicts[:3]))}"
        return RunEvent(kinds.COLLIDE, one.tasks[0], self._desk.clock.now(), about=_key(one), text=text)

    def is_running(self) -> bool:
        """A moment after its end counts as running, if it was in vain."""
        if not self._order.merges:
            return False
        worker, now = self._desk.worker, self._desk.clock.monotonic()
        is_running = worker.is_running()
        if self._was_running and not is_running:
            self._ended_at = now
            self._in_vain = self._in_vain + 1 if worker.trouble() else 0
        self._was_running = is_running
        waits = self._in_vain > 0 and now - self._ended_at < AGAIN
        # Whoever merged for a loop that was killed, or a person: nobody else can meanwhile, however long it takes.
        return is_running or waits or self._desk.merges.merges.is_held(self._order.team)

    def trouble(self) -> str:
        """Once it was in vain often enough."""
        return one_line(self._desk.worker.trouble()) if self._in_vain >= MOST_IN_VAIN else ""

    def start(self) -> None:
        self._was_running = True
        self._desk.worker.start(self._order.team, self._order.folder)

    def stop(self) -> None:
        """At the end, and when somebody interrupts: nobody is left behind."""
        if not self._order.merges:
            return
        self._desk.worker.stop()
        try:
            with self._desk.merges.merges.hold(self._order.team):
                let_go(self._desk.merges, self._order.team)
        except AtmError:
            return  # somebody merges by hand, and looks after it


def _key(collision: Collision) -> str:
    return f"{kinds.COLLIDE} {collision.about}"
