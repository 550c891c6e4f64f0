"""`atm teams list` and `show`."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line, shell_words
from atm.files.formats.times import to_iso
from atm.mail.services.overview import InboxFacts, inbox_facts
from atm.snapshot.services.tasks import task_counts_shown
from atm.team.services.activity import activity
from atm.team.services.lifecycle import standing
from atm.team.services.registry import find_team
from atm.ui.cli.board.view import board_of
from atm.ui.cli.render import Style, when, when_epoch
from atm.ui.cli.roster.life import standing_json
from atm.ui.cli.roster.member_views import member_json
from atm.ui.views.looks import counts_in_words
from atm.ui.views.roster.members import state_words
from atm.ui.views.style import DIM
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.mail.services.overview import InboxProblem
    from atm.team.rules.team import Team
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


NO_TASKS = {"pending": 0, "in_progress": 0, "completed": 0}


def _list(args: Args, session: Session) -> int:
    teams, broken = [], []
    for name in filter(args.may_mean, session.room.rosters.teams()):
        try:
            teams.append(session.room.rosters.load(name))
        except AtmError as error:
            broken.append((name, error))
    if session.as_json:
        listed = [_listed(session, team) for team in teams]
        listed += [{"name": name, "error": {"code": error.code, "message": str(error)}} for name, error in broken]
        session.print_json({"action": "teams", "teams": listed})
        return 0
    rows = [[t.name, str(len(t.members)), when_epoch(session, t.created_at), _status(session, t)] for t in teams]
    rows += [[name, "?", f"unreadable: {error}", "unknown"] for name, error in broken]
    heads = ["Team", "Members", "Created", "State"]
    session.print("\n".join(table(heads, rows, right=(1,))) if rows else "No teams yet: atm teams create NAME")
    return 0


def _status(session: Session, team: Team) -> str:
    try:
        return standing(session.room, team.name).status
    except AtmError:
        return "unknown"


def _listed(session: Session, team: Team) -> dict[str, object]:
    return {
        "name": team.name,
        "memberCount": len(team.members),
        "createdAt": to_iso(team.created_at) if team.created_at is not None else None,
        "state": _status(session, team),
    }


def _show(args: Args, session: Session) -> int:
    team = find_team(session.room, args.need("team"))
    mail = {facts.agent: facts for facts in inbox_facts(session.room, team)}
    if session.as_json:
        session.print_json(_as_json(session, team, mail))
    else:
        _print(session, team, mail)
    return 0


def _as_json(session: Session, team: Team, mail: Mapping[str, InboxFacts | InboxProblem]) -> dict[str, object]:
    room = session.room
    known = [facts for facts in mail.values() if isinstance(facts, InboxFacts)]
    tasks, states = room.files.tasks(team.name), session.boardroom.tasks.board(team.name).counts()
    return {
        "action": "show",
        "team": team.name,
        "description": team.description or None,
        "createdAt": to_iso(team.created_at) if team.created_at is not None else None,
        "lead": team.lead,
        "completed": team.completed,
        "lifecycle": standing_json(standing(room, team.name)),
        "members": [member_json(session, team, member) for member in team.members],
        "mail": {"unread": sum(facts.unread for facts in known), "total": sum(facts.total for facts in known)},
        "tasks": {**NO_TASKS, **states, "open": tasks.open},
        "backups": [
            {"name": kept.name, "path": kept.path, "final": kept.is_final} for kept in room.backups.kept(team.name)
        ],
        "source": team.read_from,
        "read_at": to_iso(room.clock.now()),
    }


def _print(session: Session, team: Team, mail: Mapping[str, InboxFacts | InboxProblem]) -> None:
    room, style = session.room, Style(session)
    life, tasks, backups = standing(room, team.name), room.files.tasks(team.name), room.backups.kept(team.name)
    session.print(f"Team: {one_line(team.name)}" + (f"  {one_line(team.description)}" if team.description else ""))
    since = f" since {when(session, life.since)}" if life.since else ""
    by = f", by {one_line(life.by)}" if life.by else ""
    session.print(f"  {life.status}{since}{by}" + style(f"  ({one_line(life.source)})", DIM))
    session.print(style(f"  created {when_epoch(session, team.created_at)}, roster {one_line(team.read_from)}", DIM))
    session.print("")
    rows = []
    for member in team.members:
        facts = mail.get(member.name)
        unread = str(facts.unread) if isinstance(facts, InboxFacts) else "?"
        state, liveness = state_words(activity(room, team, member))
        rows.append([member.name, "lead" if team.is_lead(member.name) else member.kind, state, liveness, unread])
    heads = ["Agent", "Kind", "State", "Liveness", "Unread"]
    session.print("\n".join(table(heads, rows, right=(4,), drop=(2, 1))) if rows else "  no members yet")
    counts = counts_in_words(task_counts_shown(board_of(session, team.name)))
    session.print(f"\n  tasks: {counts}; {tasks.open} open")
    newest = f"; newest {backups[-1].path}" if backups else f"  (atm teams backup {shell_words(team.name)})"
    session.print(f"  backups: {len(backups)}{one_line(newest)}")


VERBS = {"list": _list, "show": _show}
