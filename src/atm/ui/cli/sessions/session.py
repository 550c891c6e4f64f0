"""`atm session`: a team whose lead is gone, found again."""

from __future__ import annotations

from atm.ui.cli.arguments import MANY, TEAM, Args, Argument, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

_TEAM = Argument("team", "the team's name, or its id", complete="team")
_SESSION = Option("--session", value="ID", help="which session this is (default: ATM_SESSION_ID, or your terminal)")
_FORCE = Option("--force", help="although another session leads it, or something is not ready")
_DECIDE = (
    _SESSION,
    _FORCE,
    Option("--continue", value="M", kind=MANY, help="members that go on from their checkpoint"),
    Option("--rollback", value="M", kind=MANY, help="members whose work is saved and whose task is free again"),
    Option("--into", value="NEW", help="copy a session of Claude Code into a team of yours"),
)

LIST = Command(
    "session list",
    "teams whose lead is away",
    text="Dormant ones: not complete, and their lead unseen for five minutes, or never seen. Exit code 3: none.",
    options=(Option("--all", help="the others too"),),
    examples=("atm session list", "atm session list --all --json"),
)
SHOW = Command("session show", "a team as its lead sees it", arguments=(_TEAM,), examples=("atm session show backend",))
PROBE = Command(
    "session probe",
    "is anybody there? Writes nothing",
    text="Exit code 3: nobody is online.",
    arguments=(_TEAM,),
    examples=("atm session probe backend",),
)
RESUME = Command(
    "session resume",
    "lead a team from here",
    text=(
        "Seven steps, shown as they are done: load, status, lead, teammates, facts, mailbox, summary. Exit code 1: try "
        "again (another lead was there a moment ago, a file was busy); 2: trying again does not help."
    ),
    arguments=(_TEAM,),
    options=_DECIDE,
    examples=("atm session resume backend", "atm session resume backend --continue ann --rollback bob"),
)
TAKEOVER = Command(
    "session takeover",
    "the same, from another session's hands",
    text="Refused while the lead was seen in the last half hour, unless you --force it. The former lead is told.",
    arguments=(_TEAM,),
    options=_DECIDE,
    examples=("atm session takeover backend --force",),
)
REVIEW = Command(
    "session review",
    "read a team that is complete",
    text="Nothing in it can be changed. Exit code 1: it is not complete.",
    arguments=(_TEAM,),
    examples=("atm session review backend",),
)
HISTORY = Command(
    "session history",
    "what became of a team, and its checkpoints",
    arguments=(_TEAM,),
    options=(Option("--limit", value="N", kind="whole number", default=20, help="checkpoints that are listed"),),
    examples=("atm session history backend",),
)
CHECKPOINT = Command(
    "session checkpoint",
    "save the state of a team now",
    text="Into its home; with --git also onto the branch atm/checkpoints/TEAM, never pushed. Facts are noted anew.",
    arguments=(_TEAM,),
    options=(Option("--git", help="also into git"),),
    examples=("atm session checkpoint backend --git",),
)
REASSIGN = Command(
    "session reassign",
    "hand a task over, with what its owner left",
    text="Refused while the owner is online, unless you --force it.",
    arguments=(Argument("task", "its number"), Argument("member", "who goes on with it", complete="member")),
    options=(_FORCE, Option("--as", value="NAME", help="who says so (default: the lead)"), TEAM),
    examples=("atm session reassign 3 bob",),
)
SHUTDOWN = Command(
    "session shutdown",
    "end a team's agents, who finish what they are at; then it is consolidated",
    arguments=(_TEAM,),
    examples=("atm session shutdown backend",),
)
ABORT = Command(
    "session abort",
    "emergency stop of one team",
    text="Shows whom it would end; --yes does it. The same as `atm stop` for this team.",
    arguments=(_TEAM,),
    options=(Option("--yes", "-y", help="do it"),),
    examples=("atm session abort backend --yes",),
)
CONSOLIDATE = Command(
    "session consolidate",
    "bring a team's work together in one commit",
    text=(
        "Gate (everybody green), checks (sessions.checks), your pre-commit hook, commit, push if asked, mark as "
        "complete. What was interrupted goes on with --continue, after the members have looked at their changes, or "
        "back with --abort."
    ),
    arguments=(_TEAM,),
    options=(
        Option("--message", "-m", value="TEXT", help="of the commit"),
        Option("--push", value="REMOTE", optional="origin", help="push it there (default: origin)"),
        Option("--continue", help="go on with one that was interrupted"),
        Option("--abort", help="go back to work"),
        _FORCE,
        Option("--as", value="NAME", help="who does it (default: ATM_IDENTITY)"),
    ),
    examples=('atm session consolidate backend -m "the parser"', "atm session consolidate backend --continue"),
)
COMMAND = Command(
    "session",
    "teams that outlive their lead: find, resume, hand over, finish",
    subcommands=(
        *(LIST, SHOW, PROBE, RESUME, TAKEOVER, REVIEW, HISTORY, CHECKPOINT, REASSIGN, SHUTDOWN, ABORT),
        CONSOLIDATE,
    ),
    default="list",
    examples=("atm session", "atm session resume backend", "atm session consolidate backend"),
)

LOOKING = ("session list", "session show", "session review", "session history")
ATTACHING = ("session probe", "session resume", "session takeover")


def execute(args: Args, session: Session) -> int:
    name = args.command.name
    if name in LOOKING:
        from atm.ui.cli.sessions.looking import run
    elif name in ATTACHING:
        from atm.ui.cli.sessions.attaching import run
    else:
        from atm.ui.cli.sessions.acting import run
    return run(args, session)
