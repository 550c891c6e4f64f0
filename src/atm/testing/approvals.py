"""Approvals in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import copy

from atm.approvals.formats.records import AuditLine
from atm.approvals.rules.requests import APPROVED, Approval, GivenAnswer, audit_objection
from atm.core.errors import NoSuchTeam
from atm.testing.team import MemoryRosters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Record


class MemoryApprovals:
    """Implements `approvals.ports.Approvals`."""

    def __init__(self, rosters: MemoryRosters) -> None:
        self._rosters = rosters
        self._all: dict[tuple[str, str], Approval] = {}
        self._audit: dict[str, list[Record]] = {}
        self._turn = threading.Lock()

    def _check(self, team: str) -> None:
        if self._rosters.find(team) is None:
            raise NoSuchTeam(f"there is no team {team}", "see `atm teams`")

    def create(self, approval: Approval) -> bool:
        self._check(approval.team)
        key = (approval.team, approval.id)
        if key in self._all:
            return False
        self._all[key] = copy(approval)
        return True

    def read(self, team: str, id: str) -> Approval | None:
        found = self._all.get((team, id))
        return copy(found) if found is not None else None

    def all(self, team: str) -> list[Approval]:
        found = [copy(one) for (home, _), one in self._all.items() if home == team]
        return sorted(found, key=lambda one: (one.asked_at, one.id))

    def like(self, team: str, digest: str) -> list[Approval]:
        return [one for one in reversed(self.all(team)) if one.digest == digest]

    def answer(self, approval: Approval, answer: GivenAnswer) -> bool:
        self._check(approval.team)
        kept = self._all[approval.team, approval.id]
        if kept.answer is not None:
            return False
        kept.answer = answer
        return True

    def seal(self, team: str, now: float) -> None:  # noqa: ARG002 - no other process changes the audit of a fake
        self._check(team)

    def events(self, approval: Approval) -> list[str] | None:
        return [str(line["event"]) for line in self.audit(approval.team) if line["id"] == approval.id]

    def use(self, approval: Approval, at: float, call_id: str, line: AuditLine) -> bool:
        kept = self._all[approval.team, approval.id]
        with self._turn:
            if kept.used_at is not None or audit_objection(self.events(approval) or [], APPROVED):
                return False
            kept.used_at, kept.used_by = at, call_id
            self.note(approval.team, [line])
            return True

    def leave(self, approval: Approval, at: float) -> None:
        self._all[approval.team, approval.id].left_at = at

    def remove(self, approval: Approval) -> None:
        self._all.pop((approval.team, approval.id), None)

    def version(self, team: str) -> object:
        found = [one for (home, _), one in self._all.items() if home == team]
        return [(one.id, one.answer is not None, one.used_at, one.left_at) for one in found]

    def news(self, team: str, id: str) -> object:
        found = self._all.get((team, id))
        return found is not None and found.answer is not None

    def note(self, team: str, lines: Sequence[AuditLine]) -> None:
        self._check(team)
        kept = self._audit.setdefault(team, [])
        kept += [{"seq": len(kept) + at, **line.record} for at, line in enumerate(lines, 1)]

    def audit(self, team: str) -> list[Record]:
        return list(self._audit.get(team, []))
