"""
What a role leaves of an agent's tools, before any policy: who must plan first only looks; a lead in delegate mode only
looks and coordinates.
"""

from __future__ import annotations

from atm.approvals.rules.calls import EDIT, EXIT_PLAN, SHELL, WRITE
from atm.approvals.rules.options import READS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.act import Act
    from atm.approvals.rules.calls import Understood

PLANS, DELEGATES = "plans", "delegates"

_COORDINATING = ("mcp__atm__", "mcp_atm_", "atm_")
_OF_ITSELF = ("Task", "Agent", "TodoWrite", EXIT_PLAN, "AskUserQuestion", "SendMessage", "TeamCreate")


def refusal(understood: Understood, role: str) -> str:
    """Why a call is not for this role; empty if it is."""
    call = understood.call
    if call.tool == SHELL:
        is_fine = not understood.unclear and all(_only_looks(act) or _is_ours(act, role) for act in understood.acts)
    elif call.tool in (WRITE, EDIT):
        is_fine = False
    else:
        named = call.own_name.startswith(_COORDINATING) or call.tool in _OF_ITSELF
        is_fine = named or not call.changes_something
    if is_fine and not any(refusal(stored, role) for stored in (understood.stored if role == PLANS else ())):
        return ""
    if role == PLANS:
        return (
            "your task needs an approved plan before anything is changed: read what you need, submit the plan "
            "(`atm tasks plan submit`, or plan_submit), and wait; no answer means no"
        )
    return "you lead in delegate mode: give this to a teammate as a task, with files and a check"


def _only_looks(act: Act) -> bool:
    """`cd` by itself is nothing yet."""
    return not act.writes and not act.is_sensitive and (act.effect == READS or not act.needs)


_TALKING = frozenset(
    (
        *("send", "read", "request", "ack", "broadcast", "inbox", "receipts", "tasks", "approvals", "sync", "status"),
        *("members", "watch", "peek", "logs", "runs", "snapshot", "prime", "deliver", "version", "top"),
    )
)
"""Commands of atm for an agent that must plan first; a lead in delegate mode has all."""


def _is_ours(act: Act, role: str) -> bool:
    if role == PLANS and not _TALKING.issuperset(act.words[1:2]):
        return False
    return act.words[:1] == ["atm"] and not act.writes  # what it costs is for the policy
