"""
What the daemon does for sessions: notices that a lead is away, looks after its teammates, and that it is back.

Only teams with a recorded lead session, and only while a daemon lives: its mark goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from atm.board.services.leaving import release_claims
from atm.core.names import is_claudes_team
from atm.crew.services.ending import agents_of, ask_to_end, end_if_over
from atm.files.formats.times import to_iso
from atm.mail.services.posting import Draft
from atm.mail.services.spooling import drain
from atm.sessions.rules import timeouts
from atm.sessions.services.overview import lead_state_of, look_at
from atm.sessions.services.resuming import RESUMED
from atm.sessions.services.teammates import save_all
from atm.sessions.services.telling import NOTICE, tell
from atm.team.formats.lead_fields import away_mark
from atm.team.rules import lifecycle
from atm.team.rules.team import AGENT
from atm.team.services.leading import change_lead, lead_of
from atm.team.services.lifecycle import standing
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.errors import AtmError
    from atm.sessions.services.overview import TeamView
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.team.rules.lead_session import LeadSession
    from atm.team.rules.team import Team

AWAY = "The lead has been away for {:g} min. Go on with your task; mail to teammates waits until it is back."
OVER = "The lead has been away for {:g} min: this team's agents are shut down now. Save your work and end."


@dataclass(slots=True, kw_only=True)
class WatchedLead:
    """What one look at a team led to."""

    team: str
    lead: str = timeouts.HERE
    changed: str = ""
    """`away`, `back` or `over`, at the look at which it becomes so."""
    released: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    delivered: int = 0
    saved: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def watch_lead(desk: SessionRoom, team: str) -> WatchedLead:
    """One look. Everything can be done again: what was told once is not told again."""
    done = WatchedLead(team=team)
    if is_claudes_team(team) or standing(desk.room, team).status != lifecycle.ACTIVE:
        return done
    lead = lead_of(desk.room, team)
    if not lead.session:
        return done
    found = find_team(desk.room, team)
    _, done.lead = lead_state_of(desk, found, lead)
    if done.lead == timeouts.HERE:
        _is_back(desk, found, lead, done)
        return done
    if lead.away_since is None:
        lead = _is_gone(desk, found, lead, done)
        if lead.away_since is None:
            return done  # it came back a moment ago
    if not _is_still_away(desk, team, may_hold_mail=done.lead != timeouts.OVER):
        return done
    if done.lead == timeouts.OVER:
        _end(desk, found, lead, done)
    else:
        _look_after(desk, found, lead, done)
    return done


def _is_still_away(desk: SessionRoom, team: str, *, may_hold_mail: bool) -> bool:
    """
    Then mail waits: marked again in every round, because the mark is that of the daemon that lives.

    Decided where the lead is changed: whoever resumes has taken the mark away, and a look that began before that would
    put it back.
    """
    presence, pid = desk.room.presence, desk.crew.pid
    since = to_iso(desk.clock.now())

    def mark(lead: LeadSession) -> None:
        if may_hold_mail and lead.away_since is not None and not desk.room.rosters.is_lead_away(team):
            desk.room.states.set_lead_away(team, away_mark(since, pid, presence.began(pid), presence.boot))

    return change_lead(desk.room, team, mark).away_since is not None


def _is_gone(desk: SessionRoom, team: Team, seen: LeadSession, done: WatchedLead) -> LeadSession:
    now = desk.clock.now()
    lead = change_lead(desk.room, team.name, lambda lead: replace(lead, away_since=now) if lead == seen else None)
    if lead.away_since is None:
        return lead
    done.changed = "away"
    _tell_all(desk, team, AWAY.format(desk.policy.lead_away / 60), done, NOTICE)
    return lead


def _is_back(desk: SessionRoom, team: Team, lead: LeadSession, done: WatchedLead) -> None:
    """By its heartbeat: it went on without saying so. (`resume` has cleared all of it before.)"""
    desk.room.states.set_lead_away(team.name, None)
    if lead.away_since is None:
        return
    change_lead(desk.room, team.name, lambda lead: replace(lead, away_since=None))
    done.changed = "back"
    done.delivered = drain(desk.room, everything=True).delivered
    _tell_all(desk, find_team(desk.room, team.name), RESUMED, done)


def _look_after(desk: SessionRoom, team: Team, lead: LeadSession, done: WatchedLead) -> None:
    view, now = look_at(desk, team.name, is_marked=True), desk.clock.now()
    away = now - lead.away_since if lead.away_since is not None else 0.0
    _save(desk, view, done)
    for one in view.members:
        if one.kind != AGENT or team.is_lead(one.name) or not one.task:
            continue
        why = timeouts.why_task_returns(away=away, waits=one.waits, idle=one.idle, policy=desk.policy)
        # Saving their work takes its time, and the lead may be back by now.
        if why and lead_of(desk.room, team.name).away_since is not None:
            done.released += release_claims(desk.boardroom, team.name, one.name, "", why, only=one.task)


def _end(desk: SessionRoom, team: Team, lead: LeadSession, done: WatchedLead) -> None:
    """
    The bound: agents of ours are asked to end, others are told. Once. Who finishes its task first is looked at again in
    the next round: nobody waits here.
    """
    for record in agents_of(desk.crew, team.name):
        if not record.asked_at:
            ask_to_end(desk.crew, record, NOTICE)
        elif (ended := end_if_over(desk.crew, record)) is not None:
            done.ended.append(ended.member)
    if team.lead_is_away:
        _save(desk, look_at(desk, team.name, is_marked=True), done)
        done.changed = "over"
        away = (desk.clock.now() - (lead.away_since or 0.0)) / 60
        _tell_all(desk, team, OVER.format(round(away)), done, NOTICE)
    desk.room.states.set_lead_away(team.name, None)
    done.delivered = drain(desk.room, everything=True).delivered


def _save(desk: SessionRoom, view: TeamView, done: WatchedLead) -> None:
    def note(name: str, error: AtmError) -> None:
        done.troubles.append(f"the work of {name} could not be saved: {error}")

    done.saved = [name for name, made in save_all(desk, view, note).items() if made.salvage]


def _tell_all(desk: SessionRoom, team: Team, text: str, done: WatchedLead, sender: str = "") -> None:
    names = [member.name for member in team.members if member.kind == AGENT and not team.is_lead(member.name)]
    tell(desk, team.name, names, Draft(sender=sender or team.lead, text=text), done.troubles.append)
