"""Records of agents on disk, one file for each: implements `crew.ports.agents.AgentRecords` and `Slots`."""

from __future__ import annotations

import hashlib
import os

from atm.core.names import is_safe_name
from atm.crew.formats.agent_record import decode_agent, encode_agent
from atm.files.adapters.refusals import explained
from atm.files.adapters.whole_files import read_whole, write_new, write_over
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from atm.core.plain import Record
    from atm.crew.rules.agents import AgentRecord
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

SUFFIX = ".json"
MOST_SLOTS = 1000


class AgentFiles:
    """Private, and written under a private lock each."""

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout
        self.home = hashlib.sha256(os.fsencode(os.path.realpath(layout.state_root))).hexdigest()[:12]

    def teams(self) -> list[str]:
        return [name for name in self._names(self._layout.crews) if is_safe_name(name)]

    def names(self, team: str) -> list[str]:
        files = self._names(f"{self._layout.crews}/{team}")
        names = [name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX) and not name.startswith(".")]
        return [name for name in names if is_safe_name(name)]

    def _names(self, folder: str) -> list[str]:
        try:
            return sorted(self._disk.names(folder))
        except OSError:
            return []

    def read(self, team: str, member: str) -> AgentRecord | None:
        try:
            found = decode_agent(read_whole(self._disk, self._layout.agent_record(team, member)))
        except (OSError, NotJson):
            return None
        return found if (found.team, found.member) == (team, member) else None  # another agent's, copied or forged

    def turn(self, team: str, member: str, patience: float = 5.0) -> AgentFileTurn:
        return AgentFileTurn(self._disk, self._locks, self._layout.agent_record(team, member), (team, member), patience)

    def log_path(self, team: str, member: str) -> str:
        record = self.read(team, member)
        if record is not None and record.run:
            return self._layout.run_log(team, record.run, member)
        return self._layout.agent_log(team, member)

    def log_end(self, team: str, member: str, most: int) -> str:
        try:
            with open(self.log_path(team, member), "rb") as file:
                file.seek(max(0, file.seek(0, 2) - most))
                return file.read(most).decode("utf-8", "replace")
        except OSError:
            return ""

    def latch(self, team: str) -> Record | None:
        path = self._layout.stop_latch(team)
        try:
            return decode_object(to_text(read_whole(self._disk, path)))
        except FileNotFoundError:
            return None
        except (OSError, NotJson):
            return {}  # it lies there, whatever it says

    def set_latch(self, team: str, said: Record | None) -> None:
        path = self._layout.stop_latch(team)
        with explained(path):
            if said is not None:
                self._disk.make_folders(path.rpartition("/")[0], private=True)
                write_over(self._disk, path, to_bytes(encode(said) + "\n"))
            elif self._disk.look(path) is not None:
                self._disk.remove(path)


class AgentFileTurn:
    """One record, under its lock."""

    def __init__(self, disk: Disk, locks: Locks, path: str, who: tuple[str, str], patience: float) -> None:
        self._disk = disk
        self._path = path
        self._who = who
        self._lock = locks.private(path, patience)
        self.record: AgentRecord | None = None
        self.problem = ""

    def __enter__(self) -> Self:
        with explained(self._path):
            self._lock.__enter__()
            try:
                self._read()
            except BaseException:  # Ctrl-C too: a lock that nobody holds must not stay
                self._lock.release()
                raise
        return self

    def _read(self) -> None:
        try:
            found = decode_agent(read_whole(self._disk, self._path))
        except FileNotFoundError:
            return
        except NotJson as error:
            self.problem = str(error)
            return
        if (found.team, found.member) == self._who:
            self.record = found
        else:
            self.problem = "it is the record of another agent"

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def write(self, record: AgentRecord) -> None:
        with explained(self._path):
            self._disk.make_folders(self._path.rpartition("/")[0], private=True)
            write_over(self._disk, self._path, encode_agent(record))
        self.record = record

    def remove(self) -> None:
        with explained(self._path):
            if self._disk.look(self._path) is not None:
                self._disk.remove(self._path)
        self.record = None


class SlotFiles:
    """One small file for each slot that is taken."""

    def __init__(
        self, disk: Disk, clock: Clock, locks: Locks, layout: Layout, is_usable: Callable[[int], bool] = lambda _: True
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._folder = layout.slots
        self._is_usable = is_usable

    def take(self, owner: str, seconds: float) -> int:
        with explained(self._folder), self._locks.private(self._folder):
            self._disk.make_folders(self._folder, private=True)
            now, held = self._clock.now(), self._held()
            for slot in range(MOST_SLOTS):
                said = held.get(slot)
                is_anothers = said is not None and _ends(said) > now and said.get("owner") != owner
                if is_anothers or not self._is_usable(slot):
                    continue
                self._write(slot, owner, now + seconds)
                return slot
        raise FileExistsError(17, f"all {MOST_SLOTS} slots are taken", self._folder)

    def renew(self, slot: int, owner: str, seconds: float) -> bool:
        with explained(self._folder), self._locks.private(self._folder):
            if self._held().get(slot, {}).get("owner") != owner:
                return False
            self._write(slot, owner, self._clock.now() + seconds)
            return True

    def give(self, slot: int, owner: str) -> None:
        with explained(self._folder), self._locks.private(self._folder):
            if self._held().get(slot, {}).get("owner") == owner:
                self._disk.remove(self._path(slot))

    def taken(self) -> dict[int, str]:
        return {slot: str(said.get("owner", "")) for slot, said in self._held().items()}

    def _held(self) -> dict[int, Record]:
        found: dict[int, Record] = {}
        try:
            names = self._disk.names(self._folder)
        except OSError:
            return {}
        for name in names:
            number = name.removesuffix(SUFFIX)
            if number.isdecimal() and name.endswith(SUFFIX):
                found[int(number)] = self._read(int(number))
        return found

    def _read(self, slot: int) -> Record:
        try:
            return decode_object(to_text(read_whole(self._disk, self._path(slot))))
        except (OSError, NotJson):
            return {}

    def _write(self, slot: int, owner: str, until: float) -> None:
        path, data = self._path(slot), to_bytes(encode({"owner": owner, "until": until}))
        if self._disk.look(path) is None:
            write_new(self._disk, path, data)
        else:
            write_over(self._disk, path, data)

    def _path(self, slot: int) -> str:
        return f"{self._folder}/{slot}{SUFFIX}"


def _ends(said: Record) -> float:
    until = said.get("until")
    return float(until) if isinstance(until, int | float) else 0.0
