"""A request for approval as people see it: the exact command, folder and diff; harmless, and nothing cut silently."""

from __future__ import annotations

from atm.approvals.rules.requests import WAITING
from atm.core.excerpts import excerpt
from atm.core.untrusted_text import many_lines, one_line
from atm.files.formats.times import to_iso
from atm.ui.views.ages import ago

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval

HEADS, WHAT = ("Id", "Who", "For", "What", "Where", "Waits"), 3
LONGEST = 2000
"""Characters of a command in a list. `show` has all of it."""


def row(approval: Approval, now: float) -> list[str]:
    what = approval.command or ", ".join(approval.paths) or approval.operation
    state = approval.state(now)
    waits = f"{_left(approval, now)} for {approval.tier}" if state == WAITING else state
    return [
        approval.id,
        approval.requester,
        approval.tool,
        _exact_line(excerpt(what, LONGEST, approval.id)),
        approval.folder,
        waits,
    ]


def _left(approval: Approval, now: float) -> str:
    minutes = max(0.0, approval.expires_at - now) / 60
    return f"{minutes:.0f} min" if minutes >= 1 else f"{minutes * 60:.0f} s"


def exact(text: str) -> str:
    """Every character that is there: what does not show itself is spelled."""
    if many_lines(text) == text:
        return text
    return "\n".join(line if one_line(line) == line else ascii(line) for line in text.split("\n"))


def _exact_line(text: str) -> str:
    """The same on one line: a folder whose name has a second one could otherwise say what the next lines say."""
    return text if one_line(text) == text else ascii(text)


def detail(approval: Approval, now: float) -> list[str]:
    """All that whoever answers must know."""
    state = approval.state(now)
    lines = [
        f"{approval.id}  {state}" + (f", {_left(approval, now)} left; no answer means no" if state == WAITING else ""),
        f"who      {one_line(approval.requester)} in {one_line(approval.team)}"
        + (f", task #{one_line(approval.task)}" if approval.task else ""),
        f"wants    {one_line(approval.tool)} ({approval.operation}); for the {approval.tier or 'policy'} to answer",
        f"where    {_exact_line(approval.folder) or '-'}",
        f"rule     {_rule(approval)}",
    ]
    if approval.answer is not None:
        by = f" by {one_line(approval.answer.by)}" if approval.answer.by else ""
        lines.append(f"answer   {state}{by}, {ago(now - approval.answer.at)} ({one_line(approval.answer.how)})")
    if approval.answer is not None and approval.answer.reason:
        lines.append(f"reason   {one_line(approval.answer.reason)}")
    if approval.used_at is not None:
        lines.append(f"used     {to_iso(approval.used_at)}")
    if approval.problem:
        lines.append(f"problem  {one_line(approval.problem)}")
    for head, text in (("command", approval.command), ("files", "\n".join(approval.paths)), ("diff", approval.diff)):
        if text:
            lines += ["", f"{head}:", *(f"    {line}" for line in exact(text).split("\n"))]
    return lines


def _rule(approval: Approval) -> str:
    rule = approval.rule
    where = f"rule {rule.number} of {rule.file}" if rule.number else one_line(approval.why or "the default")
    return f"{one_line(where)}: {one_line(rule.text)}" if rule.number else where
