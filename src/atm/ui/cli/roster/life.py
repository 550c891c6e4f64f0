"""`atm teams create`, `state`, `archive`, `delete`, `cleanup`."""

from __future__ import annotations

from atm.core.errors import AtmError, UsageError
from atm.core.plain import counted
from atm.core.untrusted_text import one_line, shell_words
from atm.roster.services.members import create_team
from atm.team.rules.lifecycle import COMPLETE, MOVES
from atm.team.rules.team import check_open
from atm.team.services.lifecycle import advance, check_ours, standing
from atm.team.services.registry import find_team
from atm.ui.cli.roster.enrolling import enrol_person
from atm.ui.cli.roster.joining import HeldTasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.roster.services.cleanup import Item
    from atm.team.rules.lifecycle import TeamStanding
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def _create(args: Args, session: Session) -> int:
    team = args.need("team")
    made = create_team(session.room, team, description=args.text("description") or "", lead=args.text("lead"))
    person = enrol_person(session, team) if made else None
    words = [f"created team {team}" if made else f"team {team} exists already"]
    words += person.in_words if person is not None else []
    result: dict[str, object] = {"action": "create", "team": team, "created": made}
    session.tell({**result, "you": person.name if person else None}, "\n".join(map(one_line, words)))
    return 0


def _by(args: Args, session: Session) -> str:
    return session.identity(args, "by")


def standing_json(known: TeamStanding) -> dict[str, object]:
    return {
        "state": known.status,
        "since": known.since or None,
        "by": known.by or None,
        "source": known.source,
        "may_move_to": [*MOVES.get(known.status, ())],
    }


def _state(args: Args, session: Session) -> int:
    room, new = session.room, args.text("new")
    found = find_team(room, args.need("team"))
    if new is not None and new != COMPLETE:
        check_open(found)
    team = found.name
    done = advance(room, team, new, _by(args, session)) if new else None
    known = standing(room, team)
    result: dict[str, object] = {"action": "state", "team": team, **standing_json(known)}
    if done is not None:
        result |= {"moved": done.changed, "from": done.before}
    result["history"] = [{"from": m.before, "to": m.after, "at": m.at, "by": m.by} for m in known.history]
    words = f"{team} is {known.status} already" if done is not None else f"{team} is {known.status}"
    if done is not None and done.changed:
        words = f"{team}: {done.before} → {done.after}"
    since = f" since {known.since}" if known.since else ""
    by = f", by {known.by}" if known.by else ""
    session.tell(result, one_line(f"{words}{since}{by}  ({known.source})"))
    return 0


def _archive(args: Args, session: Session) -> int:
    from atm.roster.services.ending import archive_team

    team, by = args.need("team"), _by(args, session)
    _end_agents(session, team, force=args.flag("force"))
    done = archive_team(session.room, team, by, force=args.flag("force"))
    result: dict[str, object] = {"action": "archive", "team": done.team, "archived": done.done}
    words = f"team {done.team} is complete" if done.done else f"team {done.team} was complete already"
    session.tell({**result, "backup_path": done.backup_path}, one_line(f"{words}; its backup is {done.backup_path}"))
    return 0


def _delete(args: Args, session: Session) -> int:
    from atm.roster.services.ending import delete_team
    from atm.wiring.daemon import end_access

    team = args.need("team")
    if not args.flag("yes"):
        return _ask_for_yes(session, team)
    agents = _end_agents(session, team, force=args.flag("force"))
    done = delete_team(session.room, team, force=args.flag("force"))
    if done.done and agents is not None:
        from atm.crew.services.ending import forget

        forget(agents, done.team)
    for warning in end_access(session.layout, done.team) if done.done else ():
        session.warn(f"Warning: {warning}")
    result: dict[str, object] = {"action": "delete", "team": done.team, "deleted": done.done}
    words = f"deleted team {done.team}" if done.done else f"team {done.team} was deleted before"
    back = f"; its backup is {done.backup_path} (atm teams restore {shell_words(done.team)})"
    session.tell({**result, "backup_path": done.backup_path}, one_line(words + back))
    return 0


def _end_agents(session: Session, team: str, *, force: bool) -> Crewroom | None:
    """Agents that atm started in it, with their worktrees and branches; None if there were never any."""
    import os

    if not os.path.isdir(f"{session.layout.crews}/{team}"):
        return None
    from atm.crew.services.ending import leave_nothing
    from atm.ui.cli.waiting import Spinner
    from atm.wiring.crew import build_crewroom

    crew = build_crewroom(session.layout, session.settings, session.boardroom, session.environment)
    with Spinner(session, f"clearing away what agents of {team} left"):
        troubles = leave_nothing(crew, team, force=force)
    for trouble in troubles:
        session.warn(f"Warning: {trouble}")
    return crew


