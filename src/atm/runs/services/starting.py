"""Finding a run, or making one."""

from __future__ import annotations

from atm.board.rules.tasks import COMPLETED
from atm.board.services.leaving import release_claims
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import NoSuchRun
from atm.crew.services.crewroom import is_running
from atm.crew.services.ending import agents_of
from atm.crew.services.reaping import clear_away
from atm.files.formats.times import to_iso
from atm.merges.services.resolving import MERGER
from atm.roster.services.members import add_member, update_member
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunMemory
from atm.runs.rules.report import spent_fields, total_spent
from atm.runs.rules.standing import DIED, RUNNING, SUSPENDED, run_state
from atm.runs.services.decomposing import PLANNER
from atm.team.rules.team import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain
    from atm.files.ports.clock import Chance, Clock
    from atm.roster.services.teamroom import Teamroom
    from atm.runs.ports import Runs
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom


SOURCE = "atm run"
"""Of the heartbeats that a loop leaves for its team's lead."""


def new_run_id(clock: Clock, chance: Chance) -> str:
    """By its time, so that names sort as runs began; and a few letters, for two in one second."""
    time = to_iso(clock.now())[:19].replace("-", "").replace(":", "").replace("T", "-")
    return f"{time}-{chance.new_id().replace('-', '')[:4]}"


def enroll(desk: Runroom, order: RunOrder) -> None:
    """
    Before anything is claimed for them: a claim is a member's only if the member was there first (D26), and who must
    plan must do so from the first task on.
    """
    for seat in order.everybody:
        member = Member(seat.name, agent_type=seat.runtime, model=seat.model, cwd=order.folder)
        add_member(desk.crew.room, order.team, member)
        if seat.requires_plan:
            update_member(desk.crew.room, order.team, seat.name, {"planModeRequired": True})


def end_agents_of_other_runs(desk: Runroom, order: RunOrder) -> list[str]:
    """
    End the agents that an earlier run left behind when its loop was killed.

    Their work is saved, and their tasks go back without blame. Agents that plan or merge do not belong to a run.
    """
    crew, done = desk.crew, []
    for record in agents_of(crew, order.team):
        if record.run in ("", order.run) or record.member in (MERGER, PLANNER):
            continue
        clear_away(crew, record, error=f"run {record.run} died, and run {order.run} began")
        if order.seat(record.member) is None:  # a claim that waits for an answer is kept for an agent of that name
            release_claims(desk.boardroom, order.team, record.member, "", f"run {record.run} died")
        done.append(record.member)
    return done


class LastRun:
    """The last run of a team, for a caller that is about to begin another."""

    __slots__ = ("agents", "memory", "order", "run", "state")

    def __init__(self, run: str, state: str, order: RunOrder | None, memory: RunMemory, agents: list[str]) -> None:
        self.run = run
        self.state = state
        self.order = order
        """None if what it was asked to do cannot be read any more."""
        self.memory = memory
        self.agents = agents
        """Those of its agents whose hosts live."""

    @property
    def in_words(self) -> str:
        states = [one.state for one in self.memory.tasks.values()]
        done = f"{states.count(COMPLETED)} of {counted(len(states), 'task')} completed"
        works = "works" if len(self.agents) == 1 else "work"
        alive = f"; {', '.join(self.agents)} still {works}" if self.agents else ""
        return f"run {self.run} died: {done}{alive}"


def last_run(desk: Runroom, team: str, *, is_ours: bool = False) -> LastRun | None:
    """`is_ours`: does the caller hold the lock of the loop, so that no run is under way?"""
    names = desk.runs.names(team)
    if not names:
        return None
    run, memory = names[-1], memory_of(desk.runs, team, names[-1])
    state = run_state(memory, is_held=not is_ours and desk.runs.is_held(team))
    living = [one.member for one in agents_of(desk.crew, team) if one.run == run and is_running(desk.crew, one)]
    return LastRun(run, state, desk.runs.order(team, run), memory, living)


def find_run(runs: Runs, team: str, given: str = "") -> RunOrder:
    """By the beginning of its name; without any, the newest."""
    names = runs.names(team)
    found = [name for name in names if name.startswith(given)] if given else names[-1:]
    if len(found) != 1:
        said = (
            f"{len(found)} runs begin with {given!r}"
            if found
            else "there is none"
            if not given
            else f"none begins with {given!r}"
        )
        raise NoSuchRun(f"no run of team {team!r} is meant: {said}", f"see `atm runs list --team {shell_words(team)}`")
    order = runs.order(team, found[0])
    if order is None:
        raise NoSuchRun(
            f"what run {found[0]} was asked to do cannot be read", "begin another one", runs.folder(team, found[0])
        )
    return order


def memory_of(runs: Runs, team: str, run: str) -> RunMemory:
    memory = RunMemory()
    for event in runs.events(team, run):
        memory.take(event)
    return memory


def last_seen(room: Teamroom, team: str, lead: str, memory: RunMemory) -> float:
    """When its loop was last heard of: at its last event, or at the last heartbeat that it left for the lead."""
    beat = room.presence.last(team, lead)
    is_of_loop = beat is not None and beat.source == SOURCE and beat.at >= memory.began_at
    return max(memory.last_at, beat.at) if beat is not None and is_of_loop else memory.last_at


def run_line(runs: Runs, team: str, run: str, *, is_held: bool) -> dict[str, Plain]:
    """One run in a list."""
    memory, order = memory_of(runs, team, run), runs.order(team, run)
    states = [task.state for task in memory.tasks.values()]
    is_last = runs.names(team)[-1:] == [run]
    is_held = is_held and is_last
    state = run_state(memory, is_held=is_held, is_suspended=is_held and runs.suspended_loop(team) > 0)
    return {
        "run": run,
        "team": team,
        "state": state,
        "goal": (order.goal or None) if order is not None else None,
        "started_at": to_iso(memory.started_at) if memory.started_at else None,
        "seconds": round(memory.seconds(memory.last_at), 1),
        "done": states.count("completed"),
        "tasks": len(states),
        "agents": [seat.name for seat in order.everybody] if order is not None else [],
        **spent_fields(total_spent(memory), is_final=state not in (RUNNING, DIED, SUSPENDED)),
    }


def last_words_of(events: Sequence[kinds.RunEvent], kind: str) -> str:
    return next((event.text("text") for event in reversed(events) if event.kind == kind), "")
