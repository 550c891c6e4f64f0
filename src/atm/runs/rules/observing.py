"""What happened since the last look: what is there now, compared with what is remembered."""

from __future__ import annotations

from atm.board.rules.acceptance import in_brief
from atm.board.rules.tasks import BLOCKED, CANCELLED, COMPLETED, FAILED, UNREACHABLE
from atm.crew.rules.states import SPAWNING
from atm.merges.rules.items import CONFLICT, MERGED
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.view import TRY_AGAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.runs.rules.memory import RunMemory
    from atm.runs.rules.orders import RunOrder
    from atm.runs.rules.view import AgentView, RunView

_GRAIN = 0.001
"""Events are kept to the millisecond: whoever goes on with a run knows no finer time."""

_ENDS = {COMPLETED: kinds.COMPLETED, CANCELLED: kinds.CANCELLED, UNREACHABLE: kinds.UNREACHABLE}


def observe(order: RunOrder, memory: RunMemory, view: RunView) -> list[RunEvent]:
    """In the order in which they make sense: agents, then tasks, then approvals."""
    return [
        *(event for agent in view.agents.values() for event in _agent(memory, agent, view)),
        *(event for card in view.cards(order) for event in _task(memory, card, view)),
        *_approvals(memory, view),
        *_merges(memory, view),
    ]


def _agent(memory: RunMemory, agent: AgentView, view: RunView) -> Iterator[RunEvent]:
    known = memory.seats.get(agent.name)
    if known is None or agent.generation > known.generation:
        # Whoever started it was killed before that was written down, or somebody else started it again.
        yield RunEvent(kinds.SPAWNED, agent.name, view.now, generation=agent.generation, task=agent.task or None)
        return
    if agent.generation < known.generation or known.over >= agent.generation:
        return  # its end is known
    if agent.is_over and not agent.is_left:
        task = agent.task or known.task
        yield ended(agent, view, task=task, cut_off=agent.has_failed)
        return
    if known.asked_at and max(agent.heard_at, view.said_at.get(agent.name, 0.0)) > known.asked_at:
        yield RunEvent(kinds.ANSWERED, agent.name, view.now, task=agent.task)
    state = "working" if agent.is_at_work else "idle"
    is_known = known.state == state and (not agent.task or agent.task == known.task)
    if agent.is_alive and agent.state != SPAWNING and not agent.is_over and not is_known:
        yield RunEvent(f"agent.{state}", agent.name, view.now, task=agent.task or None)


def ended(
    agent: AgentView, view: RunView, *, task: str, cut_off: bool, error: str = "", lost: bool = False
) -> RunEvent:
    """One life is over; what it used, and how much of that for its last task."""
    now = view.now
    spent, claimed_at = agent.spent(now), view.fact(task).claimed_at if task else 0.0
    return RunEvent(
        kinds.ERROR if agent.has_failed or error else kinds.STOPPED,
        agent.name,
        now,
        generation=agent.generation,
        task=task or None,
        seconds=round(spent.seconds, 3),
        task_seconds=round(max(0.0, now - max(claimed_at, agent.began_at)), 3) if task else None,
        turns=spent.turns,
        tokens=spent.tokens,
        cost=spent.cost,
        injected=agent.injected,
        cut_off=cut_off or None,
        lost=lost or None,
        error=error or agent.error or None,
    )


