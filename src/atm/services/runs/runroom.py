"""What a run is made with."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ports.files.clock import Clock
    from atm.ports.runs import Runs
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.services.crew.crewroom import Crewroom
    from atm.services.roster.full_boardroom import FullBoardroom


class Runroom:
    """Ports, in one hand."""

    __slots__ = ("approvals", "crew", "runs")

    def __init__(self, crew: Crewroom, runs: Runs, approvals: Approvalroom) -> None:
        self.crew = crew
        self.runs = runs
        self.approvals = approvals

    @property
    def boardroom(self) -> FullBoardroom:
        return self.crew.boardroom

    @property
    def clock(self) -> Clock:
        return self.crew.clock
