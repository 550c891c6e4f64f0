"""
Several task files at once: all of them, or none.

What is going to be written is noted down first (`tasks.intent.json`). Whoever is killed in the middle is finished by
the next turn, from the note. Who meets an error undoes what was done; where even that cannot be done, the note stays
and the error says so.
"""

from __future__ import annotations

from atm.board.adapters.board_scan import only_card
from atm.board.adapters.task_rule import TaskRule
from atm.board.formats.task import apply, change_from_record, change_to_record, decode_task
from atm.board.ports.tasks import NewFile
from atm.board.rules.tasks import Change
from atm.core.errors import AtmError, FileBusy, UnreadableFile
from atm.core.plain import dicts_in
from atm.files.adapters.refusals import explained, refused
from atm.files.adapters.whole_files import read_whole, temporary_of, write_new, write_over
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.adapters.task_hold import TaskHold
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain, Record


class Batch:
    """New files, and changes of files that exist."""

    __slots__ = ("_before", "_changed", "_changes", "_made", "_new", "_turn")

    def __init__(self, turn: TaskHold, new: list[NewFile], changes: dict[str, Change]) -> None:
        self._turn = turn
        self._new = sorted(new, key=lambda file: file.number)
        self._changes = {id: changes[id] for id in sorted(changes, key=int)}
        self._before: dict[str, Task] = {}
        self._made: list[NewFile] = []
        self._changed: list[str] = []
        """What was begun: an error may come after the file has changed."""

    def write(self) -> list[tuple[Card, Record]]:
        """Do it. What belongs into the history."""
        with explained(self._turn.folder):
            self._rehearse()
        if self._new:
            self._turn.reserve([file.number for file in self._new])
        is_noted = len(self._new) + len(self._changes) > 1
        if is_noted:
            self._note()
        try:
            done = self._write()
        except (AtmError, OSError) as error:
            raise self._undone(error, is_noted) from error
        if is_noted:
            forget_note(self._turn)
        return done

    def _rehearse(self) -> None:
        """Everything that can be refused is refused before anything is written."""
        turn = self._turn
        for file in self._new:
            path = f"{turn.folder}/{file.number}.json"
            if turn.store.disk.look(path) is not None:
                raise FileBusy(f"{path} was made by another program a moment ago", "try again", path)
        for id, change in self._changes.items():
            self._before[id] = turn.store.read(turn.team, id)
            try:
                apply(self._before[id].raw, change)
            except NotJson as error:
                path = turn.store.path(turn.team, id)
                raise UnreadableFile(f"{path} cannot be changed: {error}", "mend or remove the file", path) from None

    def _write(self) -> list[tuple[Card, Record]]:
        done: list[tuple[Card, Record]] = []
        for file in self._new:
            self._turn.still_ours()
            self._made.append(file)
            _create(self._turn, file)
            card = only_card(decode_task(file.content, file.number))
            done += [(card, event) for event in file.events]
        if self._new:
            self._turn.store.disk.sync_folder(self._turn.folder)
        for id, change in self._changes.items():
            self._changed.append(id)
            task = _change(self._turn, id, change)
            done += [(task, change.event)] if change.event is not None else []
        return done

    def _undone(self, error: AtmError | OSError, is_noted: bool) -> AtmError:
        """Take back what was written; the error to raise."""
        said = error if isinstance(error, AtmError) else refused(self._turn.folder, error)
        try:
            for id in self._changed:
                _change(self._turn, id, _back_to(self._before[id], self._changes[id]))
            for file in self._made:
                self._remove(file)
        except (AtmError, OSError):
            if is_noted:
                return type(said)(
                    str(said),
                    "it was begun and the next command finishes it: look at `atm tasks list` first",
                    said.path,
                )
            return said
        if is_noted:
            forget_note(self._turn)
        return said

    def _remove(self, file: NewFile) -> None:
        """If it is there and ours: another program may have been quicker."""
        disk, path = self._turn.store.disk, f"{self._turn.folder}/{file.number}.json"
        found = disk.look(path)
        if found is not None and found.kind == "file" and read_whole(disk, path) == file.content:
            disk.remove(path)

    def _note(self) -> None:
        new: list[Plain] = [
            {"number": file.number, "content": to_text(file.content), "events": [*file.events]} for file in self._new
        ]
        changes: dict[str, Plain] = {id: change_to_record(change) for id, change in self._changes.items()}
        store, path = self._turn.store, self._turn.store.layout.task_intent(self._turn.team)
        try:
            store.disk.make_folders(path.rpartition("/")[0], private=True)
            write_over(store.disk, path, to_bytes(encode({"new": new, "changes": changes})))
        except OSError as error:
            raise refused(path, error) from error


