"""
A host: the process of ours that every agent has. It lives as long as the agent, says how the agent is, and ends it.

One for each agent, and none of them depends on the daemon: that one dies takes nobody along.
"""

from __future__ import annotations

from dataclasses import replace

from atm.board.rules.tasks import CANCELLED, COMPLETED
from atm.board.rules.time_limits import TaskClock, why_ended
from atm.core.errors import AtmError, FileBusy
from atm.core.names import same_name
from atm.core.work_errors import NoSuchTask
from atm.crew.rules.agents import ACCEPTED, FINISHING
from atm.crew.rules.states import ERROR, IDLE, READY, SHUTTING_DOWN, STOPPED, WORKING
from atm.crew.services.crewroom import Fenced, change
from atm.crew.services.ending import answer_to_asker
from atm.crew.services.reaping import end_processes, is_of
from atm.delivery.services.idle_notices import goes_idle
from atm.team.rules import liveness
from atm.team.rules.agent_processes import owner_in
from atm.team.services.presence import beat
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from atm.approvals.services.approvalroom import Approvalroom
    from atm.board.rules.tasks import Task
    from atm.crew.ports.children import HostMachine
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import Crewroom
    from atm.team.rules.team import Team

SOURCE = "atm host"
BEAT_EVERY = 20.0
SLICE = 0.1
"""Seconds between looks whether something happened."""
NOTE_EVERY = 15.0
"""Seconds between two notes in the agent's record."""
DRIFT = 2.0
"""Seconds by which the noted beginning may differ from the counted time before it is noted anew."""
ENDS_A_CLAIM = ("status_changed", "owner_changed", "split")


class Host:
    """One life of one agent, from inside."""

    def __init__(self, crew: Crewroom, machine: HostMachine, record: AgentRecord, approvals: Approvalroom) -> None:
        self.crew = crew
        self.approvals = approvals
        """Where what its agent asks for is judged."""
        self.machine = machine
        self.record = record
        self._beaten = 0.0
        self._unnoted: dict[str, Any] = {}
        """Facts that could not be written when they became true."""
        self._news: object = None
        self.context: int | None = None
        """Per cent of its context that are used, as its program said last."""

    @property
    def team(self) -> Team:
        return find_team(self.crew.room, self.record.team)

    def note(self, **facts: Any) -> None:
        """Into the record; with the next facts if somebody holds it for long. A fenced host ends."""
        facts = {**self._unnoted, **facts}
        try:
            self.record = change(self.crew, self.record.team, self.record.member, self.record.generation, **facts)
            self._unnoted = {}
        except FileBusy:
            self._unnoted, self.record = facts, replace(self.record, **facts)

    def begin(self) -> None:
        """It is there, and whatever runs under this process is the member's."""
        crew, record = self.crew, self.record
        began = crew.processes.began(crew.pid)
        self.note(state=READY, pid=crew.pid, began=began, boot=crew.processes.boot)
        crew.room.processes.record(crew.pid, owner_in(self.team, record.member))
        self.beat(liveness.IDLE, at_once=True)

    def beat(self, state: str = "", *, at_once: bool = False) -> None:
        """A sign of life now and then, and with it the slot stays its own."""
        now = self.crew.clock.monotonic()
        if not at_once and now - self._beaten < BEAT_EVERY:
            return
        self._beaten = now
        crew, record = self.crew, self.record
        try:
            beat(
                *(crew.room.presence, self.team, record.member, crew.clock.now(), SOURCE),
                pid=crew.pid,
                state=state,
                context=self.context,
            )
            if record.slot >= 0:
                crew.slots.renew(record.slot, record.mark, crew.policy.lease)
        except (AtmError, OSError):
            return  # the next one says it

    def become(self, state: str, **facts: Any) -> None:
        self.note(state=state, **facts)
        self.beat(liveness.WORKING if state == WORKING else liveness.IDLE, at_once=True)

    def rest(self) -> None:
        """Nothing to do: once told to the lead in each idle time."""
        if self.record.state == IDLE:
            return
        self.note(state=IDLE)
        try:
            goes_idle(self.crew.room, self.team, self.record.member, SOURCE, pid=self.crew.pid)
        except AtmError:
            return

    def looks_again(self) -> bool:
        """Did anything happen that concerns it? Reads its record anew if so."""
        news = self.machine.news()
        if news == self._news:
            return False
        self._news = news
        found = self.crew.records.read(self.record.team, self.record.member)
        if found is None or found.generation != self.record.generation:
            raise Fenced(f"another {self.record.member} has begun", "nothing: this one ends")
        self.record = found
        return True

    def wait(self, seconds: float) -> None:
        """Until something happens, or the time is over."""
        self.machine.pause(seconds, self.looks_again)
        self.beat()

    def heed(self) -> bool:
        """Was it asked to end? It says at once what it will do: an agent that answers is not killed."""
        self.beat()
        self.looks_again()
        if not self.record.is_asked:
            return False
        if not self.record.answer:
            is_free = self.record.may_end_now
            self.note(answer=ACCEPTED if is_free else FINISHING)
            answer_to_asker(self.crew, self.record, approved=True, reason="" if is_free else "finishing current task")
        return True

    def say_goodbye(self, error: str = "") -> None:
        """Its work is done or given back: whoever asked, or the next command, clears away the rest."""
        state = ERROR if error else STOPPED
        if self.record.state != SHUTTING_DOWN and not error:
            self.note(state=SHUTTING_DOWN)
        self.note(state=state, error=error, asks="")
        self.beat(liveness.ENDED, at_once=True)


