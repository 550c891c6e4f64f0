"""
Looking after a run: look, note what happened, decide, do it; again and again, until it ends.

Whoever calls this waits in between. Everything is written down before it is decided upon, so the process may be killed
anywhere: `take_up` goes on.
"""

from __future__ import annotations

from atm.board.services.leaving import release_silent
from atm.core.errors import AtmError
from atm.crew.services.crewroom import is_running
from atm.crew.services.ending import REFUSES, ask_to_end, end_if_over
from atm.crew.services.reaping import clear_away, reconcile
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import STOPPED, Finish
from atm.runs.rules.deciding import decide, outcome_of
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.observing import ended, observe
from atm.runs.rules.report import what_waits
from atm.runs.services.looking import RunLooking, agent_view
from atm.runs.services.mail import LeadsMail
from atm.runs.services.performing import Performing
from atm.runs.services.reporting import write_report
from atm.runs.services.starting import SOURCE, end_agents_of_other_runs, enroll, last_seen
from atm.runs.services.ticking import tick_plans
from atm.team.rules import lifecycle, liveness
from atm.team.services.lifecycle import standing, walk
from atm.team.services.presence import beat
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Record
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.ending import AgentEnd
    from atm.runs.rules.orders import RunOrder
    from atm.runs.rules.view import RunView
    from atm.runs.services.runroom import Runroom

BEAT_EVERY = 10.0
RELEASE_EVERY = 30.0
"""Seconds between two looks for members that fell silent with a task in hand."""
LONGEST_GAP = 20.0
"""Seconds by which the two clocks of a machine that is awake may part between two ticks."""
MOST_IN_VAIN = 60
NAP = 0.05
PATIENT, IMPATIENT = 30.0, 5.0
"""Seconds that agents get to end: when the work is done, and when somebody wants it to end."""


