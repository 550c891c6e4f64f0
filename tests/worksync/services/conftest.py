"""A team without a disk, and the control plane over it: what every test of the work-sync services begins with."""

from __future__ import annotations

from typing import Any

import pytest

from atm.board.services import planning
from atm.board.services.new_tasks import NewTask
from atm.files.formats.json_record import encode
from atm.files.ports.records import INTENTS, STATUS
from atm.roster.services.members import add_member, create_team, remove_member
from atm.team.formats.team_config import new_member, new_team, with_member
from atm.team.rules.lifecycle import ACTIVE, STOPPED
from atm.team.rules.liveness import Beat
from atm.team.rules.team import Member, Team
from atm.team.services.lifecycle import advance
from atm.team.services.registry import find_team
from atm.testing import memory_boardroom
from atm.testing.rooms import memory_syncroom
from atm.worksync.rules.identity import PROCESS_TEAM, Trusted
from atm.worksync.rules.nudges import SENDER, Nudge
from atm.worksync.rules.readiness import Thresholds
from atm.worksync.rules.statuses import MemberStatus
from atm.worksync.services.ladders import outbox
from atm.worksync.services.nudges import dispatch, plan
from atm.worksync.services.reconcile import MemberLook, known_status, look_at, reconcile
from atm.worksync.services.reports import ReportAnswer, note_intent, submit
from atm.worksync.services.rounds import SyncRound, run_round
from atm.worksync.services.syncroom import SyncPolicy

LEAD = "lena"
OPEN = SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=0.0, most_would_nudges=1000.0))
"""Nudges may be sent from the first look on."""