def _create(turn: TaskHold, file: NewFile) -> None:
    path = f"{turn.folder}/{file.number}.json"
    try:
        write_new(turn.store.disk, path, file.content, mode=0o644, sync_name=False)
    except FileExistsError:
        raise FileBusy(f"{path} was made by another program a moment ago", "try again", path) from None
    except OSError as error:
        raise refused(path, error) from error


def _change(turn: TaskHold, id: str, change: Change) -> Task:
    made = turn.edit(int(id), TaskRule(int(id), lambda _: change, change.event))
    assert made.task is not None
    if change.event is None:
        turn.put(made.task, is_proven=int(id) not in turn.scan.unproven)
        turn.board = turn.board.with_cards([only_card(made.task)])
    return made.task


def _back_to(before: Task, change: Change) -> Change:
    """The change that undoes a change."""
    own: dict[str, Plain] = {key: before.details.get(key) for key in (*change.own, "events")}
    fields = {
        "status": before.status,
        "owner": before.owner,
        "subject": before.subject,
        "description": before.description,
    }
    back = {key: fields[key] for key in change.fields if key in fields}
    return Change(fields=back, own=own, add=change.drop, drop=change.add)


# After a kill.


def finish_former(turn: TaskHold) -> bool:
    """What a killed turn had begun with several files is brought to its end."""
    path = turn.store.layout.task_intent(turn.team)
    half = temporary_of(path)
    if turn.store.disk.look(half) is not None:
        turn.store.disk.remove(half)
    if turn.store.disk.look(path) is None:
        return False
    data = read_whole(turn.store.disk, path)  # one that cannot be read now is tried again by the next turn
    try:
        new, changes = _noted(decode_object(to_text(data)))
    except NotJson:
        new, changes = [], {}
    # The history is not written here: it may have been already. `catch_up` compares, and adds what is missing.
    for file in new:
        _finish_file(turn, file)
    if new:
        turn.store.disk.sync_folder(turn.folder)  # before the note goes that would bring them back
    for id, change in changes.items():
        _finish_change(turn, id, change)
    forget_note(turn)
    return True


def _finish_file(turn: TaskHold, file: NewFile) -> None:
    if file.number in turn.board.gone:
        return  # it was made, and another program has deleted it since
    try:
        _create(turn, file)
    except FileBusy:
        return  # the killed turn had come so far; or it is another program's now, and stays that


def _finish_change(turn: TaskHold, id: str, change: Change) -> None:
    if int(id) not in turn.board.cards:
        return
    try:
        _change(turn, id, change)
    except (UnreadableFile, NotJson):
        return  # damaged since: the board must not be closed because of one file


def forget_note(turn: TaskHold) -> None:
    path = turn.store.layout.task_intent(turn.team)
    try:
        if turn.store.disk.look(path) is not None:
            turn.store.disk.remove(path)
    except OSError:
        return  # it is done; doing it again, as the next turn will, changes nothing


def _noted(record: dict[str, Plain]) -> tuple[list[NewFile], dict[str, Change]]:
    new, changes = record.get("new"), record.get("changes")
    files = []
    for item in new if isinstance(new, list) else ():
        if isinstance(item, dict) and isinstance(number := item.get("number"), int):
            files.append(NewFile(number, to_bytes(str(item.get("content"))), dicts_in(item.get("events"))))
    found = changes.items() if isinstance(changes, dict) else ()
    return files, {id: change_from_record(each) for id, each in found if id.isdecimal() and isinstance(each, dict)}
