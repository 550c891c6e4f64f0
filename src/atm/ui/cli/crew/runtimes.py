"""`atm runtimes`: what agents can be run with here, and what is missing."""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.crew.services.equipment import TOOLS, look
from atm.crew.services.spawning import runtime_of
from atm.ui.cli.arguments import Args, Argument, Command
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.waiting import Spinner
from atm.ui.views.tables import table
from atm.wiring.crew import ask_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.equipment import Equipment
    from atm.ui.cli.session import Session

LIST = Command("runtimes list", "all of them", examples=("atm runtimes list",))
CHECK = Command(
    "runtimes check",
    "is everything there that an agent would need?",
    text="Exit code 1: the program is missing. Missing hooks or servers never keep an agent from starting.",
    arguments=(Argument("runtimes", "which (default: all that are installed)", required=False, is_many=True),),
    examples=("atm runtimes check", "atm runtimes check claude codex"),
)
COMMAND = Command(
    "runtimes",
    "what agents can be run with, and what is missing",
    subcommands=(LIST, CHECK),
    default="list",
    examples=("atm runtimes", "atm runtimes check claude"),
)


def execute(args: Args, session: Session) -> int:
    crew = open_crew(session)
    wanted = args.many("runtimes") if args.command is CHECK else []
    for name in wanted:
        if name not in crew.runtimes:
            runtime_of(crew, name)
    names = wanted or crew.runtimes
    with Spinner(session, "asking the programs for their versions"):
        found = [look(crew.runtimes[name], crew.find_program, ask_version, crew.set_up) for name in names]
    if args.command is CHECK and not wanted:
        found = [one for one in found if one.is_ready]
    session.tell(
        {"action": args.command.name, "runtimes": [_json(one) for one in found]},
        "\n".join(
            table(["Runtime", "Version", "Hooks", "MCP", "Missing"], [_row(one) for one in found], drop=(3, 2, 1))
        ),
    )
    return 1 if wanted and not all(one.is_ready for one in found) else 0


def _json(one: Equipment) -> dict[str, object]:
    runtime = one.runtime
    return {
        "name": runtime.name,
        "protocol": runtime.protocol,
        "program": one.path or None,
        "version": one.version or None,
        "installed": one.is_ready,
        **{tool: one.tools.get(tool) for tool in TOOLS},
        "missing": one.missing,
        "brings": runtime.brings or None,
        "remarks": runtime.remarks,
        "origin": runtime.origin,
    }


def _row(one: Equipment) -> list[str]:
    signs = {True: "✓", False: "✗", None: ""}
    version = one_line(one.version) if one.version else "ready" if one.is_ready else "not installed"
    tools = (signs[one.tools.get(tool)] for tool in TOOLS)
    return [one_line(one.runtime.name), version, *tools, one_line("; ".join(one.missing))]
