"""`atm session list`, `show`, `review` and `history`."""

from __future__ import annotations

from atm.core.untrusted_text import one_line, shell_words
from atm.core.work_errors import BadMove
from atm.sessions.services.listing import TeamLine, list_teams
from atm.sessions.services.overview import look_at
from atm.sessions.services.restoring import repository_for
from atm.team.rules.lifecycle import COMPLETE
from atm.team.services.lifecycle import standing, team_id
from atm.ui.cli.render import when_epoch
from atm.ui.cli.sessions.desk import open_desk, team_named
from atm.ui.cli.sessions.views import iso, team_words, view_json
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

NOTHING = 3


def run(args: Args, session: Session) -> int:
    desk = open_desk(args, session)
    if args.command.name == "session list":
        return _list(args, session, desk)
    team = team_named(args, desk)
    return {"session show": _show, "session review": _review, "session history": _history}[args.command.name](
        args, session, desk, team
    )


def _list(args: Args, session: Session, desk: SessionRoom) -> int:
    found = [one for one in list_teams(desk, all=args.flag("all")) if args.may_mean(one.team)]
    if session.as_json:
        session.print_json({"action": "session list", "teams": [_line_json(one) for one in found]})
    elif found:
        rows = [_line_cells(session, one) for one in found]
        session.print("\n".join(table(["Team", "Status", "Lead", "Last seen", "Online"], rows, drop=(2, 4))))
        dormant = next((one.team for one in found if one.is_dormant), "")
        if dormant:
            session.print(f"\nresume one: atm session resume {shell_words(dormant)}")
    else:
        session.print("No team waits for its lead. See the others with --all.")
    return 0 if found else NOTHING


def _line_cells(session: Session, one: TeamLine) -> list[str]:
    seen = when_epoch(session, one.last_seen) if one.last_seen is not None else "never"
    lead = one_line(one.trouble or one.session or one.lead)
    return [one_line(one.team), one.status, lead, seen, f"{one.online} of {one.members}"]


def _line_json(one: TeamLine) -> dict[str, object]:
    facts: dict[str, object] = {
        "team": one.team,
        "team_id": one.id,
        "status": one.status,
        "lead": one.lead,
        "session": one.session or None,
        "last_seen": iso(one.last_seen),
        "members": one.members,
        "online": one.online,
        "dormant": one.is_dormant,
    }
    return {**facts, "trouble": one.trouble} if one.trouble else facts


def _show(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    view = look_at(desk, team)
    lead = {
        "member": view.team.lead,
        "session": view.lead.session or None,
        "session_old": view.lead.former or None,
        "last_seen": iso(view.lead.last_seen),
        "away_since": iso(view.lead.away_since),
        "state": view.lead_state,
    }
    head: dict[str, object] = {"action": args.command.name, "team": team, "team_id": team_id(session.room, view.team)}
    if session.as_json:
        session.print_json({**head, "status": view.standing.status, "lead": lead, **view_json(view)})
        return 0
    led = f"led by {one_line(view.lead.session)}" if view.lead.session else "nobody has led it yet"
    state = f"; the lead is {view.lead_state}" if view.lead.session else ""
    session.print(f"{one_line(team)} is {view.standing.status}; {led}{state}\n")
    session.print("\n".join(team_words(view)))
    return 0


def _review(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    if standing(session.room, team).status != COMPLETE:
        raise BadMove(f"{team!r} is not complete yet", f"look at it with `atm session show {shell_words(team)}`")
    return _show(args, session, desk, team)


def _history(args: Args, session: Session, desk: SessionRoom, team: str) -> int:
    """Moves of its life, and checkpoints in git, newest first."""
    known, common = standing(session.room, team), repository_for(desk, team)
    commits = desk.git.commits(common, team, args.whole("limit") or 20) if common else []
    remotes = desk.git.on_remotes(common, team) if common else []
    if session.as_json:
        moves = [{"from": one.before, "to": one.after, "at": one.at, "by": one.by} for one in known.history]
        saved = [{"commit": one.commit, "at": iso(one.at), "text": one.text} for one in commits]
        facts: dict[str, object] = {"status": known.status, "moves": moves, "checkpoints": saved, "on_remotes": remotes}
        session.print_json({"action": "session history", "team": team, **facts})
        return 0
    lines = [f"{one.at}  {one.before} → {one.after}  ({one_line(one.by)})" for one in known.history]
    lines += [f"{iso(one.at)}  {one.commit[:12]}  {one_line(one.text)}" for one in commits]
    lines += [f"⚠ these remotes have its checkpoints, which hold mail: {', '.join(remotes)}"] if remotes else []
    session.print("\n".join(lines) or "Nothing is known of its past.")
    return 0
