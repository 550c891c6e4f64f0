"""`atm tasks`: the shared board."""

from __future__ import annotations

from atm.ui.cli.arguments import Args, Command
from atm.ui.cli.board.tables import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "tasks",
    "the board: add, claim, review and complete tasks",
    subcommands=tuple(table for _, table in VERBS.values()),
    default="list",
    aliases={"done": ("complete",), "close": ("complete",), "ready": ("list", "--state", "pending")},
    hints={
        "next": "the most urgent one that is free: `atm tasks claim`; what is free: `atm tasks ready`",
        **dict.fromkeys(("rm", "remove", "delete"), "tasks stay in the history: `atm tasks cancel ID`"),
    },
    examples=("atm tasks", 'atm tasks add "Write the parser"', "atm tasks claim --as bob"),
)


def execute(args: Args, session: Session) -> int:
    """Only the module of that verb is imported."""
    words = args.command.name.split(" ")
    verb = " ".join(words[:2])
    module = __import__(f"atm.ui.cli.board.{VERBS[verb][0]}", fromlist=["EXECUTE"])
    code: int = module.EXECUTE[verb](args, session)
    return code
