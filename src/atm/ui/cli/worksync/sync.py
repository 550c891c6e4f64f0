"""`atm sync`: does each member know its current work? Status, agendas, reports, nudges, diagnostics."""

from __future__ import annotations

from atm.ui.cli.arguments import MANY, NUMBER, TEAM, Args, Argument, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session
    from atm.worksync.services.syncroom import SyncRoom

_MEMBER = Argument("member", "whose (default: everybody)", required=False, complete="member")
_AS = Option("--as", value="NAME", help="who asks (default: ATM_IDENTITY, settings, or human)")

STATUS = Command(
    "sync status",
    "who is in step with the board",
    text=(
        "Synced: nothing waits for the member. Working, Blocked: it has reported so for the current agenda, or is "
        "busy. Needs sync: work waits and nothing was reported. Paused: it was reminded four times and has not "
        "reported; `atm sync nudge NAME --again` begins anew. Unknown: the team does not run, or nobody knows. "
        "Reading changes nothing."
    ),
    arguments=(_MEMBER,),
    options=(TEAM,),
    examples=("atm sync status", "atm sync status ann --json"),
)
AGENDA = Command(
    "sync agenda",
    "what waits for a member now",
    text="Yours comes with the fingerprint that a report needs. Others' are for the lead and people.",
    arguments=(Argument("member", "whose (default: yours)", required=False, complete="member"),),
    options=(
        TEAM,
        _AS,
        Option("--token", help="show the token too, with which a report proves who made it; good for 15 minutes"),
    ),
    examples=("atm sync agenda", "atm sync agenda --as ann --token"),
)
REPORT = Command(
    "sync report",
    "say that you have seen your agenda, and how it stands",
    text=(
        "The daemon validates a report against the board as it is. still_working holds for 10 minutes, blocked for 30, "
        "caught_up as long as nothing waits. It is no progress: it replaces neither comments nor task commands. "
        "Without a daemon it is noted and validated later. Exit code 1: rejected."
    ),
    arguments=(Argument("state", "how it stands", choices=("still_working", "blocked", "caught_up")),),
    options=(
        Option("--fingerprint", value="TEXT", help="of the agenda that you have seen, from `atm sync agenda`"),
        Option(
            "--token",
            value="TEXT",
            help="from `atm sync agenda --token`; not needed where ATM_IDENTITY and ATM_TEAM say who you are",
        ),
        Option("--task", value="ID", kind=MANY, help="only these tasks of the agenda"),
        Option("--blocker-comment", value="ID", help="the comment on the board that shows the blocker"),
        Option("--note", value="TEXT", help="a remark for diagnostics"),
        TEAM,
        _AS,
    ),
    examples=(
        "atm sync report still_working --fingerprint agenda:v1:7d6d --token wrs:v1.x.y",
        "atm sync report blocked --fingerprint agenda:v1:7d6d33 --task 7",
    ),
)
DIAGNOSE = Command(
    "sync diagnose",
    "everything that is known about a member's work-sync, and why",
    arguments=(Argument("member", "whose", complete="member"),),
    options=(TEAM, _AS),
    examples=("atm sync diagnose ann", "atm sync diagnose ann --json"),
)
METRICS = Command(
    "sync metrics",
    "figures of a team, and whether nudges may be sent",
    options=(TEAM,),
    examples=("atm sync metrics", "atm sync metrics --json"),
)
NUDGE = Command(
    "sync nudge",
    "look at a member now, and nudge it if that is due",
    text=(
        "For the lead and people. Every guard stays in force: the current agenda, a report that holds, a busy member, "
        "the hourly limit, one nudge for an agenda. A member that was reminded four times without a report is paused; "
        "--again ends the pause. Exit code 3: no nudge was due, and the reason is printed."
    ),
    arguments=(Argument("member", "whom", complete="member"),),
    options=(TEAM, _AS, Option("--again", help="end a pause: begin the reminders anew")),
    examples=("atm sync nudge ann", "atm sync nudge ann --again"),
)
WATCH = Command(
    "sync watch",
    "follow the status of a team",
    options=(TEAM, Option("--for", value="SECONDS", kind=NUMBER, help="end after so many seconds")),
    examples=("atm sync watch", "atm sync watch --for 60 --json"),
)
COMMAND = Command(
    "sync",
    "does each member know its current work: status, agenda, report",
    default="status",
    subcommands=(STATUS, AGENDA, REPORT, DIAGNOSE, METRICS, NUDGE, WATCH),
    examples=("atm sync", "atm sync agenda", "atm sync metrics"),
)

MODULES = {
    "sync status": "showing",
    "sync agenda": "showing",
    "sync diagnose": "showing",
    "sync metrics": "showing",
    "sync report": "acting",
    "sync nudge": "acting",
    "sync watch": "watching",
}


def execute(args: Args, session: Session) -> int:
    """Only the module of that verb is imported."""
    verb = args.command.name
    module = __import__(f"atm.ui.cli.worksync.{MODULES[verb]}", fromlist=["VERBS"])
    code: int = module.VERBS[verb](args, session)
    return code


def open_plane(args: Args, session: Session) -> tuple[SyncRoom, Team]:
    """The control plane, and the team that is meant."""
    from atm.team.services.registry import find_team
    from atm.wiring.worksync import build_syncroom

    team = find_team(session.room, session.team(args))
    return build_syncroom(session.layout, session.settings, session.boardroom), team
