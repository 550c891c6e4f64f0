"""
The daemon's part in work-sync: hear of events, keep the queue, run rounds, replay reports that waited.

Events are only noted where they are heard; everything else happens in the loop's own thread, two teams at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

from atm.core.errors import AtmError
from atm.core.plain import counted
from atm.daemon.formats.control_line import BadLine
from atm.events import rules as kinds
from atm.team.services.registry import find_team
from atm.teamd.part import DaemonPart, LoopPlan
from atm.teamd.rounds import Attempt
from atm.worksync.rules.identity import Trusted
from atm.worksync.rules.nudges import ESCALATION
from atm.worksync.rules.triggers import (
    ALL_MEMBERS,
    CONFIG_CHANGED,
    HEARTBEAT,
    IMPORT_WAIT,
    STARTUP_SCAN,
    TASK_CHANGED,
    THESE,
    Route,
    is_import,
    route,
)
from atm.worksync.services.nudges import next_due
from atm.worksync.services.queue import SyncQueue
from atm.worksync.services.reports import replay, submit
from atm.worksync.services.rounds import SyncRound, forget_members, members_of, run_round
from atm.worksync.services.syncroom import running

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.daemon.formats.control_line import Request
    from atm.events.adapters.tree_watch import Touched
    from atm.events.rules import TeamEvent
    from atm.teamd.part import Core
    from atm.worksync.services.nudges import Dispatched
    from atm.worksync.services.syncroom import SyncRoom

CONCURRENCY = 2
MOST_NOTED = 10_000
SCAN_EVERY = 900.0
"""Seconds after which everybody is looked at although nothing was heard: events are hints, and some get lost."""

REPLAY_EVERY = 60.0
STALL_GRACE = 300.0
CLOCKS_APART = 120.0
"""Seconds by which the clock on the wall runs ahead of the other one while a machine sleeps."""

LOOP = "worksync"
STALLS = "stalls"


class SyncWork:
    """What the daemon remembers between two rounds; a restart begins with a look at everybody."""

    def __init__(
        self,
        syncroom: Callable[[], SyncRoom],
        log: Callable[..., None],
        ask_again: Callable[[str, float], None],
        stall_minutes: Callable[[], float],
    ) -> None:
        self._syncroom = syncroom
        self._log = log
        self._ask_again = ask_again
        self._stall_minutes = stall_minutes
        self._heard: deque[Route] = deque(maxlen=MOST_NOTED)
        self._gone: deque[str] = deque()
        self.queue = SyncQueue()
        self._scanned: float | None = None
        self._replayed = float("-inf")
        self._outbox_due: dict[str, float] = {}
        self._awake: tuple[float, float] | None = None
        self._try = Attempt(log, LOOP)

    # What is heard. Called in the daemon's own thread; nothing is read there.

    def hear(self, event: TeamEvent) -> bool:
        """Note whom an event concerns; was it worth noting?"""
        if event.kind in (kinds.TEAM_GONE, kinds.TEAM_COMPLETED):
            self._gone.append(event.team)
            return True
        found = route(event)
        if found is not None:
            self._note(found)
        return found is not None

    def lost_some(self) -> None:
        """More happened than could be heard: look at everybody."""
        self._scanned = None

    def hear_beat(self, team: str, member: str) -> None:
        """A tool call or a turn may have ended: a reason to look, and no proof of anything."""
        self._note(Route(team, HEARTBEAT, THESE, (member,)) if member else Route(team, CONFIG_CHANGED, ALL_MEMBERS))

    def hear_roster(self, team: str) -> None:
        """The roster, or where the team stands: one that was stopped may have been taken up again."""
        self._note(Route(team, CONFIG_CHANGED, ALL_MEMBERS))

    def _note(self, found: Route) -> None:
        if len(self._heard) == MOST_NOTED:
            self._scanned = None  # some will be lost: everybody is looked at instead
        self._heard.append(found)

    # The loop.

    def work(self) -> int:
        """One round of the loop; how many members were looked at."""
        syncroom = self._syncroom()
        clock = syncroom.room.clock
        self.queue.quiet = syncroom.policy.quiet_seconds
        self._forget_gone()
        self._replay_waiting(syncroom, clock.monotonic())
        self._scan(syncroom, clock.monotonic())
        self._route_heard(syncroom, clock.monotonic())
        due = self.queue.take(clock.monotonic())
        for team in self._with_due_outbox(syncroom.now()):
            due.setdefault(team, {})
        done = self._run(syncroom, due)
        self._sleep_until_due(syncroom)
        return sum(len(one.looks) for one in done)

    def _forget_gone(self) -> None:
        while self._gone:
            team = self._gone.popleft()
            self.queue.drop(team)
            self._outbox_due.pop(team, None)

    def _replay_waiting(self, syncroom: SyncRoom, now: float) -> None:
        if now - self._replayed < REPLAY_EVERY:
            return
        self._replayed = now
        for team in self._teams(syncroom):
            count = self._try(replay, syncroom, team) or 0
            if count:
                self._log("info", LOOP, f"judged {counted(count, 'report')} that waited", team=team)

    def _scan(self, syncroom: SyncRoom, now: float) -> None:
        if self._scanned is not None and now - self._scanned < SCAN_EVERY:
            return
        self._scanned = now
        for name in self._teams(syncroom):
            self._try(self._scan_team, syncroom, name, now)

    def _scan_team(self, syncroom: SyncRoom, name: str, now: float) -> None:
        team = find_team(syncroom.room, name)
        if running(syncroom, team).runs:
            self.queue.enqueue(name, team.names, STARTUP_SCAN, now)
            self._try(forget_members, syncroom, team)
            due = next_due(syncroom, name)
            if due is not None:
                self._outbox_due[name] = due

    def _route_heard(self, syncroom: SyncRoom, now: float) -> None:
        by_team: dict[str, list[Route]] = {}
        for _ in range(len(self._heard)):
            found = self._heard.popleft()
            by_team.setdefault(found.team, []).append(found)
        for name, routes in by_team.items():
            try:
                team = find_team(syncroom.room, name)
                for trigger, members in members_of(syncroom, team, routes).items():
                    self.queue.enqueue(team.name, sorted(members), trigger, now)
                if is_import(routes):
                    self.queue.enqueue(team.name, team.names, TASK_CHANGED, now, after=IMPORT_WAIT * self.queue.quiet)
            except AtmError:
                continue  # gone, or not to be read now: the next scan sees to it

    def _with_due_outbox(self, now: float) -> list[str]:
        return [team for team, at in self._outbox_due.items() if at <= now]

    def _run(self, syncroom: SyncRoom, due: dict[str, dict[str, str]]) -> list[SyncRound]:
        if not due:
            return []
        with ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="atm worksync") as pool:
            rounds = list(pool.map(lambda item: self._try(run_round, syncroom, *item), due.items()))
        for (team, members), done in zip(due.items(), rounds, strict=True):
            self._after(syncroom, team, members, done)
        return [one for one in rounds if one is not None]

    def _after(self, syncroom: SyncRoom, team: str, members: dict[str, str], done: SyncRound | None) -> None:
        now, wall = syncroom.room.clock.monotonic(), syncroom.now()
        self.queue.done(team, members, now)
        self._outbox_due.pop(team, None)
        if done is None:
            return  # not in a tight loop: the next event or scan tries again
        if done.outbox_due is not None:
            self._outbox_due[team] = done.outbox_due
        for member, at in done.again.items():
            self.queue.look_again(team, member, now + max(0.0, at - wall))
        for one in done.dispatched:
            if one.is_new:
                self._log("info", LOOP, _in_words(one), team=team, item=one.nudge.id)

    def _sleep_until_due(self, syncroom: SyncRoom) -> None:
        """A round of the loop when the next member or item is due; in between nothing is looked at."""
        now, wall = syncroom.room.clock.monotonic(), syncroom.now()
        waits = [at - wall for at in self._outbox_due.values()]
        due = self.queue.next_due()
        if due is not None:
            waits.append(due - now)
        if waits:
            self._ask_again(LOOP, max(0.05, min(waits)))

    # Stalls: a system of its own, which only shares the files.

    def watch_stalls(self) -> int:
        from atm.board.services.stall_watch import watch_stalls

        syncroom, minutes, done = self._syncroom(), self._stall_minutes(), 0
        if minutes <= 0 or not self._is_awake_for(syncroom, min(STALL_GRACE, minutes * 60)):
            return 0
        for name in self._teams(syncroom):
            team = self._try(find_team, syncroom.room, name)
            for alert in (
                (self._try(watch_stalls, syncroom.boardroom, syncroom.records, team, minutes) or []) if team else []
            ):
                said = f"{alert.to} was told" if not alert.problem else alert.problem
                self._log("warn", STALLS, f"#{alert.task} of {alert.member}: {said}", team=name)
                done += 1
        return done

    def _is_awake_for(self, syncroom: SyncRoom, grace: float) -> bool:
        """After a start, and after a machine has slept, nobody is judged at once: nobody could get on meanwhile."""
        wall, now = syncroom.now(), syncroom.room.clock.monotonic()
        ahead = wall - now
        if self._awake is None or ahead - self._awake[1] > CLOCKS_APART:
            self._awake = (now, ahead)
        self._awake = (self._awake[0], ahead)
        return now - self._awake[0] >= grace

    def counts(self) -> dict[str, Plain]:
        found = self.queue.counts()
        return {
            "queued": found.queued,
            "running": found.running,
            "looked_at": found.taken,
            "coalesced": found.coalesced,
            "dropped": found.dropped,
        }

    def _teams(self, syncroom: SyncRoom) -> list[str]:
        return self._try(syncroom.room.rosters.teams) or []


def _in_words(done: Dispatched) -> str:
    nudge = done.nudge
    if nudge.rung == ESCALATION:
        return f"{nudge.to} was told that {nudge.member} does not report"
    return f"{nudge.member} was nudged"


class SyncPart(DaemonPart):
    """Work-sync in the daemon."""

    name = LOOP
    wakes: ClassVar = {"roster": (LOOP,), "heartbeat": (LOOP,)}

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        rounds = core.rounds
        self._work = SyncWork(lambda: rounds.syncroom, rounds.log, rounds.ask_again_later, lambda: rounds.stall_minutes)

    def loops(self) -> list[LoopPlan]:
        return [
            LoopPlan(name=LOOP, work=self._work.work, period=60.0, bound=120.0, gathering=0.1),
            LoopPlan(name=STALLS, work=self._work.watch_stalls, period=60.0, bound=120.0),
        ]

    def touch(self, touched: Touched) -> None:
        if touched.kind == "roster" and touched.team:
            self._work.hear_roster(touched.team)
        elif touched.kind == "heartbeat" and touched.team:
            self._work.hear_beat(touched.team, touched.name)

    def hear(self, event: TeamEvent) -> tuple[str, ...]:
        return (LOOP,) if self._work.hear(event) else ()

    def missed_some(self) -> None:
        self._work.lost_some()

    def answers(self) -> dict[str, Callable[[Request], Plain]]:
        return {"sync-report": self._take_report}

    def _take_report(self, request: Request) -> Plain:
        """A report of a member, judged here and now. Who it is from, the process that asks knows from its launcher."""
        arguments, knows = request.fields.get("arguments"), request.fields.get("knows")
        if not isinstance(arguments, dict) or not isinstance(knows, dict):
            raise BadLine("bad-request", "a report has `arguments` and says what is known of its author", request.id)
        said = {key: str(knows.get(key) or "") for key in ("source", "team", "member")}
        syncroom = self.core.rounds.syncroom
        trusted = Trusted("app", syncroom.now(), **said)
        return submit(syncroom, request.text("team"), arguments, trusted).fields()

    def facts(self) -> Plain:
        return self._work.counts()


PART = SyncPart