class RunLoop:
    """One loop over one run."""

    def __init__(self, desk: Runroom, order: RunOrder) -> None:
        self.desk = desk
        self.order = order
        self.memory = RunMemory()
        for event in desk.runs.events(order.team, order.run):
            self.memory.take(event)
        self._looking = RunLooking(desk, order)
        self._performing = Performing(desk, order, self.memory, self._looking.merging)
        self._mail = LeadsMail(desk, order)
        self._beaten = -BEAT_EVERY
        self.view: RunView | None = None
        self._clocks = (desk.clock.now(), desk.clock.monotonic())
        self._in_vain = 0
        self._released = desk.clock.monotonic()
        self.report: Record | None = None
        """As soon as it has ended."""

    def take_up(self) -> list[RunEvent]:
        """Begin, or go on after whatever happened to the one before."""
        desk, team = self.desk, self.order.team
        is_new = not self.memory.started_at
        is_after_kill = bool(self.memory.began_at)
        seen_at = last_seen(desk.crew.room, team, self.order.lead, self.memory) if is_after_kill else None
        former = end_agents_of_other_runs(desk, self.order)
        reconcile(desk.crew, team)
        enroll(desk, self.order)
        self._looking.merging.begin()
        if standing(desk.crew.room, team).status == lifecycle.STOPPED:
            walk(desk.crew.room, team, lifecycle.ACTIVE, self.order.lead)
        self._beat()
        now = desk.clock.now()
        kind = kinds.STARTED if is_new else kinds.RESUMED
        events = [RunEvent(kind, self.order.run, now, team=team, seen_at=seen_at)]
        if former:
            text = f"ended {', '.join(former)} of an earlier run; their work is saved: atm salvage list"
            events.append(RunEvent(kinds.CLEARED, self.order.run, now, text=text, agents=[*former]))
        happened = self._note(events)
        self._looking.since = self.memory.started_at
        return happened

    def tick(self) -> list[RunEvent]:
        """Once. What happened; the last of it is `run.ended` when it is over."""
        self._beat()
        happened = self._note([*self._slept(), *self._mail.read(self._looking.heard)])
        view = self._look()
        if view is None:
            return happened
        happened += self._note(observe(self.order, self.memory, view))
        happened += self._note(self._collisions(view))
        for action in decide(self.order, self.memory, view):
            if isinstance(action, Finish):
                return [*happened, *self.finish(action.outcome, action.why)]
            happened += self._note(self._performing.perform(action, view))
        return happened

    def _look(self) -> RunView | None:
        """None while it cannot be read: somebody writes it just now, or a file is busy. Not for ever (G12)."""
        try:
            if self.desk.clock.monotonic() - self._released > RELEASE_EVERY:
                self._released = self.desk.clock.monotonic()
                release_silent(self.desk.boardroom, self.order.team)
            self._looking.leaders_letter = self.memory.leaders_letter
            self.view, self._in_vain = self._looking.look(), 0
        except (AtmError, OSError):
            self._in_vain += 1
            if self._in_vain >= MOST_IN_VAIN:
                raise
            return None
        return self.view

    def _collisions(self, view: RunView) -> list[RunEvent]:
        titles = {card.id: card.subject for card in view.cards(self.order) if card.is_claimed}
        try:
            return self._looking.merging.scan(self.memory, titles)
        except (AtmError, OSError):
            return []  # somebody is at it; the next look is soon

    def _slept(self) -> list[RunEvent]:
        """The wall clock went on and the other one did not: the machine slept, or somebody set the clock."""
        wall, steady = self.desk.clock.now(), self.desk.clock.monotonic()
        gap = (wall - self._clocks[0]) - (steady - self._clocks[1])
        self._clocks = (wall, steady)
        return [RunEvent(kinds.SLEPT, self.order.run, wall, seconds=round(gap, 1))] if gap > LONGEST_GAP else []

    @property
    def _looked(self) -> RunView:
        """The last look; one now, if there was none yet."""
        if self.view is None:
            self.view = self._looking.look()
        return self.view

    def _note(self, events: Sequence[RunEvent]) -> list[RunEvent]:
        self.desk.runs.append(self.order.team, self.order.run, events)
        for event in events:
            self.memory.take(event)
        return [*events]

    def _beat(self) -> None:
        """The lead is there: nobody takes the team over, and nothing is held back."""
        now = self.desk.clock.monotonic()
        if now - self._beaten < BEAT_EVERY or self.order.leader is not None:
            return
        self._beaten = now
        self._beat_as(liveness.WORKING)

    def _beat_as(self, state: str) -> None:
        room, crew = self.desk.crew.room, self.desk.crew
        try:
            team = find_team(room, self.order.team)
            beat(room.presence, team, team.lead, crew.clock.now(), SOURCE, pid=crew.pid, state=state)
        except (AtmError, OSError):
            return  # the next one says it

    def _rest(self) -> None:
        """The loop, which stood for the lead, ends: the lead does not work any more."""
        if self.order.leader is None:
            self._beat_as(liveness.IDLE)

    # The end.

    def finish(self, outcome: str, why: str = "") -> list[RunEvent]:
        """Agents end, nothing is left, and what came of it is written down."""
        waited = self._waits()
        self._looking.merging.stop()
        happened = self._end_agents(IMPATIENT if outcome == STOPPED else PATIENT)
        self.view = self._looking.look()
        happened += self._note(observe(self.order, self.memory, self.view))
        if outcome != STOPPED:
            outcome = outcome_of(self.order, self.memory, self.view)
        self._stand_still()
        self._rest()
        self._tick_plans()
        self.report = write_report(self.desk, self.order, self.memory, self.view, outcome, why, waited)
        end = RunEvent(kinds.ENDED, self.order.run, self.desk.clock.now(), outcome=outcome, why=why or None)
        return [*happened, *self._note([end])]

    def pause(self, why: str) -> list[RunEvent]:
        """Somebody interrupts it: agents end in order, their work is saved, and `--resume` goes on."""
        waited = self._waits()
        self._looking.merging.stop()
        happened = self._end_agents(IMPATIENT)
        self.view = self._looking.look()
        happened += self._note(observe(self.order, self.memory, self.view))
        self._stand_still()
        self._rest()
        self._tick_plans()
        self.report = write_report(self.desk, self.order, self.memory, self.view, STOPPED, why, waited)
        return [*happened, *self._note([RunEvent(kinds.PAUSED, self.order.run, self.desk.clock.now(), why=why)])]

    def _waits(self) -> dict[str, str]:
        return what_waits(self.order, self.view) if self.view is not None else {}

    def _end_agents(self, seconds: float) -> list[RunEvent]:
        crew, team = self.desk.crew, self.order.team
        names = {seat.name for seat in self.order.everybody}
        found = [crew.records.read(team, name) for name in crew.records.names(team)]
        waiting = [one for one in found if one is not None and one.member in names and one.run == self.order.run]
        living = [one for one in waiting if not one.is_over and is_running(crew, one)]
        for record in living:
            ask_to_end(crew, record, self.order.lead)
        end = crew.clock.monotonic() + seconds
        left = [one for one in (crew.records.read(team, record.member) for record in living) if one is not None]
        while left and crew.clock.monotonic() < end:
            left = [record for record in left if not _is_gone(end_if_over(crew, record))]
            if left:
                crew.clock.sleep(NAP)
        for record in left:
            clear_away(crew, record, error="it did not end when it was asked to")
        reconcile(crew, team)
        return [*self._account([*waiting]), *self._note(self._mail.read(self._looking.heard))]

    def _account(self, records: Sequence[AgentRecord]) -> list[RunEvent]:
        """What those used whose end nobody has noted. Whoever had a task was cut off."""
        events = []
        for record in records:
            known = self.memory.seats.get(record.member)
            if known is not None and known.over < record.generation:
                now = self.desk.crew.records.read(record.team, record.member) or record
                agent = agent_view(self.desk.crew, now)
                events.append(ended(agent, self._looked, task=record.task, cut_off=bool(record.task)))
        return self._note(events)

    def _tick_plans(self) -> None:
        try:
            tick_plans(self.desk, self.order)
        except (AtmError, OSError) as error:
            self.desk.crew.room.troubles.note(f"the plan could not be ticked: {error}")

    def _stand_still(self) -> None:
        room, team = self.desk.crew.room, self.order.team
        try:
            if standing(room, team).status not in (lifecycle.STOPPED, lifecycle.COMPLETE):
                walk(room, team, lifecycle.STOPPED, self.order.lead)
        except AtmError:
            return  # its agents are ended, which is what counts


def _is_gone(end: AgentEnd | None) -> bool:
    """One that refuses is ended when its time is over, as one that says nothing: a run leaves nobody behind."""
    return end is not None and end.how != REFUSES
