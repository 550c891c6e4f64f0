"""The loop of sessions: leads that are away or back, checkpoints, agents that died in the middle."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from atm.events.rules import TASK_CHANGED
from atm.sessions.services.sessionroom import SessionCaller
from atm.teamd.part import DaemonPart, LoopPlan
from atm.teamd.rounds import Attempt
from atm.wiring.crew import build_crewroom
from atm.wiring.sessions import build_sessionroom

if TYPE_CHECKING:
    from atm.events.rules import TeamEvent
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.teamd.part import Core
    from atm.teamd.rounds import Rounds


LOOP = "sessions"


class SessionLoops:
    """What the daemon does for teams that are led."""

    def __init__(self, rounds: Rounds, sessionroom: SessionRoom) -> None:
        self._rounds = rounds
        self.sessionroom = sessionroom
        self._attempt = Attempt(rounds.log, LOOP)
        self._committed: dict[str, float] = {}
        self._lock = threading.Lock()
        self._finished: set[str] = set()
        """Teams in which a task was completed since the last round: these are committed at once."""

    def hear(self, event: TeamEvent) -> bool:
        """Was something finished? Then a checkpoint is due now."""
        if event.kind != TASK_CHANGED or event.detail.get("status") != "completed":
            return False
        with self._lock:
            self._finished.add(event.team)
        return True

    def keep(self) -> int:
        from atm.sessions.services.keeping import led_teams

        desk = self.sessionroom
        with self._lock:
            finished, self._finished = self._finished, set()
        teams = self._attempt(led_teams, desk) or []
        for gone in set(self._committed) - set(teams):
            self._committed.pop(gone)
        done = sum(self._attempt(self._keep, team, team in finished) or 0 for team in teams)
        self._rounds.ask_again(LOOP, desk.policy.checkpoint)
        return done

    def _keep(self, team: str, is_finished: bool) -> int:
        from atm.sessions.services.keeping import keep, restart_lost
        from atm.sessions.services.zombies import watch_lead

        desk, log = self.sessionroom, self._rounds.log
        watched = watch_lead(desk, team)
        if watched.changed:
            log("warn", LOOP, f"the lead is {watched.changed}", team=team, released=watched.released)
        for trouble in watched.troubles:
            log("error", LOOP, trouble, team=team)
        for member in restart_lost(desk, team):
            log("warn", LOOP, f"{member} had died and was started again", team=team)
        now = desk.clock.monotonic()
        is_due = is_finished or now - self._committed.get(team, float("-inf")) >= desk.policy.git
        made, committed = keep(desk, team, git=is_due, why="completion" if is_finished else "milestone")
        if is_due:
            self._committed[team] = now
        return int(made.is_new) + int(committed is not None and committed.commit != "")


class SessionPart(DaemonPart):
    """Sessions in the daemon."""

    name = LOOP

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._work = SessionLoops(core.rounds, self._sessionroom())

    def _sessionroom(self) -> SessionRoom:
        """The daemon leads nothing itself; its folder is nobody's."""
        core, nobody = self.core, SessionCaller(session="", folder="")
        crew = build_crewroom(core.layout, core.settings, core.rounds.boardroom, core.environment)
        return build_sessionroom(core.layout, core.settings, crew, nobody, core.environment, is_server=True)

    def loops(self) -> list[LoopPlan]:
        return [LoopPlan(name=LOOP, work=self._work.keep, period=30.0, bound=180.0)]

    def use(self) -> None:
        self._work.sessionroom = self._sessionroom()

    def hear(self, event: TeamEvent) -> tuple[str, ...]:
        return (LOOP,) if self._work.hear(event) else ()


PART = SessionPart
