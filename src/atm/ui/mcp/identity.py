"""
Who is calling and what they may do: from the launcher and the roster, never from an argument of a tool.

The launcher names a team, a member and perhaps a role, by the flags of `atm mcp`, its environment, the settings of the
folder, or a token. The roster has the last word, at the beginning and again at every call, because people join, leave
and lose the lead while a connection lasts.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from atm import config
from atm.core.errors import BadSetting, NoSuchTeam, UsageError
from atm.core.names import check_known_name, check_sender
from atm.team.services.choosing import only_team
from atm.team.services.standing import check_speaker, is_boss, record_agent
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.serving.roles import OBSERVER, ROLES, allowed_role, asked_role, is_the_persons, launched_with
from atm.ui.mcp.tool import BOSSES
from atm.wiring.delivery import meet_terminal

if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.team.rules.team import Team
    from atm.ui.mcp.hello import IdentityClaim

LARGEST_SETTINGS = 1 << 20
FROM_LAUNCHER, FROM_TOKEN, NOBODY = "environment", "token", "nobody"


def admit(
    layout: Layout, claim: IdentityClaim, *, has_daemon: bool, source: str = FROM_LAUNCHER, pid: int | None = None
) -> Caller:
    """
    The caller of a new connection. Raises AtmError for names that nobody may bear, for broken settings, and for a role
    that the process at the other end (`pid`) does not have, because it runs under another member's (D26).
    """
    if claim.role and claim.role not in ROLES:
        raise UsageError(f"there is no role {claim.role[:40]!r}", f"use one of {', '.join(ROLES)}, or none")
    _check_settings_file(claim.config)
    settings = config.load(layout, launched_with(claim), claim.folder or "/", {})
    identity = settings.setting("core.identity")
    # The default identity is the person at a terminal; an agent whose launcher names nobody is nobody.
    member = settings.text("core.identity") if identity.origin != "default" else ""
    caller = Caller(
        layout,
        settings,
        team=settings.text("core.default_team"),
        member=member,
        role=OBSERVER,
        source=source if member else NOBODY,
        has_daemon=has_daemon,
    )
    caller.pid, caller.folder = pid, claim.folder
    _check_names(caller)
    team = settle_role(caller, asked_role(settings, claim.role))
    if caller.member and is_the_persons(settings, team, claim.role):
        caller.member, caller.source, caller.role = "", NOBODY, OBSERVER
    if team is not None and caller.role != OBSERVER:
        _check_process(caller, team)
    known = team.member(caller.member) if team is not None and caller.member else None
    caller.joined_at = known.joined_at if known is not None else None
    return caller


def _check_process(caller: Caller, team: Team) -> None:
    """In an agent's process only that agent has a server; and whoever has one is known by it."""
    if caller.role in BOSSES:
        is_boss(caller.room, team, caller.member)
    elif caller.pid is not None:
        check_speaker(caller.room, team.name, caller.member)
    if caller.pid is not None and team.member(caller.member) is not None:
        agent = record_agent(caller.room, team, caller.member, caller.pid)
        if agent is not None:
            meet_terminal(caller.room, team, caller.member, agent)


def _check_settings_file(path: str) -> None:
    """It is opened here, in the daemon, where `/dev/stdin` is another one and `/dev/zero` has no end."""
    if not path:
        return
    try:
        found = os.stat(path)
    except OSError as error:
        raise BadSetting(f"{path}: {error.strerror}", "check the path, or unset ATM_CONFIG", path) from None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_SETTINGS:
        raise BadSetting(f"{path} is no settings file", "name a file, or unset ATM_CONFIG", path)


def _check_names(caller: Caller) -> None:
    if caller.member:
        check_sender(caller.member)
    if caller.team:
        check_known_name(caller.team, "team")


def settle_role(caller: Caller, asked: str) -> Team | None:
    """Bring team, name and role up to date with the roster, which is returned."""
    caller.team = caller.team or only_team(caller.room)
    team = _roster(caller)
    member = team.member(caller.member) if team is not None and caller.member else None
    if team is not None:
        caller.team = team.name
    if member is not None:
        caller.member = member.name
    caller.role = allowed_role(team, caller.member, asked)
    return team


def _roster(caller: Caller) -> Team | None:
    try:
        return caller.roster() if caller.team else None
    except NoSuchTeam:
        return None
