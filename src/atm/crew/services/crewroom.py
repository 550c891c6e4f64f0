"""What the verbs of the crew work with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.core.errors import RequestError
from atm.crew.rules.states import check_move

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from atm.crew.ports.agents import AgentRecords, Backend, ProcessTable, Slots
    from atm.crew.ports.worktrees import Worktrees
    from atm.crew.rules.agents import AgentRecord
    from atm.files.ports.clock import Clock
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.vendors.runtime import Runtime


class Fenced(RequestError):
    """Another life of the agent has begun, or its record is gone: whoever hears this has no say any more."""

    code = "fenced"


@dataclass(slots=True, kw_only=True)
class CrewPolicy:
    """How long things may take, in seconds, and what may be done. Every number is a setting (`crew.*`)."""

    start: float = 30.0
    shutdown: float = 60.0
    """Silence after which an agent that was asked to end is ended."""
    finish: float = 1800.0
    """What an agent that says that it finishes its task gets for that."""
    gone: float = 5.0
    """Within which nothing of an agent that was ended may be left."""
    task: float = 3600.0
    """For one attempt at a task by a script agent, where the task does not say; 0 for no limit."""
    turns: int = 0
    """That an agent may take for the one task that it was started for; 0 for as many as it likes."""
    lease: float = 600.0
    ports_from: int = 20_000
    ports_each: int = 20
    setup: str = ""
    """A command that is run in every new worktree."""
    required_tools: tuple[str, ...] = ()
    """What an agent's program must have been given by `atm init`. Nothing is required unless the user says so."""
    asks: bool = False
    """Is there a policy by which hosts judge what agents ask for? Then they ask for all that they can ask for."""
    accepts_edits: bool = True
    """May agents edit files in their own worktree without being asked? Nothing else is ever allowed beforehand."""


class Crewroom:
    """Ports, policy, and who asks."""

    __slots__ = (
        *("backends", "boardroom", "environment", "find_program", "host_command", "pid", "policy", "processes"),
        *("records", "runtimes", "set_up", "slots", "withdraw_requests", "worktrees"),
    )

    def __init__(
        self,
        *,
        boardroom: FullBoardroom,
        records: AgentRecords,
        slots: Slots,
        processes: ProcessTable,
        backends: Mapping[str, Backend],
        worktrees: Worktrees,
        runtimes: Mapping[str, Runtime],
        environment: Mapping[str, str],
        host_command: Callable[[AgentRecord], Sequence[str]],
        find_program: Callable[[str], str],
        set_up: Callable[[str], dict[str, bool]],
        pid: int,
        policy: CrewPolicy | None = None,
        withdraw_requests: Callable[[AgentRecord, str], object] = lambda record, why: None,  # noqa: ARG005
    ) -> None:
        self.boardroom = boardroom
        self.records = records
        self.slots = slots
        self.processes = processes
        self.backends = backends
        self.worktrees = worktrees
        self.runtimes = runtimes
        self.environment = environment
        """Of whoever asks: agents inherit it."""
        self.host_command = host_command
        self.find_program = find_program
        """Where a program lies; empty if it is not on the PATH."""
        self.set_up = set_up
        """Which of our tools a vendor's program has."""
        self.pid = pid
        self.policy = policy or CrewPolicy()
        self.withdraw_requests = withdraw_requests
        """Cancels what an agent has asked for in this life, and says why."""

    @property
    def room(self) -> Teamroom:
        return self.boardroom.room

    @property
    def clock(self) -> Clock:
        return self.boardroom.clock


def change(crew: Crewroom, team: str, member: str, generation: int, **facts: Any) -> AgentRecord:
    """Note something about one life of an agent. Raises Fenced if that life is over, and BadMove."""
    with crew.records.turn(team, member) as turn:
        former = turn.record
        if former is None or former.generation != generation:
            raise Fenced(f"another {member}@{team} has begun, or it was taken away", "nothing: this one ends")
        state = facts.get("state", former.state)
        check_move(former.state, state)
        if state != former.state:
            facts["since"] = crew.clock.now()
        made = replace(former, **facts)
        if made != former:
            turn.write(made)
        return made


def is_running(crew: Crewroom, record: AgentRecord) -> bool:
    """Does its host live?"""
    return host_lives(crew.processes, record)


def host_lives(processes: ProcessTable, record: AgentRecord) -> bool:
    if not record.pid or (record.boot and processes.boot and record.boot != processes.boot):
        return False
    return processes.began(record.pid) == record.began != ""


def is_being_started(crew: Crewroom, record: AgentRecord) -> bool:
    """Is whoever spawns it still at it?"""
    return record.state == "spawning" and crew.processes.began(record.spawner) == record.spawner_began != ""
