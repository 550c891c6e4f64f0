"""A task as its creator wants it, and the tasks of a plan: whom they name, and which tasks of a board they are."""

from __future__ import annotations

from atm.board.rules.acceptance import COMMAND, RUN, about, check, is_command
from atm.board.rules.tasks import COMPLETED, check_key, check_priority, check_subject, check_text, folded, task_id
from atm.board.rules.time_limits import check_limit
from atm.core.names import check_known_name, nearest_name
from atm.core.work_errors import BadTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from atm.board.formats.task_drafts import TaskDraft
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Record


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
        "key",
        "max_retries",
        "needs_plan",
        "owner",
        "parts",
        "place",
        "priority",
        "quantum",
        "reviewer",
        "run",
        "runtime",
        "source",
        "subject",
        "timeout",
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
        key: str = "",
        runtime: str = "",
        source: str = "",
        timeout: float | None = None,
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
        self.key = check_key(key)
        """What its plan calls it; unique among those that are added together."""
        self.runtime = check_key(runtime, "runtime")
        self.source = source
        """The file of its plan; empty for a text without a name."""
        self.timeout = None if timeout is None else check_limit(timeout)
        """Seconds that one attempt may take; 0 for no limit, None for the default."""

    @property
    def commands(self) -> list[Record]:
        """What it would have somebody run: to do it, and to prove that it is done."""
        return [*self.run, *(check for check in self.acceptance if is_command(check))]


def wishes_of(drafts: Sequence[TaskDraft], *, allowed_by: str = "", source: str = "") -> list[NewTask]:
    """
    The tasks of a plan that lies in the file `source`. It is a text from somewhere: its commands are those of the
    person who said yes to them, or nobody's, whoever hands it in.

    Parts are known by their place: two parents may each have a part of the same title.
    """
    parts = [{drafts[position].subject for position in draft.parts} for draft in drafts]
    return [_wish(draft, own, allowed_by, source) for draft, own in zip(drafts, parts, strict=True)]


def check_runtimes(drafts: Sequence[TaskDraft], known: Collection[str]) -> None:
    """Every runtime that a plan names is one of these. Raises BadTask, naming the place and what may be meant."""
    for draft in drafts:
        if draft.runtime and draft.runtime not in known:
            near = nearest_name(draft.runtime, sorted(known))
            raise BadTask(
                f"{draft.place}: there is no runtime {draft.runtime!r}",
                f"did you mean {near!r}?" if near else f"known are {', '.join(sorted(known))}; see `atm runtimes`",
            )


def commands_in(wishes: Sequence[NewTask]) -> list[dict[str, str]]:
    """What they would have us run, for whoever is asked about them."""
    commands = [(wish, command) for wish in wishes for command in wish.commands]
    return [{"subject": wish.subject, "command": about(command)} for wish, command in commands]


def _wish(draft: TaskDraft, parts: set[str], allowed_by: str, source: str) -> NewTask:
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
        needs_plan=draft.needs_plan,
        is_done=draft.done,
        place=draft.place,
        key=draft.key,
        runtime=draft.runtime,
        source=source,
        timeout=draft.timeout,
    )


def meant_tasks(board: Board, wishes: Sequence[NewTask], ids: Sequence[str]) -> dict[str, list[str]]:
    """
    For every wish, known as one of `ids`, the ids that it depends on. Raises BadTask for what names nothing.

    `#12` is a task on the board. Anything else is an id of the plan, a title in it, and only then an id or a title on
    the board; a bare number is a task on the board unless the plan calls one of its own so.
    """
    plan = _Names(ids, [wish.key for wish in wishes], [wish.subject for wish in wishes])
    on_board: _Names | None = None
    found: dict[str, list[str]] = {}
    for wish, id in zip(wishes, ids, strict=True):
        mine = [ids[position] for position in wish.parts]
        for named in wish.depends_on:
            if _is_number(named) and folded(named) not in plan.keys:
                mine.append(task_id(named))
                continue
            if not plan.knows(named) and on_board is None:
                cards = board.sorted()
                on_board = _Names([c.id for c in cards], [c.key for c in cards], [c.subject for c in cards])
            mine.append(_meant(named, plan, on_board, wish.place))
        found[id] = list(dict.fromkeys(mine))
    return found


