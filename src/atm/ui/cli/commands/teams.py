"""`atm teams`: list teams; create them; add and remove members."""

from __future__ import annotations

import os

from atm.domain.errors import AtmError
from atm.domain.untrusted_text import one_line
from atm.services.mailroom import find_team
from atm.services.roster import NewMember, add_member, create_team, remove_member
from atm.ui.cli.arguments import Args, Argument, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

_TEAM = Argument("team", "the team", complete="team")
_AGENT = Argument("agent", "the member", complete="member")

CREATE = Command(
    "teams create",
    "create a team",
    arguments=(Argument("team", "its name: a-z, 0-9, . _ + -"),),
    options=(
        Option("--description", value="TEXT", help="what the team is for"),
        Option("--lead", value="NAME", help="also add this member, as the lead"),
    ),
    examples=("atm teams create backend --lead ann",),
)
ADD = Command(
    "teams add-member",
    "add a member and its inbox",
    arguments=(_TEAM, Argument("agent", "its name: a-z, 0-9, . _ + -")),
    options=(
        Option("--agent-type", value="TYPE", default="general-purpose", help="what kind of agent it is"),
        Option("--model", value="MODEL", help="the model it runs on"),
        Option("--cwd", value="PATH", help="its working folder (default: this one)"),
        Option("--backend-type", value="TYPE", help="claude-code, codex, gemini, opencode, human, …"),
        Option("--inactive", help="it is away for now"),
    ),
    examples=("atm teams add-member backend bob --agent-type codex --model gpt-5 --cwd ~/work/api",),
)
REMOVE = Command(
    "teams remove-member",
    "remove a member; its inbox goes to the archive first",
    arguments=(_TEAM, _AGENT),
    options=(Option("--force", help="even with unread mail, which goes to the archive too"),),
    examples=("atm teams remove-member backend bob",),
)
LIST = Command("teams list", "list the teams on this machine", examples=("atm teams list --json",))
COMMAND = Command(
    "teams",
    "list teams; create them; add and remove members",
    subcommands=(LIST, CREATE, ADD, REMOVE),
    examples=("atm teams", "atm teams create backend", "atm teams add-member backend bob"),
)


def execute(args: Args, session: Session) -> int:
    verbs = {"teams create": _create, "teams add-member": _add, "teams remove-member": _remove}
    return verbs.get(args.command.name, _list)(args, session)


def _create(args: Args, session: Session) -> int:
    team = args.need("team")
    made = create_team(session.room, team, description=args.text("description") or "", lead=args.text("lead"))
    return _report(
        session,
        {"action": "create", "team": team, "created": made},
        f"created team {team}" if made else f"team {team} exists already",
    )


def _add(args: Args, session: Session) -> int:
    from atm.ui.cli.session import working_folder

    team = find_team(session.room, args.need("team")).name
    new = NewMember(
        args.need("agent"),
        agent_type=args.text("agent_type") or "",
        model=args.text("model") or "",
        cwd=os.path.abspath(os.path.expanduser(args.text("cwd") or working_folder())),
        backend=args.text("backend_type") or "",
        active=False if args.flag("inactive") else None,
    )
    added = add_member(session.room, team, new)
    words = f"added {new.name} to {team}" if added else f"{new.name} is in {team} already"
    return _report(session, {"action": "add-member", "team": team, "agent": new.name, "added": added}, words)


def _remove(args: Args, session: Session) -> int:
    team, agent = find_team(session.room, args.need("team")).name, args.need("agent")
    done = remove_member(session.room, team, agent, force=args.flag("force"))
    kept = f"; its mail is kept at {done.archive_path}" if done.archive_path else ""
    words = f"removed {agent} from {team}{kept}" if done.removed else f"{agent} is not in {team}"
    result = {"action": "remove-member", "team": team, "agent": agent, "removed": done.removed}
    return _report(session, {**result, "archive_path": done.archive_path}, words)


def _report(session: Session, result: dict[str, object], words: str) -> int:
    session.tell(result, one_line(words))
    return 0


def _list(args: Args, session: Session) -> int:  # noqa: ARG001 - every command has this signature
    from atm.formats.times import to_iso
    from atm.ui.cli.render import table, when_epoch

    teams, broken = [], []
    for name in session.room.rosters.teams():
        try:
            teams.append(session.room.rosters.load(name))
        except AtmError as error:
            broken.append((name, error))
    if session.as_json:
        listed: list[dict[str, object]] = [
            {
                "name": t.name,
                "memberCount": len(t.members),
                "createdAt": to_iso(t.created_at) if t.created_at is not None else None,
            }
            for t in teams
        ]
        listed += [{"name": name, "error": {"code": error.code, "message": str(error)}} for name, error in broken]
        session.print_json({"action": "teams", "teams": listed})
        return 0
    rows = [[team.name, str(len(team.members)), when_epoch(session, team.created_at)] for team in teams]
    rows += [[name, "?", f"unreadable: {error}"] for name, error in broken]
    session.print(
        "\n".join(table(["Team", "Members", "Created"], rows, right=(1,)))
        if rows
        else "No teams yet: atm teams create NAME"
    )
    return 0
