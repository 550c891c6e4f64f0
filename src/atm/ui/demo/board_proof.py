"""What the history of a board proves: every task finished once, in order, by the one who held it."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atm.board.formats.task_history import Past


@dataclass(slots=True)
class Proof:
    """The counts, and every way in which the history contradicts itself."""

    created: int = 0
    completed: int = 0
    claims: int = 0
    taken_back: int = 0
    violations: list[str] = field(default_factory=list)


def prove(past: Sequence[Past], depends_on: Mapping[str, Sequence[str]]) -> Proof:
    """Go through the history once, as an auditor would."""
    proof, holders, done = Proof(), dict[str, str](), dict[str, int]()
    last = 0
    for one in past:
        if one.seq <= last:
            proof.violations.append(f"line {one.seq} follows line {last}")
        last = one.seq
        kind, to = one.word("type"), one.word("to")
        if kind == "task_created":
            proof.created += 1
        elif kind == "status_changed" and to == "in_progress":
            proof.claims += 1
            _check_claim(proof, one, holders, done, depends_on.get(one.task, ()))
            holders[one.task] = one.word("id")
        elif kind == "status_changed" and to == "completed":
            _check_completion(proof, one, holders, done)
            done[one.task] = one.seq
        elif kind in ("status_changed", "owner_changed", "split"):
            proof.taken_back += 1
            holders.pop(one.task, None)
            if one.word("from") == "completed":
                done.pop(one.task, None)  # somebody opened it again
        elif kind in ("observed", "vanished"):
            proof.violations.append(f"#{one.task} was {kind} as {to}, and nobody says who did that")
    proof.completed = len(done)
    return proof


def _check_claim(
    proof: Proof, one: Past, holders: Mapping[str, str], done: Mapping[str, int], needs: Sequence[str]
) -> None:
    if one.task in holders:
        proof.violations.append(f"#{one.task} was claimed by {one.word('actor')} while somebody held it")
    if one.task in done:
        proof.violations.append(f"#{one.task} was claimed by {one.word('actor')} after it was completed")
    for blocker in needs:
        if blocker not in done:
            proof.violations.append(f"#{one.task} was claimed before #{blocker} was completed")


def _check_completion(proof: Proof, one: Past, holders: dict[str, str], done: Mapping[str, int]) -> None:
    if one.task in done:
        proof.violations.append(f"#{one.task} was completed twice")
    if holders.pop(one.task, "") != one.word("claim"):
        proof.violations.append(f"#{one.task} was completed by {one.word('actor')}, who did not hold it")