def _clear_left_agents(session: Session, team: str) -> None:
    """Agents whose host is gone, and worktrees that nobody uses."""
    import os

    if not os.path.isdir(f"{session.layout.crews}/{team}"):
        return
    from atm.crew.services.reaping import reconcile
    from atm.wiring.crew import build_crewroom

    crew = build_crewroom(session.layout, session.settings, session.boardroom, session.environment)
    for trouble in reconcile(crew, team).troubles:
        session.warn(f"Warning: {trouble}")


def _ask_for_yes(session: Session, team: str) -> int:
    """Says what stands in the way, and changes nothing."""
    from atm.roster.services.ending import why_in_use

    room = session.room
    if room.rosters.find(team) is None and room.backups.kept(team):
        session.tell({"action": "delete", "team": team, "deleted": False}, one_line(f"team {team} was deleted before"))
        return 0
    found = find_team(room, team)
    reasons = why_in_use(room, found)
    said = f"it is in use: {'; '.join(reasons)}. " if reasons else ""
    session.wants_yes = not reasons
    command = f"atm teams delete --yes{' --force' if reasons else ''} {shell_words(found.name)}"
    raise UsageError(
        f"team {found.name!r} was not deleted. {said}It has {counted(len(found.members), 'member')}",
        f"to delete it, after a backup: {command}",
    )


def _cleanup(args: Args, session: Session) -> int:
    from atm.roster.services.cleanup import clean_up, plan_cleanup

    doing = args.flag("yes") and not args.flag("dry_run")
    team, force = args.need("team"), args.flag("force")
    items = plan_cleanup(session.room, team, args.text("agent"), force=force, first=HeldTasks(session, team).free)
    if doing:
        clean_up(items)
        _clear_left_agents(session, team)
    if session.as_json:
        rows = [_item_json(item) for item in items]
        session.print_json({"action": "cleanup", "team": team, "dry_run": not doing, "items": rows})
    else:
        _show_items(session, items, doing, dry_run=args.flag("dry_run"))
    failed = sum(item.error is not None for item in items)
    tried = sum(item.work is not None for item in items)
    return 0 if not failed else 1 if failed == tried else 2


def _item_json(item: Item) -> dict[str, object]:
    result: dict[str, object] = {"name": item.name, "reason": item.reason, "action": item.action, "detail": item.detail}
    result["done"] = item.done
    if item.archive_path:
        result["archive_path"] = item.archive_path
    if item.error is not None:
        result["error"] = {"code": item.error.code, "message": str(item.error)}
    return result


def _show_items(session: Session, items: list[Item], doing: bool, *, dry_run: bool) -> None:
    from atm.ui.views.tables import table

    if not items:
        session.print("Nothing to clean up.")
        return
    rows = [[item.name, item.reason, _outcome(item, doing), _remark(item)] for item in items]
    session.print("\n".join(table(["What", "Reason", "Done" if doing else "Would", ""], rows)))
    if not doing and any(item.work is not None for item in items):
        session.wants_yes = not dry_run
        session.print("\n  nothing was changed; add --yes to do it")


def _outcome(item: Item, doing: bool) -> str:
    if item.error is not None:
        return "failed"
    return {"remove": "removed", "finish": "finished", "keep": "kept"}[item.action] if doing else item.action


def _remark(item: Item) -> str:
    error: AtmError | None = item.error
    if error is not None:
        return str(error)
    return f"mail kept at {item.archive_path}" if item.archive_path else item.detail


def _rebind(args: Args, session: Session) -> int:
    from atm.team.services.standing import check_person
    from atm.ui.cli.team.belonging import belonging_here, rebind_here

    check_person(session.room, "bind a team to another repository")
    team = check_open(check_ours(find_team(session.room, args.need("team"))))
    belonging = belonging_here(session)
    if belonging is None:
        raise UsageError("this folder belongs to no git repository", "go to the repository of the team's work")
    former = rebind_here(session, belonging, team.name)
    folder = belonging.here.root or belonging.here.common_dir
    result: dict[str, object] = {"action": "rebind", "team": team.name, "repository": folder, "former": former or None}
    was = f"; before, it belonged to {former}" if former else ""
    session.tell(result, one_line(f"team {team.name} belongs to the repository {folder}{was}"))
    return 0


VERBS = {
    "create": _create,
    "state": _state,
    "archive": _archive,
    "delete": _delete,
    "cleanup": _cleanup,
    "rebind": _rebind,
}
