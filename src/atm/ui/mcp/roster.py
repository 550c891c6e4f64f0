"""The tool about the team: how it stands and who is there. Every state has its source and age (G10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.core.names import same_name
from atm.snapshot.services.members import facts_of_all, member_facts
from atm.team.services.lifecycle import standing
from atm.ui.mcp.actor import home
from atm.ui.mcp.board.view import counts
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import count, gives, listed, takes, text, whole
from atm.ui.mcp.tool import EVERYBODY
from atm.ui.mcp.wording import LONGEST_LINE, known, line

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.team import Member, Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

MOST_MEMBERS = 50
UNTOLD = ("backend", "cwd")
"""What no model need know of its teammates."""

LONGEST = {"name": 128, "type": 64, "model": 64, "state": 40}


def _member(caller: Caller, team: Team, member: Member) -> dict[str, Plain]:
    """The same facts as everywhere; every text in them is somebody's."""
    said = member_facts(caller.room, team, member).fields()
    shown = {key: value for key, value in said.items() if key not in UNTOLD}
    told = {key: value for key, value in shown.items() if value is not None or key.endswith("_seconds")}
    return {
        key: line(value, LONGEST.get(key, LONGEST_LINE)) if isinstance(value, str) else value
        for key, value in told.items()
    }


def _status(caller: Caller, given: Given) -> dict[str, Plain]:
    team = home(caller)
    found = standing(caller.room, team.name)
    offset, limit = given.whole("offset"), given.whole("limit", 20)
    members: list[Plain] = [_member(caller, team, member) for member in team.members[offset : offset + limit]]
    more: dict[str, Plain] = {"next_offset": offset + limit} if len(team.members) > offset + limit else {}
    alive: dict[str, Plain] = {}
    for value in (one.activity.liveness.value for one in facts_of_all(caller.room, team)):
        alive[value] = int(str(alive.get(value, 0))) + 1
    waiting = sum(same_name(spooled.entry.team, team.name) for spooled in caller.room.spool.pending())
    return {
        "team": team.name,
        "lead": line(team.lead, 128),
        **known({"description": line(team.description)}),
        "status": found.status,
        "status_source": line(found.source),
        **known({"status_since": line(found.since, 40)}),
        "liveness": alive,
        "tasks": counts(caller.boardroom.tasks.board(team.name)),
        "mail_waiting_in_spool": waiting,
        "total": len(team.members),
        "members": members,
        **more,
    }


OBJECT = {"type": "object"}

TOOLS = (
    define(
        "team_status",
        "Status",
        "The team: its life, tasks by state, what each member was doing and whether it is there.",
        _status,
        takes=takes(optional={"limit": whole(least=1, most=MOST_MEMBERS), "offset": whole()}),
        gives=gives(
            {"team": text(), "status": text(), "liveness": OBJECT, "tasks": OBJECT, "members": listed(OBJECT)},
            {"next_offset": count()},
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
)
