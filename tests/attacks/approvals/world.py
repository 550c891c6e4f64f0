"""A team over real files whose agents ask, with a disk that may fail and a clock that waits in no time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from atm import config
from atm.approvals.adapters import ApprovalFiles
from atm.approvals.rules.calls import AgentCall
from atm.approvals.rules.policy import Policy, PolicyLayer
from atm.approvals.rules.requests import Approval
from atm.approvals.services.approvalroom import Approvalroom
from atm.approvals.services.asking import ask, judged
from atm.approvals.services.permitting import CallingMember, Permission, permit
from atm.files.adapters.machine import find_layout
from atm.files.ports.clock import Clock
from atm.files.ports.disk import Disk
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import FakeClock, QuickDisk
from atm.wiring.board import build_boardroom
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room


def make_team(home: Path) -> None:
    room = build_room(find_layout({"ATM_HOME": str(home)}), disk=QuickDisk())
    create_team(room, "crew")
    for member in (Member("bob"), Member("hugo", backend="human")):
        add_member(room, "crew", member)


class ApprovalWorld:
    """What one process sees of it."""

    def __init__(
        self, home: Path, disk: Disk | None = None, now: float | None = None, clock: Clock | None = None
    ) -> None:
        layout = find_layout({"ATM_HOME": str(home)})
        clock = clock or FakeClock(time.time() if now is None else now)
        disk, settings = disk or QuickDisk(), config.load(layout, {}, str(home), {})
        self.mail = build_room(layout, disk=disk, clock=clock)
        self.folder = Path(layout.approvals("crew"))
        self.store = ApprovalFiles(disk, build_locks(layout, disk, clock), layout, self.mail.secrets)
        self.room = Approvalroom(
            room=self.mail,
            boardroom=lambda: build_boardroom(layout, settings, self.mail),
            approvals=self.store,
            policy=Policy(PolicyLayer("mine", [], "ask-human")),
            real=lambda path: path,
            pid=7,
            hook=0,
        )

    def call(self, command: str = "git push", **more: Any) -> AgentCall:
        return AgentCall("Bash", command=command, folder="/w", root="/w", **more)

    def ask(self, command: str = "git push") -> Approval:
        understood, verdict = judged(self.room, self.call(command))
        return ask(self.room, self.mail.rosters.load("crew"), "bob", understood, verdict)

    def permit(self, call_id: str = "") -> Permission:
        return permit(self.room, CallingMember(self.mail.rosters.load("crew"), "bob"), self.call(call_id=call_id))
