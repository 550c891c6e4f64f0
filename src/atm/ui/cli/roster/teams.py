"""`atm teams`: teams and their members, from the first to the last day."""

from __future__ import annotations

from atm.team.rules.lifecycle import STATES
from atm.ui.cli.arguments import TEAM, Args, Argument, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

_TEAM = Argument("team", "the team", complete="team")
_AGENT = Argument("agent", "the member", complete="member")
_MY_TEAM = Argument("team-name", "the team (default: yours)", required=False, complete="team")
_AS = Option("--as", value="NAME", help="who you are (default: ATM_IDENTITY or core.identity)")
_FORCE = Option("--force", help="even so")
_YES = Option("--yes", "-y", help="do it")
_TYPE = Option("--agent-type", value="TYPE", help="what kind of agent it is")
_MODEL = Option("--model", value="MODEL", help="the model it runs on")
_BACKEND = Option("--backend-type", value="TYPE", help="claude-code, codex, gemini, opencode, human, plugin:NAME, …")

LIST = Command("teams list", "list the teams on this machine", examples=("atm teams list --json",))
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
SHOW = Command(
    "teams show",
    "everything about one team",
    text="Where it stands in its life, who is in it, mail, tasks and backups. Teams of Claude Code can be shown too.",
    arguments=(_TEAM,),
    examples=("atm teams show backend", "atm teams show backend --json"),
)
STATE = Command(
    "teams state",
    "show where a team stands in its life, or move it on",
    text="init → pending → active → consolidating → complete; stopped on the way, and back. Complete is final.",
    arguments=(_TEAM, Argument("new", "the state to move to", required=False, choices=STATES)),
    options=(Option("--by", value="NAME", help="who says so (default: you)"),),
    examples=("atm teams state backend", "atm teams state backend stopped --by ann"),
)
_QUANTUM = Option("--quantum", value="PART", help="the part of the work that is its own, such as engine or schema")
ADD = Command(
    "teams add-member",
    "add a member and its inbox",
    arguments=(_TEAM, Argument("agent", "its name: a-z, 0-9, . _ + -")),
    options=(
        Option("--agent-type", value="TYPE", default="general-purpose", help="what kind of agent it is"),
        _MODEL,
        Option("--cwd", value="PATH", help="its working folder (default: this one)"),
        _BACKEND,
        _QUANTUM,
        Option("--inactive", help="it is away for now"),
    ),
    examples=(
        "atm teams add-member backend bob --agent-type codex --cwd ~/work/api",
        "atm teams add-member backend rita --backend-type human",
    ),
)
UPDATE = Command(
    "teams update-member",
    "change what the roster says about a member",
    text="Changes exactly the fields that are given; everything else in the file stays to the letter.",
    arguments=(_TEAM, _AGENT),
    options=(
        _TYPE,
        _MODEL,
        Option("--cwd", value="PATH", help="its working folder"),
        _BACKEND,
        _QUANTUM,
        Option("--active", value="YES", choices=("true", "false"), help="is it busy? a hint, no more"),
        Option("--pane-id", value="ID", help="its tmux pane"),
        Option("--session-id", value="ID", help="its session"),
        Option("--color", value="COLOR", help="the colour of its messages"),
        Option("--delegate", value="ON", choices=("on", "off"), help="of a lead: does it only coordinate?"),
    ),
    examples=(
        "atm teams update-member backend bob --model gpt-5 --active false",
        "atm teams update-member backend team-lead --delegate on",
    ),
)
REMOVE = Command(
    "teams remove-member",
    "remove a member; its inbox goes to the archive first",
    text=(
        "Refuses the lead, a member that is online or of whom nobody knows whether it is, and one with unread mail.\n"
        "People and members played by plugins leave no heartbeats: of them only unread mail counts."
    ),
    arguments=(_TEAM, _AGENT),
    options=(Option("--force", help="even so: unread mail goes to the archive too"),),
    examples=("atm teams remove-member backend bob", "atm teams remove-member backend bob --force"),
)
JOIN = Command(
    "teams join",
    "join a team yourself, or show up again",
    text="Leaves a heartbeat. Joining again refreshes it and your working folder.",
    arguments=(_MY_TEAM,),
    options=(
        _AS,
        TEAM,
        _TYPE,
        _MODEL,
        Option("--cwd", value="PATH", help="your working folder (default: this one)"),
        _BACKEND,
    ),
    examples=("atm teams join backend --as bob",),
)
LEAVE = Command(
    "teams leave",
    "leave a team yourself; your inbox goes to the archive",
    arguments=(_MY_TEAM,),
    options=(_AS, TEAM, Option("--force", help="even with unread mail, or as the lead")),
    examples=("atm teams leave backend --as bob",),
)
BACKUP = Command(
    "teams backup",
    "copy a team: roster, mail, ledger, tasks",
    text="A backup exists whole or not at all. The last 5 are kept. Teams of Claude Code can be backed up too.",
    arguments=(_TEAM,),
    examples=("atm teams backup backend --json",),
)
RESTORE = Command(
    "teams restore",
    "put a backup back beside what is there now",
    text=(
        "What lives wins: nothing that exists is overwritten, the lead and its session stay as they are, nobody "
        "gets a message twice, and no task number is used twice. A team that is gone is made anew."
    ),
    arguments=(_TEAM,),
    options=(
        Option("--from", value="BACKUP", help="a name from `atm teams show`, or a path (default: the newest)"),
        Option("--skip-tasks", help="leave the task list alone"),
        Option("--dry-run", help="only show what would come back"),
    ),
    examples=("atm teams restore backend --dry-run", "atm teams restore backend --from 20261115T041616243Z"),
)
CLEANUP = Command(
    "teams cleanup",
    "remove members who are gone, mail of nobody, and what killed commands left",
    text="Shows what would be done, each line with its reason; --yes does it. The lead and people stay.",
    arguments=(_TEAM, Argument("agent", "only this member", required=False, complete="member")),
    options=(
        Option("--force", help="also with unread mail; with a name also somebody who may be at work"),
        _YES,
        Option("--dry-run", help="only show (the default)"),
    ),
    examples=("atm teams cleanup backend", "atm teams cleanup backend --yes"),
)
ARCHIVE = Command(
    "teams archive",
    "complete a team: it can be read for ever and changed no more",
    text="Refuses with open tasks or unread mail. A backup is made that is never removed.",
    arguments=(_TEAM,),
    options=(Option("--by", value="NAME", help="who says so (default: you)"), _FORCE),
    examples=("atm teams archive backend",),
)
DELETE = Command(
    "teams delete",
    "delete a team, after a backup",
    text="Refuses while somebody is online, mail is unread or tasks are open.",
    arguments=(_TEAM,),
    options=(_FORCE, _YES),
    examples=("atm teams delete backend --yes", "atm teams restore backend"),
)
REBIND = Command(
    "teams rebind",
    "bind a team to the repository here, after it was moved by hand or restored",
    text=(
        "A team that `atm run` or `atm up` made belongs to one repository. Both notice a move by themselves; this is "
        "for what they cannot tell from another repository. Refuses while a run of the team is under way."
    ),
    arguments=(_TEAM,),
    examples=("atm teams rebind shop",),
)
COMMAND = Command(
    "teams",
    "teams and their members, from the first to the last day",
    subcommands=(
        *(LIST, SHOW, CREATE, STATE, JOIN, LEAVE, ADD, UPDATE, REMOVE),
        *(BACKUP, RESTORE, REBIND, CLEANUP, ARCHIVE, DELETE),
    ),
    default="list",
    examples=("atm teams", "atm teams create backend", "atm teams add-member backend bob", "atm teams show backend"),
)

