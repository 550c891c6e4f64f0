"""In whose name a tool acts: always the connection's, looked up in the roster at every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.services.boardroom import SERVER_SOURCE
from atm.core.errors import NoSuchMember, NoSuchTeam, NotAllowed
from atm.core.names import check_sender, same_name
from atm.mail.services.mailroom import recipient_in
from atm.team.rules.team import is_human
from atm.team.services.presence import beat, last_beat
from atm.team.services.standing import is_proven_boss
from atm.ui.mcp.serving.roles import OBSERVER
from atm.ui.mcp.tool import BOSSES

if TYPE_CHECKING:
    from atm.mail.services.mailroom import Recipient
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller

BEAT_EVERY = 30.0
"""Seconds between two heartbeats that say the same."""

GRAIN = 0.01
"""Seconds by which one of this moment may lie ahead: its time was rounded. Further ahead, a clock was set back."""


def home(caller: Caller) -> Team:
    """The connection's team. For whoever has left there is none, once another has that name: all of it is theirs."""
    if not caller.team:
        raise NoSuchTeam("this connection belongs to no team", "start the server with `atm mcp --team NAME`")
    team = caller.roster()
    member = team.member(caller.member) if caller.member and caller.joined_at is not None else None
    if member is not None and member.joined_at != caller.joined_at:
        said = f"{caller.member!r} has left, and another has that name now"
        raise NoSuchMember(said, "start the server anew", team.read_from)
    return team


def actor(caller: Caller) -> tuple[Team, str]:
    """The team, and who acts, as the roster spells the name. Who has left the team cannot act any more."""
    team = home(caller)
    if not caller.member or caller.role == OBSERVER:
        raise NotAllowed("an observer changes nothing", "start the server with `atm mcp --as NAME`")
    name = check_sender(caller.member)
    member = team.member(name)
    if member is not None:
        return team, member.name
    if same_name(name, team.lead) or is_human(team, name):
        return team, name
    raise NoSuchMember(f"{name!r} is not in team {team.name!r} any more", "ask the lead", team.read_from)


def mailbox(caller: Caller) -> Recipient:
    """The caller's own inbox."""
    team, me = actor(caller)
    return recipient_in(caller.room, team, me)


def leads(caller: Caller, team: Team) -> bool:
    """May the caller look into what belongs to others? Both the connection and the roster must say so (G8)."""
    return caller.role in BOSSES and bool(caller.member) and is_proven_boss(caller.room, team, caller.member)


def sign(caller: Caller, team: Team, me: str) -> None:
    """Whoever calls a tool that changes something is there; the trace says so, unless the verb has left it."""
    if team.completed or team.member(me) is None:
        return
    presence, now = caller.room.presence, caller.room.clock.now()
    last = last_beat(presence, team, me, now)
    if last is not None and last.source == SERVER_SOURCE and -GRAIN <= now - last.at < BEAT_EVERY:
        return
    beat(presence, team, me, now, SERVER_SOURCE)
