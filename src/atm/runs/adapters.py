"""Runs on disk, a folder for each, and their loops as processes: implements `runs.ports`."""

from __future__ import annotations

import hashlib
import os
import sys

from atm.core.errors import AtmError, FileBusy
from atm.core.names import is_safe_name
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import RunActive
from atm.files.adapters.disk import open_private
from atm.files.adapters.processes import suspended_among
from atm.files.adapters.refusals import explained
from atm.files.adapters.trees import remove_tree
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.runs.formats.event_line import decode_events, encode_event
from atm.runs.formats.order_file import decode_order, encode_order
from atm.runs.rules.standing import continue_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from atm.core.plain import Record
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.runs.rules.memory import RunEvent
    from atm.runs.rules.orders import RunOrder

IMPATIENT = 0.3
LAST_WORDS = 4000
"""Bytes of what a loop in the background printed that its starter reads when it ends at once."""


class RunHold:
    """A team that one loop looks after: a private lock, which dies with its process."""

    def __init__(self, locks: Locks, path: str, team: str) -> None:
        self._lock = locks.private(path, IMPATIENT)
        self._team = team

    def __enter__(self) -> Self:
        try:
            self._lock.__enter__()
        except FileBusy:
            if pid := suspended_holder(self._lock.locks, self._lock.target):
                raise RunActive(
                    f"a run of team {self._team!r} is suspended: its process {pid} was stopped by a signal (Ctrl-Z)",
                    f"continue it: `{continue_command(pid)}`, or `fg` in its terminal; "
                    f"or end it: `atm stop --team {shell_words(self._team)}`, and then continue it",
                ) from None
            raise RunActive(
                f"a run of team {self._team!r} is under way",
                f"wait for it, see `atm runs list --team {shell_words(self._team)}`, or use another --team",
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def suspended_holder(locks: Locks, target: str) -> int:
    """The process that the file of a held lock names, if a signal has suspended it; else 0."""
    pid = locks.noted_pid(locks.file_for(target))
    return pid if pid in suspended_among([pid]) else 0


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class RunFiles:
    """Below the data of each team."""

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    def hold(self, team: str) -> RunHold:
        return RunHold(self._locks, f"{self._layout.runs(team)}/loop", team)

    def is_held(self, team: str) -> bool:
        """
        The note in the lock's file mostly says enough: no holder, or a dead one. Only where its process lives (or its
        number was given to another one) the lock itself is tried, so that two readers do not see each other as a loop.
        """
        target = f"{self._layout.runs(team)}/loop"
        path = self._locks.file_for(target)
        try:
            if not read_whole(self._disk, path).strip():
                return False
        except OSError:
            return False
        if self._locks.owner_of(path) == "dead":
            return False
        lock = self._locks.private(target, 0.0)
        try:
            lock.acquire(self._locks.clock.monotonic())
        except FileBusy:
            return True
        lock.release()
        return False

    def suspended_loop(self, team: str) -> int:
        """A suspended process keeps its lock, so the lock is tried only where the file names such a process."""
        pid = suspended_holder(self._locks, f"{self._layout.runs(team)}/loop")
        return pid if pid and self.is_held(team) else 0

    def names(self, team: str) -> list[str]:
        try:
            found = sorted(self._disk.names(self._layout.runs(team)))
        except OSError:
            return []
        return [name for name in found if is_safe_name(name)]

    def folder(self, team: str, run: str) -> str:
        return self._layout.run(team, run)

    def write(self, order: RunOrder) -> None:
        data, seal = encode_order(order), self._layout.run_seal(order.team, order.run)
        with explained(seal):
            self._disk.make_folders(seal.rpartition("/")[0], private=True)
            write_over(self._disk, seal, to_bytes(_sum(data)))
        self._put(order.team, order.run, "plan.json", data)

    def is_as_written(self, team: str, run: str) -> bool:
        try:
            seal = to_text(read_whole(self._disk, self._layout.run_seal(team, run)))
            return seal == _sum(read_whole(self._disk, self._path(team, run, "plan.json")))
        except OSError:
            return False

    def order(self, team: str, run: str) -> RunOrder | None:
        try:
            found = decode_order(read_whole(self._disk, self._path(team, run, "plan.json")))
        except (OSError, NotJson):
            return None
        return found if (found.team, found.run) == (team, run) else None  # it lies in a folder that others write too

    def append(self, team: str, run: str, events: Sequence[RunEvent]) -> None:
        if not events:
            return
        path = self._path(team, run, "events.jsonl")
        with explained(path):
            self._disk.make_folders(path.rpartition("/")[0], private=True)
            fd = self._disk.open_append(path)
            try:
                size = self._disk.look_open(fd).size
                torn = (
                    b"\n" if size and not self._ends_well(path, size) else b""
                )  # by a crash: it must not eat the next
                self._disk.write(fd, torn + to_bytes("".join(encode_event(event, team, run) for event in events)))
            finally:
                self._disk.close(fd)

    def _ends_well(self, path: str, size: int) -> bool:
        fd = self._disk.open_read(path)
        try:
            return self._disk.read_at(fd, size - 1, 1) == b"\n"
        finally:
            self._disk.close(fd)

    def events(self, team: str, run: str) -> list[RunEvent]:
        path = self._path(team, run, "events.jsonl")
        try:
            return [*decode_events(to_text(read_whole(self._disk, path)))]
        except FileNotFoundError:
            return []

    def events_since(self, team: str, run: str, offset: int) -> tuple[list[RunEvent], int]:
        path = self._path(team, run, "events.jsonl")
        seen = self._disk.look(path)
        if seen is None or seen.size <= offset:
            return [], offset
        fd = self._disk.open_read(path)
        try:
            data = self._disk.read_at(fd, offset, seen.size - offset)
        finally:
            self._disk.close(fd)
        whole = data[: data.rfind(b"\n") + 1]
        return [*decode_events(to_text(whole))], offset + len(whole)

    def report(self, team: str, run: str) -> Record | None:
        try:
            return decode_object(to_text(read_whole(self._disk, self._path(team, run, "report.json"))))
        except (OSError, NotJson):
            return None

    def write_report(self, team: str, run: str, facts: Record, text: str) -> None:
        self._put(team, run, "report.md", to_bytes(text))
        self._put(team, run, "report.json", to_bytes(encode(facts) + "\n"))

    def write_copy(self, team: str, run: str, text: str) -> None:
        self._put(team, run, "plan.md", to_bytes(text))

    def change_copy(self, team: str, run: str, change: Callable[[str], str]) -> None:
        try:
            text = to_text(read_whole(self._disk, self._path(team, run, "plan.md")))
        except OSError:
            return
        if (changed := change(text)) != text:
            self.write_copy(team, run, changed)

    def change_plan(self, path: str, change: Callable[[str], str]) -> None:
        with explained(path), open(path, "r+b") as file:
            data = file.read()
            text = os.fsdecode(data)
            changed = os.fsencode(change(text))
            if changed != data and len(changed) == len(data):  # a tick takes the place of a blank
                file.seek(0)
                file.write(changed)

    def remove(self, team: str, run: str) -> None:
        folder = self.folder(team, run)
        with explained(folder):
            remove_tree(self._disk, folder)
            if self._disk.look(self._layout.run_seal(team, run)) is not None:
                self._disk.remove(self._layout.run_seal(team, run))

    def _path(self, team: str, run: str, name: str) -> str:
        return f"{self._layout.run(team, run)}/{name}"

    def _put(self, team: str, run: str, name: str, data: bytes) -> None:
        path = self._path(team, run, name)
        with explained(path):
            self._disk.make_folders(path.rpartition("/")[0], private=True)
            write_over(self._disk, path, data)


class DetachedLoop:
    """
    Implements `runs.ports.LoopProcess`: `atm run --resume` in a session of its own, which outlives the terminal that it
    was started from.
    """

    def __init__(self, environment: Mapping[str, str], order: RunOrder, log: str) -> None:
        self.log = log
        command = [sys.executable, "-P", "-m", "atm", "run", "--resume", order.run, "--team", order.team]
        import subprocess  # only a run that is resumed in the background needs it

        try:
            if os.path.lexists(log):  # agents write to this folder too: what they put here is not opened
                os.unlink(log)
            output = open_private(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                process = subprocess.Popen(
                    command,
                    cwd=order.folder,
                    env={**environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            finally:
                os.close(output)
        except OSError as error:
            raise AtmError(f"run {order.run} could not be resumed: {error.strerror}", "check the folder", log) from None
        self.pid = process.pid
        self._process = process

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        try:
            with open(self.log, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_WORDS))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def leave(self) -> None:
        """No complaint when this process ends before it."""
        if self._process.returncode is None:
            self._process.returncode = 0
