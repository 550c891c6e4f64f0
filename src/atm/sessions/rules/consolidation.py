"""
The steps by which a team's work becomes one commit, and when it is ready for that.

The step that is about to be done is written down before it is done; whoever comes after a crash begins with that step
again. Every step can be done twice.
"""

from __future__ import annotations

from dataclasses import dataclass

GATE, CHECKS, HOOKS, COMMIT, PUSH, MARK = "gate", "checks", "hooks", "commit", "push", "mark"
STEPS = (GATE, CHECKS, HOOKS, COMMIT, PUSH, MARK)


@dataclass(slots=True, kw_only=True)
class Consolidation:
    """How far it is, as `state.json` says under `consolidation`."""

    step: str
    partial: bool = True
    """True from the first step until the last is done."""
    by: str = ""
    session: str = ""
    at: float = 0.0
    pid: int = 0
    began: str = ""
    boot: str = ""
    message: str = ""
    push: str = ""
    """The remote, if it is to be pushed."""
    index: str = ""
    """The index as it was before anything was staged, and the commit that was checked out then."""
    head: str = ""
    commit: str = ""
    asked_at: float = 0.0
    """When teammates were asked to look at their changes, after an interruption."""


def steps_from(step: str) -> tuple[str, ...]:
    """What is still to be done; everything if the step is unknown."""
    return STEPS[STEPS.index(step) :] if step in STEPS else STEPS


class MemberReadiness:
    """One member, and why it is not green; empty if it is."""

    __slots__ = ("name", "reasons")

    def __init__(self, name: str, reasons: list[str]) -> None:
        self.name = name
        self.reasons = reasons


def why_not_green(*, task: str, last_check: str, unsaved: str, status: str) -> list[str]:
    """No task in progress, the last check passed, the work saved, and no zombie."""
    rows = (
        (bool(task), f"#{task} is in progress"),
        (bool(last_check), f"its last check {last_check}"),
        (bool(unsaved), f"its work could not be saved: {unsaved}"),
        (status == "zombie", "it is a zombie"),
    )
    return [why for is_so, why in rows if is_so]


FINE, TO_FIX = "my edits ok", "need to fix"


def said_of_edits(text: str) -> str:
    """What a teammate answered when it was asked to look at its changes: FINE, TO_FIX, or empty."""
    plain = " ".join(text.casefold().split())
    return TO_FIX if TO_FIX in plain else FINE if FINE in plain else ""
