"""Writing down what came of a run."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.files.formats.times import for_name, to_iso
from atm.runs.formats.report_text import report_text
from atm.runs.rules.report import report_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain, Record
    from atm.runs.rules.memory import RunMemory
    from atm.runs.rules.orders import RunOrder
    from atm.runs.rules.view import RunView
    from atm.runs.services.runroom import Runroom


def write_report(
    desk: Runroom,
    order: RunOrder,
    memory: RunMemory,
    view: RunView,
    outcome: str,
    why: str,
    waited: Mapping[str, str] | None = None,
) -> Record:
    facts = report_facts(order, memory, view, outcome, why, waited)
    facts["started_at"] = to_iso(memory.started_at)
    facts["ended_at"] = to_iso(view.now)
    facts["report"] = f"{desk.runs.folder(order.team, order.run)}/report.md"
    facts["into"] = _target(desk, order)
    facts["salvage"] = [*_saved(desk, order, memory)]
    desk.runs.write_report(order.team, order.run, facts, report_text(facts))
    return facts


def _target(desk: Runroom, order: RunOrder) -> dict[str, Plain] | None:
    """The branch with everything, and its commit now."""
    if not order.merges:
        return None
    repository = desk.crew.worktrees.repository(order.folder)
    head = desk.merges.git.head(repository, order.into) if repository is not None else ""
    return {"branch": order.into, "head": head or None}


def _saved(desk: Runroom, order: RunOrder, memory: RunMemory) -> list[str]:
    """What was saved of work that did not end well, since the run began."""
    try:
        repository = desk.crew.worktrees.repository(order.folder)
        found = desk.crew.worktrees.saved(repository.common, order.team) if repository is not None else []
    except (AtmError, OSError):
        return []
    since = for_name(memory.started_at)
    return [one.id for one in found if one.ref.rpartition("/")[2] >= since]
