"""`atm teams add-member`, `update-member`, `remove-member`, `join`, `leave`."""

from __future__ import annotations

import os

from atm.core.errors import UsageError
from atm.core.names import check_known_name, same_name
from atm.core.untrusted_text import one_line
from atm.roster.services.members import add_member, join, leave, remove_member, update_member
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.ui.cli.session import working_folder
from atm.wiring.daemon import end_access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.roster.services.members import Removed
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

FIELDS = {
    "agent_type": "agentType",
    "model": "model",
    "cwd": "cwd",
    "backend_type": "backendType",
    "active": "isActive",
    "pane_id": "tmuxPaneId",
    "session_id": "sessionId",
    "color": "color",
    "quantum": "quantum",
    "delegate": "delegate",
}
"""Options of `update-member`, and the fields of the roster that they set."""


def _folder(given: str) -> str:
    return os.path.abspath(os.path.expanduser(given))


def _described(name: str, args: Args) -> Member:
    return Member(
        name,
        agent_type=args.text("agent_type") or "",
        model=args.text("model") or "",
        cwd=_folder(args.text("cwd") or working_folder()),
        backend=args.text("backend_type") or "",
        quantum=args.text("quantum") or "",
        is_active=False if args.flag("inactive") else None,
    )


def _add(args: Args, session: Session) -> int:
    team = find_team(session.room, args.need("team")).name
    new = _described(args.need("agent"), args)
    archived: list[str] = []
    added = add_member(session.room, team, new, archived=archived)
    words = f"added {new.name} to {team}" if added else f"{new.name} is in {team} already"
    result: dict[str, object] = {"action": "add-member", "team": team, "agent": new.name, "added": added}
    _tell_newcomer(session, result, words, archived)
    return 0


def _tell_newcomer(session: Session, result: dict[str, object], words: str, archived: list[str]) -> None:
    """And where mail went that lay there for somebody of that name before."""
    kept = f"; mail for a former {result['agent']} is kept at {archived[-1]}" if archived else ""
    session.tell({**result, "archive_path": archived[-1] if archived else None}, one_line(words + kept))


def _update(args: Args, session: Session) -> int:
    team, agent = find_team(session.room, args.need("team")).name, args.need("agent")
    given = {option: args.text(option) for option in FIELDS}
    fields: dict[str, Plain] = {FIELDS[option]: value for option, value in given.items() if value is not None}
    if not fields:
        raise UsageError("nothing was given to change", "see `atm teams update-member --help`")
    if "isActive" in fields:
        fields["isActive"] = given["active"] == "true"
    if given["delegate"] is not None:
        _check_leads(session, team, agent)
        fields["delegate"] = given["delegate"] == "on"
    if given["cwd"] is not None:
        fields["cwd"] = _folder(given["cwd"])
    changed = update_member(session.room, team, agent, fields)
    words = f"changed {', '.join(changed)} of {agent} in {team}" if changed else f"{agent} in {team} is so already"
    session.tell({"action": "update-member", "team": team, "agent": agent, "changed": [*changed]}, one_line(words))
    return 0


def _check_leads(session: Session, team: str, agent: str) -> None:
    """Whoever does not lead has nobody to delegate to. Without permission hooks nothing keeps it from working."""
    if not find_team(session.room, team).is_lead(agent):
        raise UsageError(f"{agent} does not lead {team}", "only a lead can be told to delegate")
    from atm.wiring.approvals import needs_hooks

    if not needs_hooks(session.settings, project=True):
        session.warn("Note: permission hooks enforce it: `atm config set crew.delegate true`, then `atm init`.")


def _remove(args: Args, session: Session) -> int:
    team, agent = find_team(session.room, args.need("team")).name, args.need("agent")
    tasks = HeldTasks(session, team)
    done = remove_member(session.room, team, agent, force=args.flag("force"), first=tasks.free)
    words, nobody = f"removed {agent} from {team}", f"{agent} is not in {team}"
    return _gone(session, "remove-member", agent, done, tasks, words, nobody)


class HeldTasks:
    """What a member who leaves holds on the board: it is given back first."""

    def __init__(self, session: Session, team: str) -> None:
        self._session = session
        self.team = team
        self.freed: list[str] = []

    def free(self, agent: str) -> None:
        from atm.board.services.leaving import release_all

        self.freed += release_all(self._session.boardroom, self.team, "", agent)


def _gone(session: Session, action: str, agent: str, done: Removed, tasks: HeldTasks, words: str, nobody: str) -> int:
    for warning in end_access(session.layout, tasks.team, agent) if done.removed else ():
        session.warn(f"Warning: {warning}")
    kept = f"; its mail is kept at {done.archive_path}" if done.archive_path else ""
    back = f"; back on the board: {' '.join(f'#{id}' for id in tasks.freed)}" if tasks.freed else ""
    result: dict[str, object] = {"action": action, "team": tasks.team, "agent": agent, "removed": done.removed}
    result |= {"archive_path": done.archive_path, "released_tasks": tasks.freed}
    session.tell(result, one_line(f"{words}{kept}{back}" if done.removed else nobody))
    return 0


def _my_team(args: Args, session: Session) -> str:
    named, flagged = args.text("team_name"), args.text("team")
    if named and flagged and not same_name(named, flagged):
        raise UsageError(f"{named!r} and --team {flagged!r} are two teams", "leave one of them out")
    return find_team(session.room, check_known_name(named, "team") if named else session.team(args)).name


def _join(args: Args, session: Session) -> int:
    team = _my_team(args, session)
    me = _described(session.identity(args), args)
    done = join(session.room, team, me)
    fresh = f"{done.name} is in {team} already; heartbeat refreshed"
    words = f"{done.name} joined {team}" if done.added else fresh + (", cwd changed" if done.changed else "")
    result: dict[str, object] = {"action": "join", "team": team, "agent": done.name, "joined": done.added}
    _tell_newcomer(session, {**result, "changed": [*done.changed]}, words, done.archived)
    return 0


def _leave(args: Args, session: Session) -> int:
    team, me = _my_team(args, session), session.identity(args)
    tasks = HeldTasks(session, team)
    done = leave(session.room, team, me, force=args.flag("force"), first=tasks.free)
    return _gone(session, "leave", me, done, tasks, f"{me} left {team}", f"{me} is not in {team}")


VERBS = {"add-member": _add, "update-member": _update, "remove-member": _remove, "join": _join, "leave": _leave}
