"""A task as its creator wants it, and the tasks of a plan."""

from __future__ import annotations

from atm.domain.board.acceptance import COMMAND, RUN, about, check, is_command
from atm.domain.board.tasks import check_priority, check_subject, check_text
from atm.domain.names import check_known_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.domain.plain import Record
    from atm.formats.board.task_import import TaskDraft


class NewTask:
    """A task that its creator wants, before it has a number."""

    __slots__ = (
        "acceptance",
        "commands_of",
        "depends_on",
        "description",
        "files",
        "folder",
        "is_done",
        "max_retries",
        "needs_plan",
        "owner",
        "parts",
        "place",
        "priority",
        "quantum",
        "reviewer",
        "run",
        "subject",
    )

    def __init__(
        self,
        subject: str,
        *,
        description: str = "",
        depends_on: Sequence[str] = (),
        priority: str = "normal",
        files: Sequence[str] = (),
        owner: str = "",
        acceptance: Sequence[Record] = (),
        commands_of: str | None = None,
        max_retries: int | None = None,
        reviewer: str = "",
        needs_plan: bool = False,
        quantum: str = "",
        folder: str = "",
        is_done: bool = False,
        parts: Sequence[int] = (),
        place: str = "",
        run: Sequence[Record] = (),
    ) -> None:
        self.subject = check_subject(subject)
        self.description = check_text(description, "description")
        self.depends_on = list(depends_on)
        """Ids like `#12`, or titles: of tasks that are added together, else of tasks on the board."""
        self.priority = check_priority(priority)
        self.files = list(files)
        self.owner = check_known_name(owner, "member") if owner else ""
        self.acceptance = list(acceptance)
        self.commands_of = commands_of
        """In whose name its commands are: None for its creator, empty for nobody, as in a plan."""
        self.max_retries = max_retries
        self.reviewer = check_known_name(reviewer, "member") if reviewer else ""
        self.needs_plan = needs_plan
        self.quantum = quantum
        self.folder = folder
        self.is_done = is_done
        self.parts = list(parts)
        """Which of the tasks that are added together it also waits for, by their position."""
        self.place = place
        """Where it stands in the plan that it comes from, for messages."""
        self.run = list(run)

    @property
    def commands(self) -> list[Record]:
        """What it would have somebody run: to do it, and to prove that it is done."""
        return [*self.run, *(check for check in self.acceptance if is_command(check))]


def wishes_of(drafts: Sequence[TaskDraft], *, allowed_by: str = "") -> list[NewTask]:
    """
    The tasks of a plan. A plan is a text from somewhere: its commands are those of the person who said yes to them, or
    nobody's, whoever hands it in.

    Parts are known by their place: two parents may each have a part of the same title.
    """
    return [_wish(draft, {drafts[position].subject for position in draft.parts}, allowed_by) for draft in drafts]


def commands_in(wishes: Sequence[NewTask]) -> list[dict[str, str]]:
    """What they would have us run, for whoever is asked about them."""
    commands = [(wish, command) for wish in wishes for command in wish.commands]
    return [{"subject": wish.subject, "command": about(command)} for wish, command in commands]


def _wish(draft: TaskDraft, parts: set[str], allowed_by: str) -> NewTask:
    return NewTask(
        draft.subject,
        description=draft.description,
        depends_on=[title for title in draft.depends_on if title not in parts],
        parts=draft.parts,
        priority=draft.priority,
        files=draft.files,
        owner=draft.owner,
        acceptance=[check(COMMAND, command) for command in draft.accept],
        run=[check(RUN, command) for command in draft.run],
        commands_of=allowed_by,
        is_done=draft.done,
        place=draft.place,
    )
