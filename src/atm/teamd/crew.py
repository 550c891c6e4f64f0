"""The loop of the crew: agents whose host was killed are cleared away, their work saved, their tasks freed (G7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atm.services.crew.crewroom import Crewroom
    from atm.teamd.rounds import Rounds


class CrewLoops:
    """What the daemon does for agents that atm started. They do not need it to live."""

    def __init__(self, rounds: Rounds, crewroom: Crewroom) -> None:
        self._rounds = rounds
        self.crewroom = crewroom

    def reconcile(self) -> int:
        if not self.crewroom.records.teams():
            return 0
        from atm.services.crew.reaping import reconcile

        done = reconcile(self.crewroom)
        for record in done.cleared:
            self._rounds.log("warn", "crew", f"{record.member} was gone and is cleared away", team=record.team)
        for one in done.orphans:
            self._rounds.log("warn", "crew", f"process {one.pid} of an agent that is over was ended")
        for trouble in done.troubles:
            self._rounds.log("error", "crew", trouble)
        return len(done.cleared) + len(done.orphans)
