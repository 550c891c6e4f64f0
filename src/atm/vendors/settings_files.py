"""
Where what is ours goes in the vendors' settings files, and the entries that belong there.

A hook of ours is known by its command, `… atm hook VENDOR EVENT`, so that a program that moved is put right instead of
entered twice.
"""

from __future__ import annotations

import re
import shlex

from atm.core.errors import NoHome
from atm.vendors.hooks import HOOK_SECONDS, PERMIT_SECONDS
from atm.vendors.known import every, get, hooks_of
from atm.vendors.server_entries import is_atm
from atm.vendors.settings import (
    FAIL_CLOSED,
    LONGEST_COMMAND,
    PERMIT,
    PROJECT,
    ConfigFile,
    HookEntry,
    OurCommand,
    SettingsOf,
    SettingsRow,
    Surroundings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.vendor import Vendor


def clients() -> dict[str, Vendor]:
    """Those that `atm mcp install` knows."""
    return {vendor.name: vendor for vendor in every() if vendor.settings is not None}


def with_hooks_of_ours() -> dict[str, Vendor]:
    """Those that `atm init` sets up."""
    return {name: vendor for name, vendor in clients().items() if not settings_of(name).is_editor}


def settings_of(name: str) -> SettingsOf:
    """Of one of `clients`."""
    vendor = get(name)
    found = vendor.settings if vendor is not None else None
    if found is None:
        raise KeyError(name)
    return found


def files_of(vendor: str, scope: str, around: Surroundings) -> tuple[ConfigFile, ...]:
    """Where what is ours goes in a vendor's files."""
    known = settings_of(vendor)
    if scope == PROJECT:
        return tuple(_file(vendor, row, around.project, within=around.project) for row in known.project)
    return tuple(_file(vendor, row, (row.root or known.root)(around)) for row in known.user)


def _file(vendor: str, row: SettingsRow, root: str, within: str = "") -> ConfigFile:
    if not root:
        raise NoHome(
            f"HOME is not set, so there is no folder for the settings of {clients()[vendor].title}",
            "set HOME, or use --project",
        )
    whole = f"{root}/{row.path}"
    instead = f"{whole.rpartition('/')[0]}/{row.instead}" if row.instead else ""
    return ConfigFile(whole, vendor, row.kinds, within, instead, is_private=row.is_private)


def entries_for(vendor: str, program: tuple[str, ...], *, permits: bool = False) -> tuple[HookEntry, ...]:
    table = hooks_of(vendor)
    hooks = tuple(
        HookEntry(event, hook_command(program, vendor, event), HOOK_SECONDS * table.unit) for event in table.entered
    )
    if not permits:
        return hooks
    longest = PERMIT_SECONDS * table.unit
    return hooks + tuple(HookEntry(event, _permit_command(program, vendor, event), longest) for event in table.permits)


def _permit_command(program: tuple[str, ...], vendor: str, event: str) -> str:
    return " ".join([*map(_quoted, program), PERMIT, vendor, event]) + FAIL_CLOSED


def hook_command(program: tuple[str, ...], vendor: str, event: str) -> str:
    return " ".join([*map(_quoted, program), "hook", vendor, event]) + hooks_of(vendor).unless


def _quoted(word: str) -> str:
    """Double quotes where they do: they mean the same to sh and to cmd."""
    plain = shlex.quote(word)
    return plain if plain == word or any(c in word for c in '"$`\\!%') else f'"{word}"'


_COMMAND = re.compile(
    r"(?P<leading>\s*(?:[A-Za-z_]\w*=\S*\s+)*)(?P<program>\S.*?)\s+(?P<verb>hook|permit)\s+(?P<vendor>\w+)\s+(?P<event>\w+)(?P<trailing>(?:\s.*)?)",
    re.DOTALL,
)


def our_command(command: object) -> OurCommand | None:
    """The parts of a command line that is one of our hooks; None if it is another program's."""
    if not isinstance(command, str) or len(command) > LONGEST_COMMAND:
        return None
    found = _COMMAND.fullmatch(command)
    if found is None:
        return None
    try:
        program = shlex.split(found["program"])
    except ValueError:
        return None  # quotes that do not close
    if not is_atm(program) or not _has_hooks(found["vendor"]):
        return None
    parts = (found["vendor"], found["event"], found["trailing"], found["verb"])
    return OurCommand(found["leading"], tuple(program), *parts)


def _has_hooks(name: str) -> bool:
    vendor = get(name)
    return vendor is not None and vendor.name == name and vendor.hooks is not None