class TaskWatch:
    """
    A host's watch over one claim: how long its agent works on the task, and whether the task is still the agent's.

    The host counts, and not the loop of a run: the count survives a loop that is killed, and ends with the agent. The
    host is the only writer; it notes every few seconds at most, however much its agent writes.
    """

    def __init__(self, host: Host, task: Task, default: float, claim: str = "") -> None:
        """
        `default`: seconds that an attempt may take where the task does not say; 0 for no limit. `claim`: the one that
        the agent was started with, which may be over already.
        """
        self._host = host
        self.task = task
        self.claim = claim or task.claim_id
        self.is_let_go = False
        """Has the agent itself completed, failed or released the task?"""
        limit = task.timeout if task.timeout is not None else default
        self.clock = TaskClock(limit, host.crew.clock.monotonic())
        self._news: object = None
        self._noted_at = float("-inf")
        self._why_lost = ""
        self.note()

    def advance(self, *, is_working: bool = True, has_output: bool = False) -> None:
        """Count the time since the last call. `is_working`: false while a person is waited for."""
        self.clock.advance(self._host.crew.clock.monotonic(), is_working=is_working)
        if has_output:
            self.clock.hear()
        if self._host.crew.clock.monotonic() - self._noted_at >= NOTE_EVERY and is_working:
            self.note()

    def note(self) -> None:
        """Into the agent's record, for those who look; only what has changed."""
        now, record = self._host.crew.clock.now(), self._host.record
        since, output_at = now - self.clock.worked, now - self.clock.silent
        self._noted_at = self._host.crew.clock.monotonic()
        facts: dict[str, float] = {}
        if abs(since - record.task_since) > DRIFT:
            facts["task_since"] = since
        if abs(output_at - record.output_at) > DRIFT:
            facts["output_at"] = output_at
        if record.task_limit != self.clock.limit:
            facts["task_limit"] = self.clock.limit
        if facts:
            self._host.note(**facts)

    def end(self) -> None:
        """The agent does not work on the task any more."""
        forget_time(self._host)

    @property
    def is_over_limit(self) -> bool:
        return self.clock.is_over

    @property
    def why_over_limit(self) -> str:
        return why_ended(self.clock.limit, self.clock.silent)

    def why_lost(self) -> str:
        """
        Why the task is not the agent's any more; empty while it is, and where the agent itself let go of it.

        The board is read only after something changed there.
        """
        news = self._host.machine.news()
        if news != self._news:
            found = self._look()
            if found is None:
                return self._why_lost  # the file is busy: the next look reads it
            self._news, self._why_lost = news, found
        return self._why_lost

    def _look(self) -> str | None:
        host, task = self._host, self.task
        try:
            now = host.crew.boardroom.tasks.read(host.record.team, task.id)
        except NoSuchTask:
            return f"#{task.id} was removed from the board"
        except AtmError:
            return None
        is_ours = now.is_claimed and same_name(now.owner, host.record.member) and now.claim_id == self.claim
        by = _who_ended_it(now)
        self.is_let_go = not is_ours and (now.status == COMPLETED or same_name(by, host.record.member))
        if is_ours or self.is_let_go:
            return ""
        told = f" by {by}" if by else ""
        if now.outcome == CANCELLED:
            return f"#{task.id} was cancelled{told}"
        if now.outcome:
            return f"#{task.id} is {now.outcome}"
        if now.owner and not same_name(now.owner, host.record.member):
            return f"#{task.id} was given to {now.owner}{told}"
        return f"#{task.id} was taken back{told}"


def _who_ended_it(task: Task) -> str:
    """The actor of the last change of its status or owner."""
    for event in reversed(task.events):
        if event.get("type") in ENDS_A_CLAIM:
            return str(event.get("actor") or "")
    return ""


def forget_time(host: Host) -> None:
    """Nothing is under way whose time could be told."""
    if host.record.task_since:
        host.note(task_since=0.0, output_at=0.0, task_limit=0.0)


def end_commands(host: Host) -> None:
    """
    Everything that runs below this host: by the agent's mark in the environment, and by descent.

    A command may have left its process group, and even its session; this host adopts what loses its parent.
    """
    for process in end_processes(host.crew, is_of(host.record)).left:
        host.machine.log(f"process {process.pid} could not be ended: {process.command[:60]}")
