"""Approvals over real files and settings."""

from __future__ import annotations

import os

from atm.domain.approvals.policy import Policy, PolicyLayer
from atm.formats.approvals.rules import read_layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.config import Settings
    from atm.formats.files.layout import Layout
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.services.board.boardroom import Boardroom
    from atm.services.mail.mailroom import Mailroom

LONGEST_WAIT = 570.0
"""Seconds that a permission hook may wait: vendors give it 600, and some let the call run after that."""


def build_approval_policy(settings: Settings) -> Policy:
    layers = [(own, read_layer(path, said)) for path, own, said in settings.policies]
    mine = next((layer for own, layer in layers if own), PolicyLayer(""))
    return Policy(mine, [layer for own, layer in layers if not own])


def has_policy(settings: Settings) -> bool:
    """Is there anything that permission hooks could enforce?"""
    return bool(settings.policies) or settings.yes("crew.delegate")


def build_approvalroom(
    layout: Layout, settings: Settings, room: Mailroom, boardroom: Callable[[], Boardroom]
) -> Approvalroom:
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.system.approvals import ApprovalFiles
    from atm.system.files.disk import RealDisk
    from atm.wiring.files import build_locks

    disk = RealDisk(layout.private_roots)
    return Approvalroom(
        room=room,
        boardroom=boardroom,
        approvals=ApprovalFiles(disk, build_locks(layout, disk, room.clock), layout, room.secrets),
        policy=build_approval_policy(settings),
        real=os.path.realpath,
        pid=os.getpid(),
        home=os.path.expanduser("~"),
        expire=settings.number("approvals.expire_minutes") * 60,
        valid=settings.number("approvals.valid_minutes") * 60,
        hook=min(settings.number("approvals.hook_seconds"), LONGEST_WAIT),
    )
