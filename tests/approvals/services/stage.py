"""A team in memory whose agents ask: bob asks, the lead and `human` answer, and time passes when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atm.approvals.rules.calls import AgentCall
from atm.approvals.rules.policy import Policy, PolicyLayer, Rule
from atm.approvals.rules.requests import Approval
from atm.approvals.services.approvalroom import Approvalroom
from atm.approvals.services.asking import ask, judged
from atm.approvals.services.permitting import CallingMember, Permission, permit
from atm.mail.services.reading import Filter, peek
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import FakeClock, memory_boardroom, memory_room
from atm.testing.approvals import MemoryApprovals
from atm.testing.team import MemoryRosters

LEAD = "team-lead"
FOLDER = "/w"


def rule(decision: str, number: int = 1, **patterns: str) -> Rule:
    return Rule(decision, {key: [said] for key, said in patterns.items()}, "mine", number)


class ApprovalStage:
    """The rooms, and what is done in them by their members."""

    def __init__(self, *rules: Rule, default: str = "allow") -> None:
        room = memory_room()
        create_team(room, "crew", lead=LEAD)
        for member in (Member(LEAD), Member("ann"), Member("bob"), Member("hugo", backend="human")):
            if room.rosters.load("crew").member(member.name) is None:
                add_member(room, "crew", member)
        assert isinstance(room.rosters, MemoryRosters)
        assert isinstance(room.clock, FakeClock)
        self.mail: Teamroom = room
        self.clock: FakeClock = room.clock
        self.board: FullBoardroom = memory_boardroom(room)
        self.store = MemoryApprovals(room.rosters)
        self.room = Approvalroom(
            room=room,
            boardroom=lambda: self.board,
            approvals=self.store,
            policy=Policy(PolicyLayer("mine", rules, default)),
            real=lambda path: path,
            pid=7,
        )

    @property
    def team(self) -> Any:
        return self.mail.rosters.load("crew")

    def call(self, command: str = "git push", tool: str = "Bash", call_id: str = "", **more: Any) -> AgentCall:
        return AgentCall(tool, command=command, folder=FOLDER, root=FOLDER, call_id=call_id, **more)

    def ask(self, command: str = "git push", who: str = "bob", **more: Any) -> Approval:
        understood, verdict = judged(self.room, self.call(command))
        return ask(self.room, self.team, who, understood, verdict, **more)

    def permit(self, call: AgentCall | None = None, who: str = "bob", **more: Any) -> Permission:
        second = more.pop("is_second", False)
        return permit(self.room, CallingMember(self.team, who, **more), call or self.call(), is_second=second)

    def while_waiting(self, act: Callable[[], object]) -> None:
        """Somebody does that while the next one waits."""
        waiting = [act]

        def sleep(seconds: float) -> None:
            if waiting:
                waiting.pop()()
            self.clock.pass_time(seconds)

        self.clock.sleep = sleep  # type: ignore[method-assign]

    @property
    def events(self) -> list[object]:
        return [line["event"] for line in self.store.audit("crew")]

    def inbox(self, name: str) -> list[str]:
        return [message.text for message in peek(self.mail, "crew", name, Filter(everything=True)).messages]
