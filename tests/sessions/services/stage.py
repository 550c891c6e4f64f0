"""A team of three, led by ann, in memory; and time in hand."""

from __future__ import annotations

from typing import Any

from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.crew.services.crewroom import CrewPolicy
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.sessions.rules.policy import SessionPolicy
from atm.sessions.services.sessionroom import SessionCaller
from atm.team.rules.team import Member
from atm.team.services.presence import beat
from atm.testing.agents import memory_crewroom
from atm.testing.rooms import memory_boardroom
from atm.testing.sessions import memory_sessionroom

MINUTE = 60.0


class SessionStage:
    """`desk` is the room of the session that asks; `as_session` sits another one down at it."""

    def __init__(self, policy: SessionPolicy | None = None) -> None:
        boardroom = memory_boardroom()
        self.room: Any = boardroom.room
        self.boardroom: Any = boardroom
        create_team(self.room, "crew", lead="ann")
        for name in ("bob", "cat"):
            add_member(self.room, "crew", Member(name))
        self.crew: Any = memory_crewroom(boardroom, policy=CrewPolicy(shutdown=1.0, gone=0.5))
        self.desk: Any = memory_sessionroom(self.crew, policy=policy)
        presence: Any = boardroom.room.presence
        presence.running.add(self.crew.pid)

    def as_session(self, session: str) -> Any:
        self.desk.caller = SessionCaller(session=session, folder="/r")
        return self.desk

    def later(self, seconds: float) -> None:
        self.room.clock.pass_time(seconds)
        self.room.presence.up_for += seconds

    def alive(self, *names: str, state: str = "working", pid: int | None = None) -> None:
        for name in names:
            team, now = self.room.rosters.load("crew"), self.room.clock.now()
            beat(self.room.presence, team, name, now, "test", state=state, pid=pid)

    def task(self, subject: str, owner: str = "", **facts: Any) -> str:
        id: str = planning.add(self.boardroom, "crew", "ann", [NewTask(subject, **facts)]).tasks[0].id
        if owner:
            working.claim(self.boardroom, "crew", owner, id)
        return id

    def done(self, id: str, who: str) -> None:
        working.complete(self.boardroom, "crew", who, id)

    def say(self, sender: str, to: str, text: str = "hello", **facts: Any) -> Any:
        return send(self.room, "crew", to, Draft(sender=sender, text=text, **facts))

    def inbox(self, name: str) -> list[str]:
        return [row.text for row in self.room.inboxes.rows("crew", name)]

    def card(self, id: str) -> Any:
        return self.boardroom.tasks.board("crew").card(id)
