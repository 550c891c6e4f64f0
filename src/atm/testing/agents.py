"""Twins of the crew's ports, in memory: records, slots, processes, a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from atm.core.errors import FileBusy
from atm.core.work_errors import SpawnFailed
from atm.crew.ports.agents import Started
from atm.crew.rules.marks import VARIABLE, RunningProcess
from atm.crew.services.crewroom import CrewPolicy, Crewroom
from atm.testing.crew import MemoryWorktrees
from atm.vendors.runtimes import known

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.core.plain import Record
    from atm.crew.ports.agents import Launch
    from atm.crew.rules.agents import AgentRecord
    from atm.files.ports.clock import Clock
    from atm.roster.services.full_boardroom import FullBoardroom


class MemoryAgentTurn:
    """A record that is held."""

    def __init__(self, kept: dict[tuple[str, str], AgentRecord], key: tuple[str, str]) -> None:
        self._kept = kept
        self._key = key
        found = kept.get(key)
        self.record = replace(found) if found is not None else None
        self.problem = ""

    def write(self, record: AgentRecord) -> None:
        self._kept[self._key] = replace(record)
        self.record = record

    def remove(self) -> None:
        self._kept.pop(self._key, None)
        self.record = None


class MemoryAgentRecords:
    """Records of one home."""

    home = "memory"

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], AgentRecord] = {}
        self._latches: dict[str, Record] = {}
        self.logs: dict[tuple[str, str], str] = {}
        self._held: set[tuple[str, str]] = set()

    def teams(self) -> list[str]:
        return sorted({team for team, _ in self._kept} | set(self._latches))

    def names(self, team: str) -> list[str]:
        return sorted(member for known, member in self._kept if known == team)

    def read(self, team: str, member: str) -> AgentRecord | None:
        found = self._kept.get((team, member))
        return replace(found) if found is not None else None

    @contextmanager
    def turn(self, team: str, member: str, patience: float = 5.0) -> Iterator[MemoryAgentTurn]:  # noqa: ARG002
        key = (team, member)
        if key in self._held:
            raise FileBusy(f"the record of {member} is held", "try again")
        self._held.add(key)
        try:
            yield MemoryAgentTurn(self._kept, key)
        finally:
            self._held.discard(key)

    def log_path(self, team: str, member: str) -> str:
        return f"/memory/{team}/{member}.log"

    def log_end(self, team: str, member: str, most: int) -> str:
        return self.logs.get((team, member), "")[-most:]

    def latch(self, team: str) -> Record | None:
        return self._latches.get(team)

    def set_latch(self, team: str, said: Record | None) -> None:
        if said is None:
            self._latches.pop(team, None)
        else:
            self._latches[team] = said


class MemorySlots:
    """Slots by a clock that can be set."""

    def __init__(self, clock: Clock, is_usable: Callable[[int], bool] = lambda _: True) -> None:
        self._clock = clock
        self._is_usable = is_usable
        self._held: dict[int, tuple[str, float]] = {}

    def take(self, owner: str, seconds: float) -> int:
        now, slot = self._clock.now(), 0
        while self._is_anothers(slot, owner, now) or not self._is_usable(slot):
            slot += 1
        self._held[slot] = (owner, now + seconds)
        return slot

    def _is_anothers(self, slot: int, owner: str, now: float) -> bool:
        return slot in self._held and self._held[slot][1] > now and self._held[slot][0] != owner

    def renew(self, slot: int, owner: str, seconds: float) -> bool:
        if self._held.get(slot, ("", 0))[0] != owner:
            return False
        self._held[slot] = (owner, self._clock.now() + seconds)
        return True

    def give(self, slot: int, owner: str) -> None:
        if self._held.get(slot, ("", 0))[0] == owner:
            del self._held[slot]

    def taken(self) -> dict[int, str]:
        return {slot: owner for slot, (owner, _) in self._held.items()}


class MemoryProcessTable:
    """Processes that tests make and end."""

    boot = "boot"

    def __init__(self) -> None:
        self.processes: dict[int, RunningProcess] = {}
        self.stubborn: set[int] = set()
        """They survive everything."""
        self.stopped: set[int] = set()
        """Suspended by a signal."""
        self._next = 100

    def make(self, parent: int = 1, mark: str = "", command: str = "") -> RunningProcess:
        self._next += 1
        made = RunningProcess(self._next, parent, f"began-{self._next}", command, mark)
        self.processes[made.pid] = made
        return made

    def running(self) -> list[RunningProcess]:
        return list(self.processes.values())

    def began(self, pid: int) -> str:
        found = self.processes.get(pid)
        return found.began if found is not None else ""

    def suspended(self, pids: Collection[int]) -> set[int]:
        return {pid for pid in pids if pid in self.stopped and pid in self.processes}

    def signal(self, process: RunningProcess, *, hard: bool) -> bool:  # noqa: ARG002
        found = self.processes.get(process.pid)
        if found is None or found.began != process.began:
            return False
        if process.pid not in self.stubborn:
            del self.processes[process.pid]
        return True


class MemoryBackend:
    """Starts processes of a `MemoryProcessTable`; `answers` plays the host."""

    def __init__(self, table: MemoryProcessTable, name: str = "headless") -> None:
        self.name = name
        self._table = table
        self.trouble = ""
        self.refusal = ""
        self.answers: Callable[[Launch, int], None] = lambda *_: None
        self.cleared: list[str] = []

    def problem(self) -> str:
        return self.trouble

    def start(self, launch: Launch) -> Started:
        if self.refusal:
            raise SpawnFailed(self.refusal)
        made = self._table.make(mark=launch.environment[VARIABLE], command=" ".join(launch.command))
        self.answers(launch, made.pid)
        return Started(made.pid)

    def clear(self, record: AgentRecord) -> None:
        self.cleared.append(record.member)

    def screen(self, record: AgentRecord) -> str | None:  # noqa: ARG002
        return None

    def look_on(self, record: AgentRecord) -> list[str]:  # noqa: ARG002 - it has no windows
        return []

    def attach(self, record: AgentRecord) -> list[str]:  # noqa: ARG002
        return []


def memory_crewroom(
    boardroom: FullBoardroom, *, policy: CrewPolicy | None = None, environment: Mapping[str, str] | None = None
) -> Crewroom:
    """A crew whose machine is made of twins. The asking process is there from the beginning."""
    table = MemoryProcessTable()
    return Crewroom(
        boardroom=boardroom,
        records=MemoryAgentRecords(),
        slots=MemorySlots(boardroom.clock),
        processes=table,
        backends={"headless": MemoryBackend(table)},
        worktrees=MemoryWorktrees(),
        runtimes=known(),
        environment=environment or {},
        host_command=lambda record: ["host", record.member],
        set_up=lambda _: {"hooks": False, "mcp": False},
        find_program=lambda name: f"/bin/{name}",
        pid=table.make(command="atm").pid,
        policy=policy,
    )
