"""
The loop of a run, as one pure function: what is to be done now, given everything that is known.

No model is asked. An agent that lies, stalls or crashes costs a task one of its attempts and itself one of its
restarts, and both are counted, so every run ends (G12).
"""

from __future__ import annotations

from functools import lru_cache
from statistics import median

from atm.board.rules.claims import is_free
from atm.board.rules.file_overlap import overlapping
from atm.board.rules.tasks import by_urgency
from atm.core.names import same_name
from atm.core.plain import counted
from atm.merges.rules.items import AT_TASK, MERGED
from atm.runs.rules import memory as kinds
from atm.runs.rules.actions import (
    NOTHING_DONE,
    PARTIAL,
    STOPPED,
    SUCCESS,
    AskHow,
    Clear,
    CloseSeat,
    EndAgent,
    Finish,
    Give,
    MergeNow,
    Refuse,
    Say,
    StartLeader,
)
from atm.runs.rules.limits import Spent, uses
from atm.runs.rules.view import CLOSED_STATES, TRY_AGAIN, can_do

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.board.rules.tasks import Card
    from atm.runs.rules.actions import Action
    from atm.runs.rules.limits import Limits, Use
    from atm.runs.rules.memory import RunMemory, SeatMemory, TaskMemory
    from atm.runs.rules.orders import AgentSeat, RunOrder
    from atm.runs.rules.view import AgentView, RunView

LONGEST_PAUSE = 16.0
"""Seconds between two tries to start an agent whose start is refused: 1, 2, 4, 8, 16."""

UNALLOWED = "nobody has allowed "

ENOUGH = 3
"""Finished tasks after which one can say how long a task takes."""


def decide(order: RunOrder, memory: RunMemory, view: RunView) -> list[Action]:
    """What is to be done now, in this order."""
    return _Tick(order, memory, view).actions()


