"""
One turn at a task list: the list's lock, then the lock of each task that is changed (lowest number first).

The order of a change is: the task's file, which carries the event; the line in the history; the row in the index.
Killed anywhere in between, the next turn completes the history from the files. Several files are noted down first
and finished by the next turn, so that they change together or not at all.
"""

from __future__ import annotations

from atm.domain.errors import AtmError, FileBusy, NoSuchTask
from atm.domain.tasks import dicts_in
from atm.formats.board_index import UNSETTLED, Row
from atm.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.formats.task import (
    apply,
    change_from_record,
    change_to_record,
    decode_task,
    task_mark,
)
from atm.formats.task_history import OBSERVED, VANISHED, PastLine, state_of
from atm.formats.times import to_iso
from atm.ports.board import NewFile
from atm.system.files.board_scan import only_card
from atm.system.files.inbox_edits import EditWhole
from atm.system.files.locking import BREAK_AFTER, WATCH_FOR, LockLost
from atm.system.files.refusals import refused
from atm.system.files.rewriting import read_whole, temporary_of, write_new, write_over
from atm.system.files.shared_edit import edit_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.domain.dependencies import Board
    from atm.domain.tasks import Card, Change, Event, Plain, Task
    from atm.system.files.board_scan import Scan
    from atm.system.files.locking import SharedLock
    from atm.system.files.task_store import TaskFiles

MARK = ".highwatermark"
READ_UNDER_LOCK = 300
"""Files that may be read while others wait for the list: some ten milliseconds' worth (D2)."""


