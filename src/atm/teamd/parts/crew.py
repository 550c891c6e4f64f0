"""The loop of the crew: agents whose host was killed are cleared away, their work saved, their tasks freed (G7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.teamd.part import DaemonPart, LoopPlan
from atm.wiring.crew import build_crewroom

if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.teamd.part import Core
    from atm.teamd.rounds import Rounds


class CrewLoops:
    """What the daemon does for agents that atm started. They do not need it to live."""

    def __init__(self, rounds: Rounds, crewroom: Crewroom) -> None:
        self._rounds = rounds
        self.crewroom = crewroom

    def reconcile(self) -> int:
        if not self.crewroom.records.teams():
            return 0
        from atm.crew.services.reaping import reconcile

        done = reconcile(self.crewroom)
        for record in done.cleared:
            self._rounds.log("warn", "crew", f"{record.member} was gone and is cleared away", team=record.team)
        for one in done.orphans:
            self._rounds.log("warn", "crew", f"process {one.pid} of an agent that is over was ended")
        for trouble in done.troubles:
            self._rounds.log("error", "crew", trouble)
        return len(done.cleared) + len(done.orphans)


class CrewPart(DaemonPart):
    """Agents that atm started, in the daemon."""

    name = "crew"

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = CrewLoops(core.rounds, self._crewroom())

    def _crewroom(self) -> Crewroom:
        core = self.core
        return build_crewroom(core.layout, core.settings, core.rounds.boardroom, core.environment)

    def loops(self) -> list[LoopPlan]:
        return [LoopPlan(name="crew", work=self._work.reconcile, period=20.0, bound=120.0)]

    def use(self) -> None:
        self._work.crewroom = self._crewroom()


PART = CrewPart
