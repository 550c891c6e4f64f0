"""What a run is made with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.crew.services.crewroom import Crewroom
    from atm.files.ports.clock import Clock
    from atm.merges.ports import MergeWorker
    from atm.merges.services.mergeroom import Mergeroom
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.runs.ports import Runs


class Runroom:
    """Ports, in one hand."""

    __slots__ = ("approvals", "crew", "merges", "runs", "worker")

    def __init__(
        self, crew: Crewroom, runs: Runs, approvals: Approvalroom, merges: Mergeroom, worker: MergeWorker
    ) -> None:
        self.crew = crew
        self.runs = runs
        self.approvals = approvals
        self.merges = merges
        self.worker = worker
        """Who works the merge queue off while the loop goes on."""

    @property
    def boardroom(self) -> FullBoardroom:
        return self.crew.boardroom

    @property
    def clock(self) -> Clock:
        return self.crew.clock