class TaskTurn:
    """Implements `ports.board.Turn`."""

    __slots__ = ("_folder", "_lock", "_scan", "_store", "_team", "board")

    def __init__(self, store: TaskFiles, team: str) -> None:
        self._store = store
        self._team = team
        self._folder = ""
        self._lock: SharedLock | None = None
        self._scan: Scan
        self.board: Board

    def __enter__(self) -> TaskTurn:
        self._folder = self._store.made_folder(self._team)
        for most in (READ_UNDER_LOCK, READ_UNDER_LOCK, None):
            if self._begin(most):
                return self
            self._store.board(self._team)  # read without the lock, so that nobody waits for us
        raise AssertionError("the last try has no limit")

    def _begin(self, most: int | None) -> bool:
        lock = self._store.locks.shared(f"{self._folder}/.lock")
        try:
            lock.__enter__()
            self._lock = lock
            if not self._look(most):
                lock.release()
                return False
            if self._tidy() + self._finish_former():
                self._look(None)
            self._catch_up()
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise refused(self._folder, error) from error
            raise
        return True

    def __exit__(self, *_: object) -> None:
        self._store.scanner.remember(self._team, self._scan)
        try:
            if self._lock is not None:
                self._lock.release()
        except OSError:
            return  # what was written is written; the next turn takes the lock for an orphan

    def _look(self, most: int | None) -> bool:
        """False if more files than that would have to be read."""
        scan = self._store.scanner.scan(self._team, self._folder, most)
        if scan is None:
            return False
        self._scan = scan
        self.board = self._scan.board()
        return True

    def _tidy(self) -> bool:
        """
        Remove what killed processes of ours left. Everything of ours happens under the list's lock, which we hold.

        A new version that lies beside a task may have displaced another program's: so an edit that changes nothing
        is made, which brings in whatever was displaced. A lock that is another program's is left alone.
        """
        for path in self._scan.litter:
            self._store.disk.remove(path)
        now = self._store.clock.now() * 1e9
        for number, since in sorted(self._scan.being_changed.items()):
            path, aside = f"{self._folder}/{number}.json", self._store.set_aside(self._team, number)
            # A lock that was left behind long ago is watched for a second before it is broken (D2).
            patience = 1.5 * WATCH_FOR if now - since > BREAK_AFTER * 1e9 else 0.0
            try:
                edit_shared(self._store.locks, path, EditWhole(lambda data: data), aside, patience)
            except (AtmError, FileNotFoundError):
                continue
        return bool(self._scan.being_changed)

    # Changing one task.

    def change(self, id: str, rule: Callable[[Task], Change | None]) -> Task | None:
        self.board.card(id)
        made = self._edit(int(id), _Rule(int(id), rule))
        if made.task is None or made.event is None:
            return made.task
        self._record([(made.task, made.event)])
        return made.task

    def _edit(self, number: int, rule: _Rule) -> _Rule:
        path = f"{self._folder}/{number}.json"
        self._still_ours()
        try:
            edit_shared(self._store.locks, path, EditWhole(rule), self._store.set_aside(self._team, number))
        except FileNotFoundError:
            raise NoSuchTask(f"task #{number} was deleted a moment ago", "see `atm tasks list`", path) from None
        except OSError as error:
            raise refused(path, error) from error
        if rule.error is not None:
            raise rule.error
        return rule

    def _still_ours(self) -> None:
        assert self._lock is not None
        try:
            self._lock.check()
        except LockLost:
            raise FileBusy(f"another program took the lock of {self._folder} away", "try again", self._folder) from None
        except OSError as error:
            raise refused(self._folder, error) from error

    # Changing several.

    def write(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        if len(new) + len(changes) > 1:
            self._note(new, changes)
        if new:
            self.reserve([file.number for file in new])
        try:
            self._record(self._write(new, changes))
        except OSError as error:
            raise refused(self._folder, error) from error
        self._forget_note()

    def _write(self, new: list[NewFile], changes: dict[str, Change]) -> list[tuple[Card, Event]]:
        """The files; what belongs into the history."""
        done: list[tuple[Card, Event]] = []
        for file in sorted(new, key=lambda file: file.number):
            self._still_ours()
            self._create(file)
            card = only_card(decode_task(file.content, file.number))
            done += [(card, event) for event in file.events]
        if new:
            self._store.disk.sync_folder(self._folder)
        for id in sorted(changes, key=int):
            change = changes[id]
            made = self._edit(int(id), _Rule(int(id), lambda _, change=change: change, change.event))  # type: ignore[misc]
            if made.task is not None and change.event is not None:
                done.append((made.task, change.event))
            elif made.task is not None:
                self._put(made.task, is_proven=int(id) not in self._scan.unproven)
        return done

    def _create(self, file: NewFile) -> None:
        path = f"{self._folder}/{file.number}.json"
        try:
            write_new(self._store.disk, path, file.content, mode=0o644, sync_name=False)
        except FileExistsError:
            return  # a former turn, which was killed, had come so far
        except OSError as error:
            raise refused(path, error) from error

    def _note(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        said: dict[str, Plain] = {
            "new": [{"number": f.number, "content": to_text(f.content), "events": [*f.events]} for f in new],
            "changes": {id: change_to_record(change) for id, change in changes.items()},
        }
        path = self._store.layout.task_intent(self._team)
        try:
            self._store.disk.make_folders(path.rpartition("/")[0], 0o700)
            write_over(self._store.disk, path, to_bytes(encode(said)))
        except OSError as error:
            raise refused(path, error) from error

    def _forget_note(self) -> None:
        path = self._store.layout.task_intent(self._team)
        try:
            if self._store.disk.look(path) is not None:
                self._store.disk.remove(path)
        except OSError:
            return  # it is done; doing it again, as the next turn will, changes nothing

    def _finish_former(self) -> bool:
        """What a killed turn had begun with several files is brought to its end."""
        path = self._store.layout.task_intent(self._team)
        half = temporary_of(path)
        if self._store.disk.look(half) is not None:
            self._store.disk.remove(half)
        if self._store.disk.look(path) is None:
            return False
        try:
            new, changes = _noted(decode_object(to_text(read_whole(self._store.disk, path))))
        except (NotJson, OSError):
            new, changes = [], {}
        present = {id: change for id, change in changes.items() if int(id) in self.board.cards}
        # The history is not written here: it may have been already. `_catch_up` compares, and adds what is missing.
        self._write([file for file in new if file.number not in self.board.gone], present)
        self._forget_note()
        return True

    # Numbers.

    def upcoming(self, count: int) -> list[int]:
        first = max([self._mark(), *self._scan.cards, *self._scan.gone]) + 1
        return list(range(first, first + count))

    def reserve(self, numbers: list[int]) -> None:
        """Only ever raised: Claude Code raises it too, and not always under the lock."""
        path, highest = f"{self._folder}/{MARK}", max(numbers)
        if self._mark() >= highest:
            return
        try:
            write_over(self._store.disk, path, str(highest).encode(), mode=0o644)
        except OSError as error:
            raise refused(path, error) from error

    def _mark(self) -> int:
        path = f"{self._folder}/{MARK}"
        try:
            return task_mark(read_whole(self._store.disk, path))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise refused(path, error) from error

    # History and index.

    def _record(self, done: list[tuple[Card, Event]]) -> None:
        """The history, then the index. A history that cannot be written now is completed by a later turn."""
        try:
            self._store.remember_past(self._team, [PastLine(card, event) for card, event in done])
            is_proven = True
        except AtmError:
            is_proven = False
        for card, _ in done:
            self._put(card, is_proven=is_proven)
        self.board = self.board.with_cards([card for card, _ in done])

    def _put(self, card: Card, *, is_proven: bool) -> None:
        self._scan.put(Row(only_card(card), UNSETTLED, is_proven=is_proven))

    def _catch_up(self) -> None:
        """Events that are in files but not in the history, and what other programs did without telling."""
        unproven = sorted(self._scan.unproven)
        if not unproven:
            return
        known: dict[str, dict[str, Plain]] = {}
        ids: set[str] = set()
        for past in self._store.past(self._team)[0]:
            known[past.task] = {**past.after, "type": past.event.get("type")}
            ids.add(past.word("id"))
        lines = [line for number in unproven for line in self._missing(number, known.get(str(number), {}), ids)]
        try:
            if lines:
                self._store.remember_past(self._team, lines)
        except AtmError:
            return
        for number in unproven:
            row = self._scan.changed.get(number) or self._scan.former(number)
            if row is not None:
                row.is_proven = True
                self._scan.put(row)

    def _missing(self, number: int, known: dict[str, Plain], ids: set[str]) -> list[PastLine]:
        now, gone = to_iso(self._store.clock.now()), self._scan.gone.get(number)
        card = gone or self._scan.cards[number]
        if gone is not None:
            return [] if known.get("type") == VANISHED else [PastLine(card, _seen(VANISHED, card, now))]
        lines = []
        for event in self._events(card.number):
            if event.get("id") not in ids:
                lines.append(PastLine(card, event))
        told = lines or (known and {key: known.get(key) for key in state_of(card)} == state_of(card))
        return lines if told else [PastLine(card, _seen(OBSERVED, card, now))]

    def _events(self, number: int) -> list[Event]:
        try:
            return decode_task(read_whole(self._store.disk, f"{self._folder}/{number}.json"), number).events
        except (OSError, NotJson):
            return []


class _Rule:
    """A rule over tasks as a change of bytes, which can be made again on another version of the file."""

    __slots__ = ("_number", "_rule", "error", "event", "task")

    def __init__(self, number: int, rule: Callable[[Task], Change | None], event: Event | None = None) -> None:
        self._number = number
        self._rule = rule
        self.task: Task | None = None
        self.event = event
        """What the rule made, or is known to make: a task that has been through it is left as it is."""
        self.error: AtmError | None = None

    def __call__(self, data: bytes) -> bytes:
        task = decode_task(data, self._number)
        if self.event is not None and any(event.get("id") == self.event["id"] for event in task.events):
            self.task = task  # the lock was lost after the first exchange: it is in place already
            return data
        was_placed = self.task is not None
        try:
            change = self._rule(task)
        except AtmError as error:
            if not was_placed:
                raise
            self.error = error  # another program's version wins; it is put back before anybody hears of it
            return data
        if change is None:
            self.task = self.event = None
            return data
        new = to_bytes(apply(task.raw, change))
        self.task, self.event = decode_task(new, self._number), change.event
        return new


def _noted(record: dict[str, Plain]) -> tuple[list[NewFile], dict[str, Change]]:
    new, changes = record.get("new"), record.get("changes")
    files = []
    for item in new if isinstance(new, list) else ():
        if isinstance(item, dict) and isinstance(number := item.get("number"), int):
            files.append(NewFile(number, to_bytes(str(item.get("content"))), dicts_in(item.get("events"))))
    found = changes.items() if isinstance(changes, dict) else ()
    return files, {id: change_from_record(each) for id, each in found if id.isdecimal() and isinstance(each, dict)}


def _seen(kind: str, card: Card, now: str) -> Event:
    """Named after what was seen, so that seeing it twice does not make two events of it."""
    from zlib import crc32

    mark = crc32(encode([*state_of(card).values(), card.last_event]).encode("utf-8", "surrogatepass"))
    facts: Event = {"to": card.outcome or card.status, "owner": card.owner}
    return {"id": f"{kind}-{card.id}-{mark:08x}-{now}", "type": kind, "at": now, "actor": "", **facts}
