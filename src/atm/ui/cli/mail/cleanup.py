"""`atm cleanup`: archive old read mail."""

from __future__ import annotations

from atm.mail.services.mailroom import find_recipient
from atm.mail.services.retention import Cleaned, cleanup
from atm.mail.services.spooling import drain_on_the_way
from atm.team.services.registry import find_team
from atm.ui.cli.arguments import TEAM, Args, Command, Option
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "cleanup",
    "archive old read mail",
    text=(
        "Shows what would be archived; --yes does it. Unread mail is never touched; of what was read the newest "
        "500 and the last 7 days stay (see `atm config list`), but no more than 8 MiB of it. Removed rows lie in "
        "~/.config/atm/archive."
    ),
    options=(
        TEAM,
        Option("--all-teams", "-A", help="every team on this machine"),
        Option("--agent", value="NAME", help="only this member's inbox"),
        Option("--yes", "-y", help="do it"),
        Option("--dry-run", help="only show (the default)"),
    ),
    examples=("atm cleanup", "atm cleanup --team backend --yes"),
)


def execute(args: Args, session: Session) -> int:
    doing = args.flag("yes") and not args.flag("dry_run")
    if doing:
        drain_on_the_way(session.room)
    teams = (
        session.room.rosters.teams() if args.flag("all_teams") else [find_team(session.room, session.team(args)).name]
    )
    agent = args.text("agent")
    if agent and not args.flag("all_teams"):
        agent = find_recipient(session.room, teams[0], agent).agent
    done = cleanup(session.room, teams, agent=agent, dry_run=not doing)
    if session.as_json:
        session.print_json({"action": "cleanup", "dry_run": not doing, "inboxes": [_as_json(one) for one in done]})
    else:
        _show(session, done, doing, dry_run=args.flag("dry_run"))
    failed = [one for one in done if one.error is not None]
    return 0 if not failed else 1 if len(failed) == len(done) else 2


def _as_json(one: Cleaned) -> dict[str, object]:
    result: dict[str, object] = {
        "team": one.team,
        "agent": one.agent,
        "removed": one.removed,
        "kept": one.kept,
    }
    if one.archive_path:
        result["archive_path"] = one.archive_path
    if one.skipped:
        result["skipped"] = one.skipped
    if one.error is not None:
        result["error"] = {"code": one.error.code, "message": str(one.error)}
    return result


def _show(session: Session, done: list[Cleaned], doing: bool, *, dry_run: bool) -> None:
    rows = []
    for one in done:
        note = str(one.error) if one.error else one.skipped or one.archive_path or ""
        rows.append([f"{one.agent}@{one.team}", str(one.removed), str(one.kept), note])
    session.print(
        "\n".join(table(["Inbox", "Archived" if doing else "Would archive", "Kept", ""], rows, right=(1, 2)))
        if rows
        else "No inboxes."
    )
    if not doing and any(one.removed for one in done):
        session.wants_yes = not dry_run
        session.print("\n  nothing was changed; add --yes to do it")
