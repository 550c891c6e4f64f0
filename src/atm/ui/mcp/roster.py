"""Tools about the team: who is there, how it stands, who you are. Every state has its source and age (G10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm import __version__
from atm.domain.names import same_name
from atm.services.mail.surfacing import unread_for
from atm.services.snapshot.members import facts_of_all, member_facts
from atm.services.team.lifecycle import standing
from atm.ui.mcp.actor import home
from atm.ui.mcp.board.view import counts, preview
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import count, gives, listed, takes, text, whole
from atm.ui.mcp.serving.roles import OBSERVER
from atm.ui.mcp.tool import EVERYBODY
from atm.ui.mcp.wording import LONGEST_LINE, known, line

if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.domain.team.team import Member, Team
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

MOST_MEMBERS = 50
MOST_TASKS = 5
UNTOLD = ("backend", "cwd")
"""What no model need know of its teammates."""

LONGEST = {"name": 128, "type": 64, "model": 64, "state": 40}


def _members(caller: Caller, given: Given) -> dict[str, Plain]:
    team = home(caller)
    offset, limit = given.whole("offset"), given.whole("limit", 20)
    shown = team.members[offset : offset + limit]
    more: dict[str, Plain] = {"next_offset": offset + limit} if len(team.members) > offset + limit else {}
    members: list[Plain] = [_member(caller, team, member) for member in shown]
    return {"team": team.name, "lead": line(team.lead, 128), "total": len(team.members), "members": members, **more}


def _member(caller: Caller, team: Team, member: Member) -> dict[str, Plain]:
    """The same facts as everywhere; every text in them is somebody's."""
    said = member_facts(caller.room, team, member).fields()
    shown = {key: value for key, value in said.items() if key not in UNTOLD}
    told = {key: value for key, value in shown.items() if value is not None or key.endswith("_seconds")}
    return {
        key: line(value, LONGEST.get(key, LONGEST_LINE)) if isinstance(value, str) else value
        for key, value in told.items()
    }


def _status(caller: Caller, _: Given) -> dict[str, Plain]:
    team = home(caller)
    found = standing(caller.room, team.name)
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
        "members": len(team.members),
        "liveness": alive,
        "tasks": counts(caller.boardroom.tasks.board(team.name)),
        "mail_waiting_in_spool": waiting,
    }


def _whoami(caller: Caller, _: Given) -> dict[str, Plain]:
    """What the connection is, also if it is no member's: nothing here fails for want of a name."""
    result: dict[str, Plain] = {
        "role": caller.role,
        "source": caller.source,
        "daemon": caller.has_daemon,
        "version": __version__,
    }
    if not caller.team:
        return result
    team = home(caller)
    result |= {"team": team.name, "lead": line(team.lead, 128)}
    member = team.member(caller.member) if caller.member else None
    if caller.member and caller.role != OBSERVER:
        result["member"] = member.name if member is not None else caller.member
        result["tasks"] = _own_tasks(caller, team)
    if member is not None:
        result["unread"] = len(unread_for(caller.room, team.name, member.name))
    return result


def _own_tasks(caller: Caller, team: Team) -> list[Plain]:
    board = caller.boardroom.tasks.board(team.name)
    mine = [card for card in board.sorted() if same_name(card.owner, caller.member) and not card.is_finished]
    return [preview(card, board) for card in mine[:MOST_TASKS]]


OBJECT = {"type": "object"}

TOOLS = (
    define(
        "team_members",
        "Members",
        "Members: what each was doing (state) and whether it is there (liveness), with source and age.",
        _members,
        takes=takes(
            optional={"limit": whole("default 20", least=1, most=MOST_MEMBERS), "offset": whole()},
        ),
        gives=gives(
            {"team": text(), "lead": text(), "total": count(), "members": listed(OBJECT)}, {"next_offset": count()}
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "team_status",
        "Status",
        "The team at a glance: its life, members by liveness, tasks by state.",
        _status,
        gives=gives({"team": text(), "status": text(), "liveness": OBJECT, "tasks": OBJECT}),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "whoami",
        "Who am I",
        "Your name, role and team, your unread mail and your open tasks.",
        _whoami,
        gives=gives({"role": text()}, {"team": text(), "member": text(), "unread": count()}),
        group="team",
        roles=EVERYBODY,
        reads_only=True,
    ),
)
