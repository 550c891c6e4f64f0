"""`atm hook`: its table, for help and the reference. The work is done by `atm.ui.hook`, past the parser."""

from __future__ import annotations

from atm.ui.cli.arguments import Args, Argument, Command
from atm.vendors.known import every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

HOOKED = tuple(vendor.name for vendor in every() if vendor.hooks is not None)

COMMAND = Command(
    "hook",
    "what the hooks of coding agents call",
    text=(
        "Reads the vendor's JSON from standard input and answers in the vendor's own form: unread mail goes into the "
        "agent's context. `atm init` enters it in the vendors' settings. It ends within 3 seconds and always with 0; "
        "what went wrong is in hooks.jsonl of the state folder. The member is whom ATM_IDENTITY and ATM_TEAM name."
    ),
    arguments=(
        Argument("vendor", "whose hook it is", choices=HOOKED),
        Argument("event", "the vendor's name of the moment: SessionStart, PostToolUse, Stop, notify …"),
        Argument("payload", "the JSON itself, where a vendor gives it as a word", required=False),
    ),
    examples=("atm hook claude PostToolUse", 'atm hook codex notify \'{"type": "agent-turn-complete"}\''),
)


def execute(args: Args, session: Session) -> int:  # noqa: ARG001 - the shape of every command
    from atm.ui.hook import run

    return run([word for word in (args.text("vendor"), args.text("event"), args.text("payload")) if word])
