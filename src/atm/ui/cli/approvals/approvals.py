"""`atm approvals`: what agents ask for, and the answers of those who may give them."""

from __future__ import annotations

from atm.ui.cli.arguments import NUMBER, TEAM, Args, Argument, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

_ID = Argument("id", "its id, or the beginning of it")
_AS = Option("--as", value="NAME", help="who answers (default: ATM_IDENTITY)")
_ASKER = Option("--as", value="NAME", help="who asks (default: ATM_IDENTITY)")
_CALL = (
    Option("--tool", value="TOOL", help="the tool: Bash, Write, WebFetch, or a word of your own"),
    Option("--command", value="COMMAND", help="the command line, or the address"),
    Option("--path", value="PATH", help="the file that would change"),
    Option("--branch", value="BRANCH", help="the branch that would change"),
)
_MANY = Option("--all", help="those that are answered too")

LIST = Command(
    "approvals list",
    "what waits for an answer",
    text="Exit code 3: nothing does. With --all, --json has the audit too.",
    options=(_MANY, TEAM),
    examples=("atm approvals list", "atm approvals list --all --json"),
)
SHOW = Command(
    "approvals show",
    "one request: the exact command, folder and diff",
    arguments=(_ID,),
    options=(TEAM,),
    examples=("atm approvals show 3f",),
)
APPROVE = Command(
    "approvals approve",
    "say yes, for one execution",
    text="Of that very tool, command and folder, within ten minutes. The first answer counts.",
    arguments=(_ID,),
    options=(Option("--note", value="TEXT", help="for the record"), _AS, TEAM),
    examples=("atm approvals approve 3f",),
)
DENY = Command(
    "approvals deny",
    "say no, and why",
    arguments=(_ID,),
    options=(Option("--reason", value="TEXT", help="the agent reads it"), _AS, TEAM),
    examples=('atm approvals deny 3f --reason "push after the review"',),
)
ASK = Command(
    "approvals ask",
    "ask for an approval, from a script",
    text="Exit code 0: approved, and used; 1: denied, or nobody answered in time; 3: it still waits.",
    options=(
        *_CALL,
        Option("--task", value="N", help="the task that it is for"),
        Option("--minutes", value="M", kind=NUMBER, help="minutes after which it is denied (default: a setting, 30)"),
        Option("--wait", value="SECONDS", kind=NUMBER, help="wait so long for the answer"),
        _ASKER,
        TEAM,
    ),
    examples=('atm approvals ask --tool Bash --command "git push origin main" --wait 60',),
)
REVIEW = Command(
    "approvals review",
    "answer what waits, one by one, at a terminal",
    text="What the popup in tmux shows. Close it whenever you like: what is not answered waits on.",
    arguments=(Argument("id", "only this one", required=False),),
    options=(_AS, TEAM),
    examples=("atm approvals review",),
)
TEST = Command(
    "approvals policy test",
    "what the policy says of a call; nothing is asked or written",
    text="Exit code 0: allowed; 1: denied; 3: somebody would be asked.",
    options=(*_CALL, TEAM),
    examples=('atm approvals policy test --tool Bash --command "rm -rf build"',),
)
EXPLAIN = Command(
    "approvals policy explain",
    "all rules in force, and their order; or why a request was made",
    arguments=(Argument("id", "a request", required=False),),
    options=(TEAM,),
    examples=("atm approvals policy explain", "atm approvals policy explain 3f"),
)
POLICY = Command(
    "approvals policy",
    "the rules: what is allowed, asked for, denied",
    subcommands=(TEST, EXPLAIN),
    default="explain",
    examples=("atm approvals policy explain",),
)
COMMAND = Command(
    "approvals",
    "what agents ask for: list, approve, deny; and the policy",
    subcommands=(LIST, SHOW, APPROVE, DENY, ASK, REVIEW, POLICY),
    default="list",
    examples=("atm approvals", "atm approvals show 3f", "atm approvals approve 3f"),
)


def execute(args: Args, session: Session) -> int:
    name = args.command.name
    if name == "approvals ask":
        from atm.ui.cli.approvals.asking import run
    elif name == "approvals review":
        from atm.ui.cli.approvals.review import run
    elif name.startswith("approvals policy"):
        from atm.ui.cli.approvals.policy import run
    else:
        from atm.ui.cli.approvals.answering import run
    return run(args, session)
