"""Settings of ours and of agent programs, and where we are."""

from __future__ import annotations

from atm.files.adapters.machine import host_name
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.setup.ports import VendorFiles
    from atm.setup.rules.context import SystemContext
    from atm.setup.rules.installation import Installation


def build_vendor_files(layout: Layout, environment: Mapping[str, str], settings: Settings) -> VendorFiles:
    """The settings files of agent CLIs, for `atm init`."""
    from atm.setup.adapters.vendor_files import VendorFilesOnDisk
    from atm.wiring.approvals import needs_hooks

    locks = build_locks(layout)
    return VendorFilesOnDisk(locks, layout, environment, permits=lambda project: needs_hooks(settings, project=project))


def build_context(layout: Layout, settings: Settings, environment: Mapping[str, str], folder: str) -> SystemContext:
    """Where we are. Asks Claude Code for its version, so it is built for the commands that show it."""
    import sys

    from atm.setup.adapters.remote import find_repo
    from atm.setup.rules.context import SystemContext
    from atm.vendors.claude.installed import detect

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
    from atm.setup.adapters.installation import read_installation as read

    return read()


def has_extra(extra: str) -> bool:
    """Is this part of atm installed?"""
    from atm.setup.adapters.installation import has_extra as has

    return has(extra)


def name_of_person() -> str:
    """Who sits here, as a member's name: by their own git settings, else by their login. Empty if neither will do."""
    from atm.core.names import as_new_name
    from atm.files.adapters.machine import login_name
    from atm.git.adapters.asking import users_own_name

    return as_new_name(users_own_name()) or as_new_name(login_name())
