"""
What happened in a team, in one row of time: mail, tasks, approvals; from ledger, history and audit.

Texts are as they were written. The newest come last.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.mail.formats.journal import MESSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from atm.board.formats.task_history import Past
    from atm.core.plain import Record
    from atm.mail.formats.journal import Entry

MOST = 1000

_TOLD = ("to", "reason", "error", "note", "question", "text", "reviewer")
"""What of an event of a task is said with it."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened."""

    at: str
    kind: str
    """`mail`, `task` or `approval`."""
    who: str
    what: str
    about: str
    """The id of the message, the task or the request."""


def happenings(
    entries: Iterable[Entry], past: Iterable[Past], audit: Sequence[Record], most: int = MOST
) -> list[Happening]:
    found = [*_mail(entries), *_tasks(past), *_approvals(audit)]
    return sorted(found, key=lambda one: one.at)[-most:]


def _mail(entries: Iterable[Entry]) -> Iterator[Happening]:
    known: set[str] = set()
    for entry in entries:
        message = entry.message if entry.kind == MESSAGE else None
        for id in entry.ids if message is not None else ():
            if message is not None and id not in known:
                known.add(id)
                said = message.summary or message.text[:200]
                yield Happening(entry.at, "mail", message.sender, f"wrote to {entry.agent}: “{said}”", id)


def _tasks(past: Iterable[Past]) -> Iterator[Happening]:
    for one in past:
        facts = "; ".join(one.word(key) for key in _TOLD if one.word(key))
        what = f"{one.word('type').replace('_', ' ')} {facts}".strip()
        yield Happening(one.word("at"), "task", one.word("actor") or "atm", f"#{one.task} {what}", one.task)


def _approvals(audit: Iterable[Record]) -> Iterator[Happening]:
    for line in audit:
        reason = f": “{line['reason']}”" if line.get("reason") else ""
        what = f"{line.get('event')} request {line.get('id')}{reason}"
        yield Happening(str(line.get("at")), "approval", str(line.get("by") or "atm"), what, str(line.get("id")))
