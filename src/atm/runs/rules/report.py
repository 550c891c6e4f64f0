"""What came of a run, as facts. Only what is known: None for what no runtime tells."""

from __future__ import annotations

from dataclasses import dataclass

from atm.board.rules.tasks import CANCELLED, COMPLETED, FAILED, UNREACHABLE
from atm.crew.rules.costs import CostEstimate
from atm.merges.rules.items import AT_TASK
from atm.runs.rules.actions import STOPPED
from atm.runs.rules.limits import Spent
from atm.runs.rules.standing import resume_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.merges.rules.items import MergeItem
    from atm.runs.rules.memory import RunMemory
    from atm.runs.rules.orders import RunOrder
    from atm.runs.rules.view import RunView

PER_TOKEN = 4
"""Characters of English and code that make a token, about: what atm says is counted in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """One task."""

    id: str
    subject: str
    state: str
    by: str
    branch: str
    commit: str
    why: str
    """Why it is not done."""
    needs_human: bool


def what_waits(order: RunOrder, view: RunView) -> dict[str, str]:
    """
    Tasks that wait for an answer, and for which. Asked before agents end: whoever ends while it waits gives its task
    back, and then nothing on the board says any more that a person was needed.
    """
    cards = [card for card in view.cards(order) if card.is_claimed and card.waits_for_others]
    return {card.id: _why(card, view.board.state(card), "", view) for card in cards}


def task_results(
    order: RunOrder, memory: RunMemory, view: RunView, waited: Mapping[str, str] | None = None
) -> list[TaskResult]:
    return [_result(card, order, memory, view, (waited or {}).get(card.id, "")) for card in view.cards(order)]


def _result(card: Card, order: RunOrder, memory: RunMemory, view: RunView, waited: str) -> TaskResult:
    state, known, facts = view.board.state(card), memory.task(card.id), view.fact(card.id)
    work = memory.works.get(card.id) or facts.work
    return TaskResult(
        id=card.id,
        subject=card.subject,
        state=state,
        by=known.owner or (known.tried_by[-1] if known.tried_by else card.owner),
        branch=str(work.get("branch") or ""),
        commit=str(work.get("commit") or ""),
        why="" if state == COMPLETED else _why(card, state, known.refused or waited, view),
        needs_human=state not in (COMPLETED, CANCELLED, UNREACHABLE, FAILED)
        and bool(
            waited
            or card.waits_for_others
            or known.refused
            or facts.untrusted
            or _is_for_others(card, order, view)
            or (order.merge_at == AT_TASK and view.held_up_by(card))
        ),
    )


def _is_for_others(card: Card, order: RunOrder, view: RunView) -> bool:
    """Given to somebody who is no agent of the run, or waiting for what nobody can find."""
    return bool(view.board.broken_blockers(card)) or bool(card.owner and order.seat(card.owner) is None)


def _why(card: Card, state: str, refused: str, view: RunView) -> str:
    if state == UNREACHABLE:
        return view.board.lost().get(card.number, "")
    if state == FAILED:
        return view.fact(card.id).error
    if card.needs:
        return f"it waits for an answer of the {card.needs}"
    if card.plan == "submitted":
        return "its plan waits for an answer"
    if card.review == "review":
        return f"it waits for the review of {card.reviewer}"
    if command := view.fact(card.id).untrusted:
        return f"nobody has allowed `{command}`"
    if held := view.held_up_by(card):
        return f"it waits for the merge of {', '.join(_held(item) for item in held)}"
    return refused or (
        f"it waits for {', '.join('#' + id for id in view.board.open_blockers(card))}"
        if state == "blocked"
        else "it was not done in time"
    )


def _held(item: MergeItem) -> str:
    where = f" (in conflict in {', '.join(item.conflicts[:3])})" if item.conflicts else ""
    return f"#{item.task}{where}"


def report_facts(
    order: RunOrder,
    memory: RunMemory,
    view: RunView,
    outcome: str,
    why: str,
    waited: Mapping[str, str] | None = None,
) -> dict[str, Plain]:
    """As `atm run --json` ends with it. `waited`: what only a person could have answered when its agents were ended."""
    results = task_results(order, memory, view, waited)
    seconds = memory.seconds(view.now)
    injected = sum(seat.injected for seat in memory.seats.values())
    spent = total_spent(memory)
    done = [one for one in results if one.state == COMPLETED]
    minds = [seat.name for seat in order.everybody if not seat.is_script]
    tasks = _by_state(results, [id for id, one in memory.merges.items() if one.get("needs_human")])
    return {
        "action": "run",
        "run": order.run,
        "team": order.team,
        "resume": resume_command(order.team, order.run) if outcome == STOPPED or tasks["open"] else None,
        "goal": order.goal or None,
        "outcome": outcome,
        "why": why or None,
        "tasks": tasks,
        "branches": [
            {
                "task": one.id,
                "subject": one.subject,
                "branch": one.branch or None,
                "commit": one.commit or None,
                "by": one.by,
            }
            for one in done
        ],
        "failures": [
            {"task": one.id, "subject": one.subject, "state": one.state, "why": one.why}
            for one in results
            if one.state not in (COMPLETED, CANCELLED)
        ],
        "merge": order.merge,
        **_merges(memory, view),
        "base": {"rev": order.base, "branch": order.branch},
        "agents": [_agent(name, memory) for name in (seat.name for seat in order.everybody)],
        "approvals": {
            "asked": len(memory.approvals),
            "approved": sum(state == "approved" for state in memory.approvals.values()),
        },
        **spent_fields(spent),
        "seconds": round(seconds, 1),
        "overhead": {
            "seconds": round(max(0.0, seconds - memory.time_at_work(view.now)), 1),
            "tokens_injected": injected // PER_TOKEN if minds else None,
            "per_task": round(injected / PER_TOKEN / len(done)) if minds and done else None,
        },
        "started_at": memory.started_at,
    }


def _merges(memory: RunMemory, view: RunView) -> dict[str, Plain]:
    known = sorted(memory.merges.items(), key=lambda one: int(one[0]) if one[0].isdecimal() else 0)
    merged = [(id, one) for id, one in known if _is_in(one)]
    return {
        "merged": [
            {"task": id, "commit": one.get("commit"), "resolved": one.get("resolved") is True} for id, one in merged
        ],
        "conflicts": [_unmerged(id, one, view) for id, one in known if not _is_in(one)],
        "lost": [{"task": id, "what": one["lost"]} for id, one in known if one.get("lost")],
    }


def _is_in(merge: Mapping[str, Plain]) -> bool:
    return merge.get("status") == "merged"


def _unmerged(id: str, merge: Mapping[str, Plain], view: RunView) -> dict[str, Plain]:
    """What is done and not on the target: who did it, where it is, and why."""
    card = view.board.cards.get(int(id)) if id.isdecimal() else None
    keys = ("status", "files", "with", "branch", "salvage")
    return {
        "task": id,
        "agent": merge.get("by"),
        "subject": card.subject if card is not None else "",
        **{key: merge.get(key) for key in keys},
        "reason": merge.get("why"),
    }


def _by_state(results: list[TaskResult], flagged: list[str]) -> dict[str, Plain]:
    return {
        "completed": [one.id for one in results if one.state == COMPLETED],
        "failed": [one.id for one in results if one.state == FAILED],
        "unreachable": [one.id for one in results if one.state == UNREACHABLE],
        "cancelled": [one.id for one in results if one.state == CANCELLED],
        "needs_human": [one.id for one in results if one.needs_human or one.id in flagged],
        "open": [one.id for one in results if one.state not in (COMPLETED, FAILED, UNREACHABLE, CANCELLED)],
    }


def _agent(name: str, memory: RunMemory) -> dict[str, Plain]:
    known = memory.seat(name)
    return {
        "name": name,
        "restarts": known.restarts,
        "turns": known.spent.turns,
        "seconds": round(known.spent.seconds, 1),
        **spent_fields(known.spent),
        "closed": known.closed or None,
    }


def spent_fields(spent: Spent, *, is_final: bool = True) -> dict[str, Plain]:
    """
    Tokens and cost as every JSON of ours has them. `cost` is null where a part of it is not known, as it is while
    agents still work.
    """
    cost = CostEstimate(spent.cost, is_complete=is_final and not spent.has_unknown_cost)
    return {
        "tokens": spent.tokens,
        "tokens_known": is_final and spent.tokens is not None and not spent.has_unknown_tokens,
        "cost": cost.whole,
        "cost_estimate": cost.fields(),
    }


def total_spent(memory: RunMemory) -> Spent:
    total = Spent()
    for seat in memory.seats.values():
        total = total.plus(seat.spent)
    return total