HOMES = {
    "joining": ("add-member", "update-member", "remove-member", "join", "leave"),
    "life": ("create", "state", "archive", "delete", "cleanup", "rebind"),
    "backups": ("backup", "restore"),
    "views": ("show", "list"),
}
"""Which module of `atm.ui.cli.roster` does which verb. Only that one is imported."""


DECIDED_BY_BOSSES = {
    "add-member": "add members",
    "update-member": "change members",
    "remove-member": "remove members",
    "state": "move a team on",
    "archive": "end a team",
    "delete": "delete a team",
    "cleanup": "clear members away",
    "restore": "bring a backup back",
    "rebind": "bind a team to another repository",
}
"""In words, what an agent that does not lead the team may not do from its own process (D26)."""


def _check_standing(args: Args, session: Session, verb: str) -> None:
    """A member may describe itself anew, or go; not become a person by its own word."""
    from atm.team.services.standing import check_roster

    if verb == "update-member" and args.text("delegate") is not None:
        from atm.team.services.standing import check_person

        check_person(session.room, "change what a lead may do")
    is_about_itself = verb == "remove-member" or (verb == "update-member" and args.text("backend_type") is None)
    about = args.need("agent") if is_about_itself else ""
    check_roster(session.room, args.need("team"), DECIDED_BY_BOSSES[verb], about=about)


def _changes_something(args: Args, verb: str) -> bool:
    if verb == "state":
        return args.text("new") is not None
    return args.flag("yes") if verb in ("cleanup", "delete") else not (verb == "restore" and args.flag("dry_run"))


def execute(args: Args, session: Session) -> int:
    verb = args.command.word
    if verb in DECIDED_BY_BOSSES and _changes_something(args, verb):
        _check_standing(args, session, verb)
    home = next(name for name, verbs in HOMES.items() if verb in verbs)
    module = __import__(f"atm.ui.cli.roster.{home}", fromlist=["VERBS"])
    code: int = module.VERBS[verb](args, session)
    return code
