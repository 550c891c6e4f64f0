"""A rule over tasks as a change of bytes."""

from __future__ import annotations

from atm.board.formats.task import apply, decode_task
from atm.core.errors import AtmError
from atm.files.formats.json_record import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.rules.tasks import Change, Task
    from atm.core.plain import Record


class TaskRule:
    """A rule over tasks as a change of bytes, which can be made again on another version of the file."""

    __slots__ = ("_number", "_rule", "error", "event", "seen", "task")

    def __init__(self, number: int, rule: Callable[[Task], Change | None], event: Record | None = None) -> None:
        self._number = number
        self._rule = rule
        self.task: Task | None = None
        self.seen: Task | None = None
        """The task as it was found last."""
        self.event = event
        """What the rule made, or is known to make: a task that has been through it is left as it is."""
        self.error: AtmError | None = None

    def __call__(self, data: bytes) -> bytes:
        task = self.seen = decode_task(data, self._number)
        if self.event is not None and any(event.get("id") == self.event["id"] for event in task.events):
            self.task = task  # the lock was lost after the first exchange: it is in place already
            return data
        was_placed = self.task is not None
        try:
            change = self._rule(task)
        except AtmError as error:
            if not was_placed:
                raise
            self.error = error  # another program's version wins; it is put back before the caller hears of it
            return data
        if change is None:
            self.task = self.event = None
            return data
        new = to_bytes(apply(task.raw, change))
        self.task, self.event = decode_task(new, self._number), change.event
        return new