class Place:
    """`crew`: the lead lena, the agents ann, bob and cleo, the person hugo, and bot, whom a plugin plays."""

    def __init__(self, policy: SyncPolicy = OPEN) -> None:
        self.boardroom: Any = memory_boardroom()  # Any: the twins can do more than their ports say
        self.room: Any = self.boardroom.room
        self.syncroom: Any = memory_syncroom(self.boardroom, policy)
        self.create("crew")

    def create(self, name: str) -> None:
        create_team(self.room, name, lead=LEAD)
        for member in ("ann", "bob", "cleo"):
            add_member(self.room, name, Member(member))
        add_member(self.room, name, Member("hugo", backend="human"))
        add_member(self.room, name, Member("bot", backend="plugin:chat"))

    def create_claudes(self, name: str = "session-1a2b3c4d") -> str:
        """As Claude Code makes one: a roster and nothing else."""
        data = new_team(name, description="", lead="team-lead", now=self.now)
        for member in ("team-lead", "ann"):
            data = with_member(data, new_member(Member(member), name, self.now))
        self.room.rosters.create(name, data)
        return name

    # Time and life.

    @property
    def now(self) -> float:
        return float(self.room.clock.now())

    def passes(self, seconds: float) -> None:
        self.room.clock.pass_time(seconds)
        self.room.presence.up_for += seconds

    def beats(
        self,
        name: str,
        state: str = "",
        *,
        team: str = "crew",
        since: float | None = None,
        source: str = "codex hook PostToolUse",
    ) -> None:
        beat = Beat(at=self.now, source=source, host="here", state=state, state_since=since)
        self.room.presence.beat(team, name, beat)

    def quiet(self, *names: str, team: str = "crew") -> None:
        """As if they had no hooks: nothing is known of them but what the board says, and their mail is read."""
        for name in names or ("ann", "bob", "cleo", LEAD):
            self.room.presence.forget(team, name)
            self.room.inboxes.claim(team, name, lambda rows: [row for row in rows if row.sender != SENDER])

    def stop(self) -> None:
        advance(self.room, "crew", STOPPED, "hugo")

    def resume(self) -> None:
        advance(self.room, "crew", ACTIVE, "hugo")

    def remove(self, name: str) -> None:
        remove_member(self.room, "crew", name, force=True)

    def delete(self, team: str = "crew") -> None:
        """Everything of a team, as its folder goes."""
        for part in (self.room.rosters, self.room.inboxes, self.room.ledger):
            part.take_away(team)
        for part in (self.syncroom.records, self.syncroom.journal, self.syncroom.secrets):
            part.take_away(team)
        self.room.states.content.pop(team, None)
        for known in (
            self.boardroom.tasks.files,
            self.boardroom.tasks.lines,
            self.boardroom.tasks.marks,
            self.boardroom.tasks.gone,
        ):
            known.pop(team, None)

    @property
    def team(self) -> Team:
        return find_team(self.room, "crew")

    # The board.

    def add(self, *subjects: str, owner: str = "ann", team: str = "crew", **more: Any) -> list[str]:
        """Tasks that lena gives to somebody, who says nothing about it."""
        wishes = [NewTask(subject, owner=owner, **more) for subject in subjects]
        added = planning.add(self.boardroom, team, LEAD, wishes)
        self.quiet("ann", "bob", "cleo", LEAD, owner, team=team)
        return [task.id for task in added.tasks]

    # Work-sync.

    def seen(self, name: str = "ann") -> Any:
        return look_at(self.syncroom, self.team, [name])[name]

    def fingerprint(self, name: str = "ann") -> str:
        return str(self.seen(name).fingerprint)

    def look(self, *names: str, trigger: str = "manual_refresh") -> list[MemberLook]:
        return reconcile(self.syncroom, "crew", dict.fromkeys(names or ("ann",), trigger))

    def state(self, name: str = "ann") -> str:
        looks = self.look(name)
        return looks[0].decision.kind if looks else ""

    def status(self, name: str = "ann") -> MemberStatus:
        found = known_status(self.syncroom.records.read("crew", STATUS), "crew", name)
        assert found is not None
        return found

    def knows(self, name: str, team: str = "crew") -> Trusted:
        """As a launcher vouches for an agent."""
        return Trusted("app", self.now, PROCESS_TEAM, team, name)

    def words(self, name: str, state: str = "still_working", **more: Any) -> dict[str, Any]:
        return {"from": name, "agendaFingerprint": self.fingerprint(name), "state": state, **more}

    def report(self, name: str = "ann", state: str = "still_working", **more: Any) -> ReportAnswer:
        return submit(self.syncroom, "crew", self.words(name, state, **more), self.knows(name))

    def intend(self, name: str = "ann", state: str = "still_working", **more: Any) -> ReportAnswer:
        return note_intent(self.syncroom, "crew", self.words(name, state, **more), self.knows(name))

    @property
    def intents(self) -> list[dict[str, Any]]:
        return list(self.syncroom.records.read("crew", INTENTS).values())

    def plan(self, *names: str) -> list[str]:
        return [one.outcome for one in plan(self.syncroom, self.team, self.look(*(names or ("ann",))))]

    def dispatch(self, team: str = "crew") -> list[tuple[str, str]]:
        return [(one.outcome, one.why) for one in dispatch(self.syncroom, team)]

    def round(self, *names: str) -> SyncRound:
        return run_round(self.syncroom, "crew", dict.fromkeys(names or ("ann",), "manual_refresh"))

    def items(self, team: str = "crew") -> list[Nudge]:
        return outbox(self.syncroom, team)

    def nudges(self, name: str = "ann", team: str = "crew") -> list[str]:
        """What the control plane has written to somebody."""
        return [row.text for row in self.room.inboxes.rows(team, name) if row.sender == SENDER]

    # Everything there is.

    def everything(self) -> dict[str, Any]:
        """All files of all parts, to compare before and after."""
        room = self.room
        return {
            "rosters": dict(room.rosters._content),
            "inboxes": {key: [row.raw for row in rows] for key, rows in room.inboxes._rows.items()},
            "ledger": {team: room.ledger.content(team) for team in room.rosters.teams()},
            "spool": dict(room.spool._pending),
            "states": dict(room.states.content),
            "beats": dict(room.presence._beats),
            "tasks": {team: dict(files) for team, files in self.boardroom.tasks.files.items()},
            "history": {team: list(lines) for team, lines in self.boardroom.tasks.lines.items()},
            "records": {place: dict(texts) for place, texts in self.syncroom.records.texts.items()},
            "journal": {team: list(lines) for team, lines in self.syncroom.journal.lines.items()},
            "secrets": dict(self.syncroom.secrets.secrets),
        }

    def changed(self, before: dict[str, Any]) -> list[str]:
        """Which parts are different now."""
        after = self.everything()
        return [part for part in after if after[part] != before[part]]

    def put(self, shelf: str, records: dict[str, Any], team: str = "crew") -> None:
        """Records as somebody else may have written them."""
        self.syncroom.records.texts[team, shelf] = {key: encode(record) for key, record in records.items()}


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def busy_place() -> Place:
    """The same; ann holds #1 and has not been heard of."""
    made = Place()
    made.add("the parser")
    return made
