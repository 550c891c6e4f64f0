"""What a run is made with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ports.files.clock import Clock
    from atm.ports.merges import MergeWorker
    from atm.ports.runs import Runs
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.services.crew.crewroom import Crewroom
    from atm.services.merges.mergeroom import Mergeroom
    from atm.services.roster.full_boardroom import FullBoardroom


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
