"""What the life of a team needs beyond mail: where it stands, its files as files, and who is there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from atm.board.rules.tasks import Task
    from atm.files.ports.undertaking import Undertaking
else:
    Protocol = object


class TasksFound:
    """A task list: the numbers that are taken, the high-water mark, and what is still to be done."""

    __slots__ = ("counts", "finished", "mark", "numbers", "open")

    def __init__(self, files: dict[int, Task | None], mark: int, finished: Iterable[int] = ()) -> None:
        self.numbers = set(files)
        self.finished = set(finished)
        """Tasks that are gone and of which the history says that they were finished."""
        self.mark = mark
        self.counts = {"pending": 0, "in_progress": 0, "completed": 0}
        for task in files.values():
            status = "unreadable" if task is None else task.status
            self.counts[status] = self.counts.get(status, 0) + 1
        self.open = sum(task is None or not (task.is_finished or task.is_hidden) for task in files.values())
        """What cannot be read may well be open."""


class Deletion:
    """A team that is being deleted: its folders lie aside under these names."""

    __slots__ = ("aside", "team")

    def __init__(self, team: str, aside: str) -> None:
        self.team = team
        self.aside = aside


class TeamFiles(Protocol):
    """A team's files as files: putting them back, and taking them away."""

    def prepare(self, team: str) -> None:
        """Make the folders of a team that is about to come back."""

    def put(self, team: str, path: str, data: bytes) -> bool:
        """A file below the team's folder, `inboxes/ann.json`, where nothing lies yet; False if something does."""

    def holds(self, team: str, path: str) -> bool:
        """Does something lie at that place below the team's folder?"""

    def content(self, team: str, path: str) -> bytes | None:
        """Of a file below the team's folder; None if there is none."""

    def tasks(self, team: str) -> TasksFound: ...

    def put_tasks(self, team: str, files: dict[int, bytes], least_mark: int) -> tuple[list[int], int]:
        """Under the list's lock: task files that do not exist, and a mark that never falls. What came, the mark."""

    def deleting(self, team: str, aside: str) -> Undertaking:
        """Written down while a team is deleted; one process at a time."""

    def set_aside(self, deletion: Deletion) -> None:
        """Move the team's folder out of the way, then its task list. Does what is still to be done."""

    def is_set_aside(self, deletion: Deletion) -> bool:
        """Has the team's folder been moved? That is the moment at which the team is gone."""

    def clear(self, deletion: Deletion) -> None:
        """Remove what was set aside, links not followed."""

    def cut_off(self) -> list[Deletion]:
        """Deletions whose process is gone."""

    def leftovers(self, team: str) -> list[str]:
        """What deletions left lying aside: the names of folders."""
