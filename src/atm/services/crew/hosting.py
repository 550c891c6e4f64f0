"""
A host: the process of ours that every agent has. It lives as long as the agent, says how the agent is, and ends it.

One for each agent, and none of them depends on the daemon: that one dies takes nobody along.
"""

from __future__ import annotations

from dataclasses import replace

from atm.domain.crew.agents import ACCEPTED, FINISHING
from atm.domain.crew.states import ERROR, IDLE, READY, SHUTTING_DOWN, STOPPED, WORKING
from atm.domain.errors import AtmError, FileBusy
from atm.domain.team import liveness
from atm.domain.team.agent_processes import owner_in
from atm.services.crew.crewroom import Fenced, change
from atm.services.crew.ending import answer_to_asker
from atm.services.delivery.idle_notices import goes_idle
from atm.services.team.presence import beat
from atm.services.team.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from atm.domain.crew.agents import AgentRecord
    from atm.domain.team.team import Team
    from atm.ports.crew.children import HostMachine
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.services.crew.crewroom import Crewroom

SOURCE = "atm host"
BEAT_EVERY = 20.0
SLICE = 0.1
"""Seconds between looks whether something happened."""


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
        self.note(state=state, error=error)
        self.beat(liveness.ENDED, at_once=True)
