"""`atm attach`: sit down at an agent's window."""

from __future__ import annotations

import os
import sys

from atm.core.untrusted_text import shell_words
from atm.core.work_errors import NoSuchAgent
from atm.crew.services.ending import agent_named
from atm.ui.cli.arguments import TEAM, Args, Argument, Command
from atm.ui.cli.crew.wishes import open_crew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "attach",
    "sit down at the window of an agent",
    text="For agents in tmux. Leave it with the keys of tmux: Ctrl-B, then D. Others: `atm peek NAME`.",
    arguments=(Argument("agent", "which", complete="member"),),
    options=(TEAM,),
    examples=("atm attach ann",),
)


def execute(args: Args, session: Session) -> int:
    crew, team = open_crew(session), session.team(args)
    record = agent_named(crew, team, args.need("agent"))
    words = crew.backends[record.backend].attach(record)
    if not words:
        look = f"see what it said: atm peek {shell_words(record.member)}"
        raise NoSuchAgent(f"{record.member} has no window to sit down at", look)
    if not session.as_json and sys.stdout.isatty():
        os.execvp(words[0], words)
    session.tell({"action": "attach", "team": team, "member": record.member, "command": words}, " ".join(words))
    return 0