class _Tick:
    """One look."""

    def __init__(self, order: RunOrder, memory: RunMemory, view: RunView) -> None:
        self._order = order
        self._memory = memory
        self._view = view
        self._cards = view.cards(order)
        self._open = [c for c in self._cards if view.board.state(c) not in CLOSED_STATES]
        self._claimed = [card for card in self._open if card.is_claimed]
        self._unmerged = view.unmerged if not view.merging_fails else set()
        self._held_up = view.held_up
        self._has_scripts = any(seat.is_script for seat in order.seats)
        self._ending: set[str] = set()
        """Agents that this very tick ends or clears away."""
        self._stop: Finish | None = None

    def actions(self) -> list[Action]:
        if self._view.stopped:
            return [Finish(STOPPED, f"the team was stopped by {self._view.stopped}")]
        done: list[Action] = [*self._lost(), *self._spending(), *self._stuck()]
        if self._stop is not None:
            return [*done, self._stop]
        done += [*self._closings(), *self._leading(), *self._refusals()]
        given: list[Action] = [*self._giving()]
        merging = [*self._merging(given)]
        return [*done, *given, *merging, *self._ends(is_idle=not given and not done and not merging)]

    # Agents that are gone, too dear or too quiet.

    def _lost(self) -> Iterator[Action]:
        for agent in self._agents():
            known = self._memory.seat(agent.name)
            if agent.is_lost and known.closed and known.over >= agent.generation:
                continue  # what is left of it cannot be taken away; a person was told
            if agent.is_lost:
                self._ending.add(agent.name)
                is_blamed = not agent.has_lost_host or self._loses_hosts(agent.task)
                yield Clear(agent.name, agent.error or "it ended without a word", is_blamed)
            elif agent.is_starting and self._view.now - known.spawned_at > self._order.rules.start:
                self._ending.add(agent.name)
                yield EndAgent(agent.name, f"it was not there within {self._order.rules.start:g} s", is_blamed=False)

    def _loses_hosts(self, task: str) -> bool:
        """A lost host is no attempt of its task (D35), unless this task loses one host after the other."""
        known = self._memory.tasks.get(task)
        return known is not None and known.losses >= self._order.rules.restarts

    def _agents(self) -> list[AgentView]:
        """Of this run."""
        found = [self._view.agents.get(seat.name) for seat in self._order.everybody]
        return [one for one in found if one is not None and one.name in self._memory.seats]

    def _spending(self) -> Iterator[Action]:
        total = Spent()
        for agent in self._agents():
            known, is_living = self._memory.seat(agent.name), not agent.is_over
            life = self._life(agent) if is_living else Spent()
            mine = known.spent.plus(life)
            total = total.plus(mine)
            if not is_living or agent.name in self._ending:
                continue
            yield from self._spending_of(agent, mine)
        whole = total.lasting(self._memory.seconds(self._view.now))
        yield from self._beyond("run", self._order.run, self._order.limits, whole)
        over = _over(self._order.limits, whole)
        if over is not None:
            self._stop = Finish(STOPPED, f"the run has used {over}")

    def _life(self, agent: AgentView) -> Spent:
        return agent.spent(self._view.now).lasting(self._memory.awake(agent.began_at, self._view.now))

    def _spending_of(self, agent: AgentView, mine: Spent) -> Iterator[Action]:
        yield from self._beyond("agent", agent.name, self._order.per_agent, mine)
        if _over(self._order.per_agent, mine) is not None:
            self._ending.add(agent.name)
            yield EndAgent(agent.name, "its budget is used up", is_blamed=False)
            yield CloseSeat(agent.name, "its budget is used up")
            return
        if not agent.task:
            return
        since = self._view.fact(agent.task).claimed_at or agent.began_at
        since = max(since, agent.began_at)
        life = agent.spent(self._view.now).lasting(self._memory.awake(since, self._view.now))
        spent = self._memory.task(agent.task).spent.plus(life)
        yield from self._beyond("task", agent.task, self._order.per_task, spent)
        if _over(self._order.per_task, spent) is not None:
            self._ending.add(agent.name)
            yield EndAgent(agent.name, f"the budget of #{agent.task} is used up", is_final=True)

    def _beyond(self, scope: str, subject: str, limits: Limits, spent: Spent) -> Iterator[Action]:
        """Told once at 80 %, and once at 100 %."""
        for use in uses(limits, spent):
            for kind in _about(use):
                about = f"{kind} {scope} {subject} {use.what}"
                if about not in self._memory.told:
                    yield Say(kind, about, str(use))

    def _stuck(self) -> Iterator[Action]:
        rules, now = self._order.rules, self._view.now
        for agent in self._agents():
            card, seat = self._card_of(agent), self._order.seat(agent.name)
            if card is None or agent.name in self._ending or self._waits(agent) or agent.is_starting:
                continue
            if seat is None or seat.is_script:
                continue  # it runs a command, which is silent for long, and well; `crew.task_minutes` bounds it
            asked_at = self._memory.seat(agent.name).asked_at
            if asked_at and now - asked_at >= rules.answer:
                self._ending.add(agent.name)
                yield EndAgent(agent.name, f"it did not say how #{card.id} stands within {rules.answer:g} s")
            elif not asked_at:
                began = max(self._view.fact(card.id).claimed_at or agent.began_at, agent.began_at)
                heard = max(began, agent.heard_at, self._view.said_at.get(agent.name, 0.0))
                silent = self._memory.awake(heard, now)
                if silent > self._patience():
                    yield AskHow(agent.name, card.id, silent)

    def _patience(self) -> float:
        rules, past = self._order.rules, self._memory.durations
        if len(past) < ENOUGH:
            return rules.stuck_first
        return max(rules.stuck_factor * median(past), rules.stuck_least)

    def _card_of(self, agent: AgentView) -> Card | None:
        """What it works on, if that is still its own."""
        card = self._view.board.cards.get(int(agent.task)) if agent.task.isdecimal() else None
        is_its = card is not None and card.is_claimed and same_name(card.owner, agent.name)
        return card if is_its and not agent.is_over else None

    def _waits(self, agent: AgentView) -> bool:
        card = self._card_of(agent)
        return agent.waits or (card is not None and card.waits_for_others)

    def _closings(self) -> Iterator[Action]:
        """An agent that died too often, or that cannot be started for too long."""
        for seat in self._order.everybody:
            known = self._memory.seats.get(seat.name)
            if known is not None and not known.closed and self._is_refused_for_too_long(known):
                yield CloseSeat(seat.name, f"it could not be started: {known.refused}")
                continue
            has_failed = known is not None and known.state == "error" and known.over == known.generation
            if known is None or known.closed or not has_failed or known.restarts < self._order.rules.restarts:
                continue
            yield CloseSeat(seat.name, f"it died {counted(known.restarts + 1, 'time')}")

    def _is_refused_for_too_long(self, known: SeatMemory) -> bool:
        return known.refusals > 1 and known.refused_at - known.refused_since >= self._order.rules.start

    # The work.

    def _leading(self) -> Iterator[Action]:
        leader = self._order.leader
        if leader is None or not self._is_free(leader):
            return
        known = self._memory.seats.get(leader.name)
        if known is None or known.state == "error":
            yield StartLeader(is_restart=known is not None)

    def _is_free(self, seat: AgentSeat) -> bool:
        """Could it be given something now?"""
        agent, known = self._view.agents.get(seat.name), self._memory.seats.get(seat.name)
        if seat.name in self._ending or (known is not None and (known.closed or self._is_worn(known.state, seat))):
            return False
        if known is not None and self._pauses(known):
            return False
        if agent is None or known is None:
            return True
        if agent.is_over:
            return not agent.is_left and known.over >= agent.generation
        return seat.is_script and not agent.task and not agent.is_at_work and not self._held_by(seat)

    def _pauses(self, known: SeatMemory) -> bool:
        """Its start was refused a moment ago: trying again at once would only fill the log."""
        pause = min(2.0 ** max(0, known.refusals - 1), LONGEST_PAUSE)
        return known.refusals > 0 and self._memory.awake(known.refused_at, self._view.now) < pause

    def _is_worn(self, state: str, seat: AgentSeat) -> bool:
        return state == "error" and self._memory.seat(seat.name).restarts >= self._order.rules.restarts

    def _held_by(self, seat: AgentSeat) -> list[Card]:
        return [card for card in self._claimed if same_name(card.owner, seat.name)]

    def _refusals(self) -> Iterator[Action]:
        for card in self._open:
            why = self._why_refused(card)
            if why and not card.is_claimed and self._memory.task(card.id).refused != why:
                yield Refuse(card.id, why)

    def _why_refused(self, card: Card) -> str:
        if command := self._view.fact(card.id).untrusted:
            return f"{UNALLOWED}`{command}`"
        facts = self._view.fact(card.id)
        # What could not be begun before this loop began is tried at once: a person may have helped.
        is_recent = facts.refused_at >= self._memory.began_at and self._view.now - facts.refused_at < TRY_AGAIN
        return facts.refused if is_recent else ""

    def _was_just_refused(self, card: Card, known: TaskMemory) -> bool:
        """A command that a person has allowed meanwhile is no reason to wait."""
        is_answered = known.refused.startswith(UNALLOWED) and not self._view.fact(card.id).untrusted
        return bool(known.refused) and not is_answered and self._view.now - known.refused_at < TRY_AGAIN

    def _giving(self) -> Iterator[Action]:
        free = [seat for seat in self._order.seats if self._is_free(seat)]
        at_work = [*self._claimed, *self._on_their_way()]
        for owner in [*free]:
            held = [card for card in self._held_by(owner) if not card.waits_for_others]
            if held:
                free.remove(owner)
                yield self._give(held[0], owner)
        if not free:
            return
        for card in by_urgency(self._open):
            seat = self._best(card, free)
            if seat is None or self._collides(card, at_work):
                continue
            free.remove(seat)
            at_work.append(card)
            yield self._give(card, seat)
            if not free:
                return

    def _give(self, card: Card, seat: AgentSeat) -> Give:
        known = self._memory.seats.get(seat.name)
        return Give(card.id, seat.name, is_restart=known is not None and known.state == "error")

    def _best(self, card: Card, free: list[AgentSeat]) -> AgentSeat | None:
        """Rather somebody who has not tried it yet."""
        known = self._memory.task(card.id)
        if self._why_refused(card) or self._was_just_refused(card, known):
            return None
        if self._builds_on_unmerged(card):
            return None
        facts, tried = self._view.fact(card.id), self._memory.task(card.id).tried_by
        able = [s for s in free if is_free(self._view.board, card, s.name) and can_do(s, facts, self._has_scripts)]
        return min(able, key=lambda seat: seat.name in tried, default=None)

    def _collides(self, card: Card, at_work: list[Card]) -> bool:
        """By what they say that they change, and by what whoever is at work has changed."""
        if self._order.rules.overlap or not card.files:
            return False
        others = ((*other.files, *self._view.touched.get(other.id, ())) for other in at_work)
        return any(_meet(tuple(card.files), files) for files in others if files)

    # Merging.

    def _merging(self, given: list[Action]) -> Iterator[Action]:
        """After each task; or when nothing is left to be done, or can be begun before something is merged."""
        is_due = self._order.merge_at == AT_TASK or not (given or self._busy())
        if self._unmerged and is_due and not self._view.is_merging:
            yield MergeNow()

    def _builds_on_unmerged(self, card: Card) -> bool:
        """It begins with the target, so what it depends on must be there; work in conflict gets there by a person."""
        if self._order.merge_at != AT_TASK:
            return False
        return any(id in self._unmerged or id in self._held_up for id in self._view.board.blockers(card))

    def _on_their_way(self) -> list[Card]:
        """Tasks that are done and not merged: who changes the same files begins when that is on the target."""
        is_awaited = self._order.merge_at == AT_TASK
        return [card for card in self._cards if is_awaited and card.id in self._unmerged]

    # The end.

    def _busy(self) -> list[AgentView]:
        busy = [a for a in self._agents() if not a.is_over and (self._card_of(a) is not None or a.is_moving)]
        return [agent for agent in busy if agent.name != self._leader]

    def _ends(self, *, is_idle: bool) -> Iterator[Action]:
        busy = self._busy()
        if not self._open:
            yield from self._resolved(busy)
            return
        if not is_idle:
            return
        seats = [seat for seat in self._order.seats if not self._memory.seat(seat.name).closed]
        if not seats and not busy:
            yield Finish(self.outcome(), "no agent is left")
            return
        active = [agent for agent in busy if not self._waits(agent)] or self._claimed_by_others() or self._unmerged
        if active or any(self._pauses(self._memory.seat(seat.name)) for seat in seats):
            if any(self._is_free(seat) for seat in seats) and kinds.NOTHING_CLAIMABLE not in self._memory.told:
                yield Say(kinds.NOTHING_CLAIMABLE, kinds.NOTHING_CLAIMABLE, f"open: {counted(len(self._open), 'task')}")
            return
        yield from self._waiting_for_people()

    @property
    def _leader(self) -> str:
        return self._order.leader.name if self._order.leader is not None else ""

    def _claimed_by_others(self) -> list[Card]:
        """A member that is no agent of the run works on something, or one of ours is about to."""
        return [card for card in self._claimed if not card.waits_for_others]

    def _resolved(self, busy: list[AgentView]) -> Iterator[Action]:
        if busy or self._unmerged:
            return
        if kinds.RESOLVED not in self._memory.told:
            yield Say(kinds.RESOLVED, kinds.RESOLVED, "all tasks are resolved")
            if self._order.leader is not None:
                return
        if not self._leader_may_add():
            trouble = self._view.merging_fails
            yield Finish(self.outcome(), f"nothing more could be merged: {trouble}" if trouble else "")

    def _leader_may_add(self) -> bool:
        """It was told that all is resolved, and has ended no turn since it was shown that; or it is at it."""
        leader, knows_at = self._view.agents.get(self._leader), self._view.lead_knows_at
        if leader is None or leader.is_over:
            return False
        is_answered = not self._memory.leaders_letter or (knows_at and leader.turns and leader.heard_at >= knows_at)
        is_late = self._memory.awake(self._memory.resolved_at, self._view.now) >= self._order.rules.answer
        return leader.is_at_work or not (is_answered or is_late)

    def _waiting_for_people(self) -> Iterator[Action]:
        if kinds.WAITS not in self._memory.told:
            ids = ", ".join(f"#{card.id}" for card in self._open[:10])
            yield Say(kinds.WAITS, kinds.WAITS, f"{ids} cannot go on without a person")
        elif self._memory.awake(self._memory.moved_at, self._view.now) > self._order.rules.human:
            yield Finish(self.outcome(), f"nobody answered within {self._order.rules.human / 60:g} minutes")

    def outcome(self) -> str:
        states = [self._view.board.state(card) for card in self._cards]
        completed = states.count("completed")
        is_whole = all(state in ("completed", "cancelled") for state in states) and not self._is_left_out()
        if completed and is_whole:
            return SUCCESS
        return PARTIAL if completed else NOTHING_DONE

    def _is_left_out(self) -> bool:
        """Is something done and not part of the target?"""
        queue = self._view.merges
        return queue is not None and any(one.status != MERGED for one in queue.items if not one.skipped)


def outcome_of(order: RunOrder, memory: RunMemory, view: RunView) -> str:
    return _Tick(order, memory, view).outcome()


def _over(limits: Limits, spent: Spent) -> Use | None:
    """Whether it was told before or not: what is used up stays used up, after a kill and a resume too."""
    return next((use for use in uses(limits, spent) if use.is_over), None)


def _about(use: Use) -> list[str]:
    if use.is_over:
        return [kinds.EXCEEDED]
    return [kinds.WARNED] if use.is_near else []


@lru_cache(maxsize=65_536)
def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not any(_could(mine, theirs) for mine in map(_plain, one) for theirs in map(_plain, other)):
        return False
    return bool(overlapping(one, {"": other}))


def _could(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


@lru_cache(maxsize=65_536)
def _plain(pattern: str) -> str:
    """What every path begins with that it matches; empty where that takes more than a look. Most pairs part here."""
    if pattern.startswith((".", "/")) or "//" in pattern or "/." in pattern:
        return ""
    ends = [at for at in map(pattern.find, "*?[") if at >= 0]
    return pattern[: min(ends)] if ends else pattern.rstrip("/")
