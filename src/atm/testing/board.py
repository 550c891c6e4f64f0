"""Twins of the board's ports, in memory."""

from __future__ import annotations

from collections.abc import Callable

from atm.board.formats.task import apply, decode_task
from atm.board.formats.task_history import OBSERVED, VANISHED, Past, PastLine, decode_past, state_of
from atm.board.ports.tasks import NewFile
from atm.board.rules.acceptance import Ran
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card, Change, Task
from atm.core.errors import FileBusy, UnreadableFile
from atm.core.work_errors import NoSuchTask
from atm.files.formats.json_record import NotJson, to_bytes
from atm.files.formats.times import to_iso
from atm.files.ports.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record


class MemoryTasks:
    """Task lists as bytes in a dictionary. `write_as_others_do` and `delete` are other programs."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.files: dict[str, dict[int, bytes]] = {}
        self.marks: dict[str, int] = {}
        self.lines: dict[str, list[bytes]] = {}
        self.gone: dict[str, dict[int, Card]] = {}
        self.told: dict[tuple[str, int], dict[str, Plain]] = {}
        """What the history says of each task."""

    def write_as_others_do(self, team: str, number: int, data: bytes) -> None:
        self.files.setdefault(team, {})[number] = data

    def delete(self, team: str, number: int) -> None:
        data = self.files[team].pop(number)
        self.gone.setdefault(team, {})[number] = Card(*decode_task(data, number).values())  # type: ignore[arg-type]

    def exists(self, team: str) -> bool:
        return team in self.files

    def path(self, team: str, id: str) -> str:
        return f"memory:{team}/{id}.json"

    def unfinished(self, team: str) -> str | None:  # noqa: ARG002 - a twin is never cut off
        return None

    def board(self, team: str) -> Board:
        cards = {number: _card(data, number) for number, data in self.files.get(team, {}).items()}
        return Board(cards, dict(self.gone.get(team, {})))

    def read(self, team: str, id: str) -> Task:
        data = self.files.get(team, {}).get(int(id))
        if data is None:
            self.board(team).card(id)
            raise NoSuchTask(f"there is no task #{id}")
        try:
            return decode_task(data, int(id))
        except NotJson as error:
            raise UnreadableFile(f"{self.path(team, id)}: {error}") from None

    def past(self, team: str) -> tuple[list[Past], int]:
        return decode_past(b"".join(self.lines.get(team, [])))

    def turn(self, team: str) -> MemoryTurn:
        return MemoryTurn(self, team)

    def remember(self, team: str, card: Card, event: Record) -> None:
        lines = self.lines.setdefault(team, [])
        lines.append(PastLine(card, event).numbered(len(lines) + 1))
        self.told[team, card.number] = state_of(card)


class MemoryTurn:
    """Nobody else is there, so everything is already exclusive."""

    def __init__(self, tasks: MemoryTasks, team: str) -> None:
        self._tasks = tasks
        self._team = team
        self.board: Board

    def __enter__(self) -> MemoryTurn:
        self._tasks.files.setdefault(self._team, {})
        self.board = self._tasks.board(self._team)
        self._note_what_others_did()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def upcoming(self, count: int) -> list[int]:
        known = (self._tasks.marks.get(self._team, 0), *self.board.cards, *self.board.gone)
        return list(range(max(known) + 1, max(known) + 1 + count))

    def reserve(self, numbers: list[int]) -> None:
        self._tasks.marks[self._team] = max(self._tasks.marks.get(self._team, 0), *numbers)

    def change(self, id: str, rule: Callable[[Task], Change | None]) -> Task | None:
        self.board.card(id)
        task = self._tasks.read(self._team, id)
        change = rule(task)
        if change is None:
            self.board = self._tasks.board(self._team)  # it is not as the board said
            return None
        return self._apply(task, change)

    def write(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        taken = [file.number for file in new if file.number in self._tasks.files[self._team]]
        if taken:
            raise FileBusy(f"#{taken[0]} was made by another program a moment ago", "try again")
        for id, change in changes.items():
            self._new_content(self._tasks.read(self._team, id), change)
        for file in new:
            self.reserve([file.number])
            self._tasks.files[self._team][file.number] = file.content
            for event in file.events:
                self._tasks.remember(self._team, _card(file.content, file.number), event)
        self.board = self._tasks.board(self._team)
        for id, change in changes.items():
            self._apply(self._tasks.read(self._team, id), change)

    def _new_content(self, task: Task, change: Change) -> bytes:
        try:
            return to_bytes(apply(task.raw, change))
        except NotJson as error:
            self.board = self.board.with_cards([Card(task.number, status="", problem=str(error))])
            raise UnreadableFile(f"{self._tasks.path(self._team, task.id)}: {error}") from None

    def _apply(self, task: Task, change: Change) -> Task:
        data = self._new_content(task, change)
        self._tasks.files[self._team][task.number] = data
        if change.event is not None:
            self._tasks.remember(self._team, _card(data, task.number), change.event)
        self.board = self._tasks.board(self._team)
        return decode_task(data, task.number)

    def _note_what_others_did(self) -> None:
        for kind, cards in ((OBSERVED, self.board.cards), (VANISHED, self.board.gone)):
            for number, card in cards.items():
                known = self._tasks.told.get((self._team, number))
                is_news = known != state_of(card) if kind == OBSERVED else known is not None and "gone" not in known
                if is_news:
                    at = to_iso(self._tasks.clock.now())
                    facts: Record = {"id": f"{kind}-{number}-{at}", "type": kind, "at": at, "actor": ""}
                    self._tasks.remember(self._team, card, {**facts, "to": card.outcome or card.status})
                    if kind == VANISHED:
                        self._tasks.told[self._team, number]["gone"] = True


def _card(data: bytes, number: int) -> Card:
    try:
        return Card(*decode_task(data, number).values())  # type: ignore[arg-type]
    except NotJson as error:
        return Card(number, status="", problem=str(error))


class MemoryPrograms:
    """Programs that end as a test says. What was run stands in `ran`."""

    def __init__(self) -> None:
        self.results: dict[str, Ran] = {}
        self.ran: list[tuple[str, str, bytes]] = []
        self.logged: list[dict[str, Plain]] = []
        self.at = "/here"

    def run(
        self,
        command: str,
        *,
        folder: str,
        seconds: float,  # noqa: ARG002 - a twin takes no time
        stdin: bytes = b"",
        facts: dict[str, str] | None = None,  # noqa: ARG002
        meanwhile: Callable[[], None] | None = None,
        every: float = 30.0,  # noqa: ARG002
    ) -> Ran:
        self.ran.append((command, folder, stdin))
        if meanwhile is not None:
            meanwhile()
        return self.results.get(command, Ran(0))

    def find(self, folder: str, pattern: str) -> Ran:
        self.ran.append((f"find {pattern}", folder, b""))
        return self.results.get(f"find {pattern}", Ran(1, f"nothing is at {folder}/{pattern}"))

    def commit_of(self, folder: str, name: str) -> str:  # noqa: ARG002
        ran = self.results.get(f"commit {name}")
        return ran.output if ran is not None else ""

    def is_reachable(self, folder: str, commit: str, branch: str) -> Ran:
        self.ran.append((f"reach {commit} {branch}", folder, b""))
        return self.results.get(f"reach {commit} {branch}", Ran(1, f"{commit} is not part of {branch}"))

    def here(self) -> str:
        return self.at

    def stands_in(self, folder: str) -> bool:
        return f"{self.at}/".startswith(f"{folder.rstrip('/')}/")

    def log(self, record: dict[str, Plain]) -> None:
        self.logged.append(record)
