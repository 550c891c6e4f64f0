"""Where requests for approval, their answers and the audit are kept."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from atm.approvals.formats.records import AuditLine
    from atm.approvals.rules.requests import Approval, GivenAnswer
    from atm.core.plain import Record
else:
    Protocol = object


class Approvals(Protocol):
    """
    Requests of a team. Raises AtmError for what cannot be read or written: whoever asks takes that for a no (G8).

    What is answered, used or left is so by a file that only one process can make.
    """

    def create(self, approval: Approval) -> bool:
        """False if the id is taken."""

    def read(self, team: str, id: str) -> Approval | None: ...

    def all(self, team: str) -> list[Approval]:
        """Oldest first. What is no request is passed over."""

    def like(self, team: str, digest: str) -> list[Approval]:
        """Those about the very same call, newest first."""

    def answer(self, approval: Approval, answer: GivenAnswer) -> bool:
        """False if there is an answer already."""

    def seal(self, team: str, now: float) -> None:
        """Before a request is made: from now on, no line of the audit can disappear unnoticed."""

    def events(self, approval: Approval) -> list[str] | None:
        """
        What the audit says about a request, oldest first. None: the audit was damaged since the request was made.
        """

    def use(self, approval: Approval, at: float, call_id: str, line: AuditLine) -> bool:
        """
        Mark an approval as used and write the line about it, in one step. False unless the audit says that it was
        asked for and approved, and nothing else: a missing or damaged audit permits nothing.
        """

    def leave(self, approval: Approval, at: float) -> None:
        """Whoever asked does not wait any more."""

    def remove(self, approval: Approval) -> None: ...

    def version(self, team: str) -> object:
        """Changes when anything of a team's requests does. Cheap."""

    def news(self, team: str, id: str) -> object:
        """Changes when an answer comes. Cheap."""

    def note(self, team: str, lines: Sequence[AuditLine]) -> None: ...

    def audit(self, team: str) -> list[Record]: ...
