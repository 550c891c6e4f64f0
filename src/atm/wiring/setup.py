"""Settings of ours and of agent programs, and where we are."""

from __future__ import annotations

from atm.system.machine import host_name
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.domain.setup.context import SystemContext
    from atm.domain.setup.installation import Installation
    from atm.formats.files.layout import Layout
    from atm.ports.setup import VendorFiles


def build_vendor_files(layout: Layout, environment: Mapping[str, str], settings: Settings) -> VendorFiles:
    """The settings files of agent CLIs, for `atm init`."""
    from atm.system.setup.vendor_files import VendorFilesOnDisk
    from atm.wiring.approvals import needs_hooks

    locks = build_locks(layout)
    return VendorFilesOnDisk(locks, layout, environment, permits=lambda project: needs_hooks(settings, project=project))


def build_context(layout: Layout, settings: Settings, environment: Mapping[str, str], folder: str) -> SystemContext:
    """Where we are. Asks Claude Code for its version, so it is built for the commands that show it."""
    import sys

    from atm.domain.setup.context import SystemContext
    from atm.system.setup.claude_code import detect
    from atm.system.setup.remote import find_repo

    return SystemContext(
        hostname=host_name(),
        platform={"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "Linux"),
        claude_root=layout.claude_root,
        root=settings.root,
        schema_version=detect(layout, environment),
        repo=find_repo(folder),
        default_team=settings.text("core.default_team"),
    )


def read_installation() -> Installation:
    """How this atm was installed, for the hints that name a command of its installer."""
    from atm.system.setup.installation import read_installation as read

    return read()


def has_extra(extra: str) -> bool:
    """Is this part of atm installed?"""
    from atm.system.setup.installation import has_extra as has

    return has(extra)


def name_of_person() -> str:
    """Who sits here, as a member's name: by their own git settings, else by their login. Empty if neither will do."""
    from atm.domain.names import as_new_name
    from atm.system.git.asking import users_own_name
    from atm.system.machine import login_name

    return as_new_name(users_own_name()) or as_new_name(login_name())
