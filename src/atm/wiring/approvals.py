"""Approvals over real files and settings."""

from __future__ import annotations

import os

from atm.domain.approvals.policy import Policy, PolicyLayer
from atm.formats.approvals.rules import read_layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.config import Settings
    from atm.formats.files.layout import Layout
    from atm.formats.files.settings_text import Value
    from atm.services.approvals.approvalroom import Approvalroom
    from atm.services.board.boardroom import Boardroom
    from atm.services.mail.mailroom import Mailroom

LONGEST_WAIT = 570.0
"""Seconds that a permission hook may wait: vendors give it 600, and some let the call run after that."""


def build_approval_policy(layout: Layout, settings: Settings) -> Policy:
    said = [*settings.policies, *((path, False, more) for path, more in _files_above(layout, settings))]
    layers = [(own, read_layer(path, policy)) for path, own, policy in said]
    mine = next((layer for own, layer in layers if own), PolicyLayer(""))
    return Policy(mine, [layer for own, layer in layers if not own])


def _files_above(layout: Layout, settings: Settings) -> Iterator[tuple[str, dict[str, Value]]]:
    """What files further up in the repository say: whoever puts another one below them takes nothing back."""
    if settings.repo_file is None:
        return
    from atm import config
    from atm.config import known
    from atm.formats.files.layout import REPO_FILES

    folder, root = settings.repo_file, settings.root.rstrip("/")
    while len(folder) > len(root):
        folder = folder.rpartition("/")[0]
        for path in (f"{folder}/{name}" for name in REPO_FILES):
            if path != settings.repo_file and os.path.isfile(path):
                values = config.read_repository(layout, path).values
                yield path, {key: values[key] for key in known.POLICY if key in values}


def has_own_policy(settings: Settings) -> bool:
    """Has the user written any?"""
    return any(own for _, own, _ in settings.policies)


def needs_hooks(settings: Settings, *, project: bool) -> bool:
    """Is there anything that permission hooks could enforce: for the user everywhere, or in this project?"""
    return has_own_policy(settings) or settings.yes("crew.delegate") or (project and bool(settings.policies))


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
        policy=build_approval_policy(layout, settings),
        real=os.path.realpath,
        pid=os.getpid(),
        home=os.path.expanduser("~"),
        expire=settings.number("approvals.expire_minutes") * 60,
        valid=settings.number("approvals.valid_minutes") * 60,
        hook=min(settings.number("approvals.hook_seconds"), LONGEST_WAIT),
    )