def _task(memory: RunMemory, card: Card, view: RunView) -> Iterator[RunEvent]:
    state, known = view.board.state(card), memory.tasks.get(card.id)
    facts = view.fact(card.id)
    if known is None:
        yield RunEvent(kinds.ADDED, card.id, view.now, title=card.subject, state=state)
        known = memory.task(card.id)
        known.failures = card.failures
        if not card.is_claimed and state not in _ENDS and state != FAILED:
            return
        known.state = ""
    if known.state in (COMPLETED, FAILED, CANCELLED) and not card.is_finished:
        yield RunEvent(kinds.REOPENED, card.id, view.now, state=state)
        known.failures, known.state, known.owner, known.claim = card.failures, state, "", ""
    if card.failures > known.failures or (state == FAILED and known.state != FAILED):
        yield RunEvent(
            kinds.FAILED,
            card.id,
            view.now,
            state=state,
            attempt=card.failures,
            final=state == FAILED,
            error=in_brief(facts.error) or None,
            by=known.owner or None,
            cut_off=known.is_cut_off or None,
        )
    if card.is_claimed and (card.owner, card.claim_id) != (known.owner, known.claim):
        yield RunEvent(kinds.CLAIMED, card.id, view.now, state=state, owner=card.owner, claim=card.claim_id)
    elif state in _ENDS and known.state != state:
        yield _end(card, state, known.owner, view)
    elif known.state == BLOCKED and state not in (BLOCKED, UNREACHABLE, FAILED):
        yield RunEvent(kinds.UNBLOCKED, card.id, view.now, state=state)
    elif known.owner and not card.is_claimed and card.failures == known.failures and not card.is_finished:
        why = facts.refused[:500] if view.now - facts.refused_at < TRY_AGAIN else ""
        yield RunEvent(kinds.RETURNED, card.id, view.now, state=state, by=known.owner, why=why or None)


def _end(card: Card, state: str, owner: str, view: RunView) -> RunEvent:
    facts = view.fact(card.id)
    if state == UNREACHABLE:
        return RunEvent(kinds.UNREACHABLE, card.id, view.now, state=state, why=view.board.lost().get(card.number, ""))
    seconds = max(0.0, facts.finished_at - facts.claimed_at) if facts.finished_at and facts.claimed_at else 0.0
    return RunEvent(
        _ENDS[state],
        card.id,
        view.now,
        state=state,
        by=facts.by or owner or card.owner or None,
        seconds=round(seconds, 3),
        **{key: facts.work[key] for key in ("branch", "commit") if key in facts.work},
    )


def _merges(memory: RunMemory, view: RunView) -> Iterator[RunEvent]:
    for item in view.merges.items if view.merges is not None else ():
        said: dict[str, Plain] = {
            "commit": item.commit or None,
            "by": item.agent or None,
            "branch": item.branch or None,
            "why": item.reason[:500] or None,
            "files": [*item.conflicts] or None,
            "with": [one.task for one in item.rivals] or None,
            "lost": [*item.lost] or None,
            "salvage": item.salvage or None,
            "resolved": bool(item.resolution) or None,
            "needs_human": item.needs_human or None,
        }
        told = {key: value for key, value in said.items() if value is not None}
        # Merging goes on between looks: what has a time of its own is told with that. So a conflict comes after the
        # merge that it is with, and one that was resolved before anybody looked is part of the story all the same.
        known_at = memory.merges_at.get(item.task, memory.started_at) + _GRAIN
        if item.status != CONFLICT and item.conflict_at > known_at:
            found = {key: told[key] for key in ("by", "branch", "files", "with") if key in told}
            yield RunEvent(f"merge.{CONFLICT}", item.task, item.conflict_at, **found)
        if _newsworthy(memory.merges.get(item.task)) != _newsworthy({**told, "status": item.status}):
            own = {CONFLICT: item.conflict_at, MERGED: item.merged_at}.get(item.status, 0.0)
            at = own if own > known_at else max(view.now, item.conflict_at)  # the look began before all that it saw
            yield RunEvent(f"merge.{item.status}", item.task, at, **told)


def _newsworthy(told: Mapping[str, Plain] | None) -> Mapping[str, Plain] | None:
    """Where work in conflict is kept is no news by itself: it is told with what becomes of the conflict."""
    if told is None or told.get("status") != CONFLICT or "needs_human" in told:
        return told
    return {key: value for key, value in told.items() if key != "salvage"}


def _approvals(memory: RunMemory, view: RunView) -> Iterator[RunEvent]:
    for id, (who, state) in view.approvals.items():
        known = memory.approvals.get(id)
        if known is None:
            yield RunEvent(kinds.APPROVAL_ASKED, id, view.now, by=who, state="waiting")
        if state != "waiting" and known != state:
            yield RunEvent(kinds.APPROVAL_DECIDED, id, view.now, by=who, state=state)
