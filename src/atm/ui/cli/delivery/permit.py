"""`atm permit`, as help and completion know it. What it does begins in `atm.ui.permit`, before any parser."""

from __future__ import annotations

from atm.ui.cli.arguments import Argument, Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

COMMAND = Command(
    "permit",
    "what the permission hooks of coding agents call",
    text=(
        "Set up by `atm init` where there is a policy; nothing for people to type. Reads the call on standard input "
        "and answers in the vendor's words: allowed, or denied and why. Whatever goes wrong is a no."
    ),
    arguments=(
        Argument("vendor", "claude, codex, gemini or opencode"),
        Argument("event", "as the vendor calls it"),
    ),
    examples=("atm permit claude PreToolUse",),
)


def execute(args: Args, session: Session) -> int:  # noqa: ARG001 - as every command
    from atm.ui.permit import run

    return run([args.need("vendor"), args.need("event")])
