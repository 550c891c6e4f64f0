"""One queue that is being worked off: what every step of it needs."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.merges.ports import MergePiece
from atm.merges.rules.items import MERGE, REBASE
from atm.merges.services.queueing import repository_of
from atm.merges.services.telling import tell_lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.merges.rules.items import MergeItem, MergeQueue
    from atm.merges.services.mergeroom import Mergeroom


class MergeDesk:
    """Whoever has this holds the queue."""

    def __init__(self, room: Mergeroom, queue: MergeQueue, changed: Callable[[], None] = lambda: None) -> None:
        self.room = room
        self.queue = queue
        self.repository = repository_of(room, queue)
        self._changed = changed

    def write(self) -> None:
        self.room.merges.write(self.queue)
        self._changed()

    def target(self) -> str:
        return self.room.git.head(self.repository, self.queue.branch)

    def piece(self, item: MergeItem) -> MergePiece:
        """As it was done, or as somebody resolved it."""
        base, head, strategy = item.base, item.head, self.queue.strategy
        if item.resolution:
            base, head = item.resolved_onto, item.resolution
            strategy = MERGE if strategy == MERGE else REBASE
        return MergePiece(base=base, head=head, agent=item.agent, message=self._message(item), strategy=strategy)

    def _message(self, item: MergeItem) -> str:
        subject = one_line(item.subject)[:100] or f"Task #{item.task}"
        head = f"Merge #{item.task}: {subject}" if self.queue.strategy == MERGE else f"{subject} (#{item.task})"
        facts = {"Task": f"#{item.task} of {self.queue.team}", "Agent": item.agent, "Work": item.head}
        lost = [f"Lost: {one_line(what)}" for what in item.lost]
        return "\n".join([head, "", *(f"{key}: {one_line(value)}" for key, value in facts.items() if value), *lost, ""])

    def flag(self, item: MergeItem, status: str, reason: str) -> None:
        """For a person; nobody else waits."""
        item.flag(status, reason)
        try:
            self.keep(item, reason[:200])
        except AtmError as error:
            if str(error) not in item.reason:
                item.reason += f"; it could not be saved: {error}"
        self.write()
        tell_lead(self.room, self.queue, item)

    def keep(self, item: MergeItem, why: str) -> None:
        """All of its work, wherever its branch goes (D20)."""
        item.salvage = self.room.git.keep(self.repository, self.queue.team, item.task, item.head, why).ref