def _is_number(named: str) -> bool:
    return named.lstrip("#").isdecimal()


class _Names:
    """What some tasks may be called by: the ids of their plans, and their titles."""

    __slots__ = ("keys", "titles")

    def __init__(self, ids: Sequence[str], keys: Sequence[str], titles: Sequence[str]) -> None:
        self.keys: dict[str, list[str]] = {}
        self.titles: dict[str, list[str]] = {}
        for id, key, title in zip(ids, keys, titles, strict=True):
            if key:
                self.keys.setdefault(folded(key), []).append(id)
            self.titles.setdefault(folded(title), []).append(id)

    def knows(self, name: str) -> bool:
        return folded(name) in self.keys or folded(name) in self.titles


def _meant(name: str, plan: _Names, on_board: _Names | None, place: str) -> str:
    where = f"{place}: " if place else ""
    known = [plan.keys, plan.titles, *([on_board.keys, on_board.titles] if on_board is not None else [])]
    for what, names in zip(("id", "title", "id", "title"), known, strict=False):
        found = names.get(folded(name), [])
        if len(found) > 1:
            raise BadTask(
                f"{where}{name!r} is the {what} of {len(found)} tasks",
                f"name it by its number, or give them different {what}s",
            )
        if found:
            return found[0]
    near = nearest_name(folded(name), [each for names in known for each in names])
    raise BadTask(f"{where}no task is called {name!r}", f"did you mean {near!r}?" if near else "see `atm tasks list`")


def matches(board: Board, wishes: Sequence[NewTask], source: str) -> list[Card | None]:
    """
    For every line of a plan the task that it is on the board.

    An `id` is the plan's own: two plans may both have a `tests`. So it is looked for among the tasks of this file; and
    among all others if the title is the same too, for the file that was moved. Titles are the n-th of their kind. What
    Claude Code has cleared away counts if it was completed.
    """
    cards = [card for card in board.sorted() if not card.is_hidden and not card.problem]
    cards += [card for card in board.gone.values() if card.status == COMPLETED and not card.outcome]
    known = _Candidates(cards, source)
    found = [known.by_key(wish) for wish in wishes]
    return [known.by_title(wish) if card is None else card for wish, card in zip(wishes, found, strict=True)]


class _Candidates:
    """The tasks of a board by what a plan may know them by, the last first; each is somebody's once."""

    __slots__ = ("_elsewhere", "_keyless", "_keys", "_taken", "_titles")

    def __init__(self, cards: Sequence[Card], source: str) -> None:
        self._keys: dict[str, list[Card]] = {}
        self._elsewhere: dict[tuple[str, str], list[Card]] = {}
        self._titles: dict[str, list[Card]] = {}
        self._keyless: dict[str, list[Card]] = {}
        self._taken: set[int] = set()
        for card in reversed(cards):
            key, title = folded(card.key), folded(card.subject)
            if key and card.source == source:
                self._keys.setdefault(key, []).append(card)
            elif key:
                self._elsewhere.setdefault((key, title), []).append(card)
            if source and card.source == source:
                self._titles.setdefault(title, []).append(card)
                if not key:
                    self._keyless.setdefault(title, []).append(card)

    def by_key(self, wish: NewTask) -> Card | None:
        if not wish.key:
            return None
        key = folded(wish.key)
        return self._take(self._keys.get(key, [])) or self._take(self._elsewhere.get((key, folded(wish.subject)), []))

    def by_title(self, wish: NewTask) -> Card | None:
        """One with an id of its own is another task than one that the plan calls otherwise."""
        return self._take((self._keyless if wish.key else self._titles).get(folded(wish.subject), []))

    def _take(self, cards: list[Card]) -> Card | None:
        while cards:
            card = cards.pop()
            if card.number not in self._taken:
                self._taken.add(card.number)
                return card
        return None
