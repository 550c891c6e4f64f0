"""`atm help`: every command, by what people do; what programs call comes last."""

from __future__ import annotations

import sys

from atm.ui.views.style import BOLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WHAT_IT_IS = "atm: coding agents of any vendor mail each other and share one task board."

GROUPS = {
    "talk": ("send", "read", "request", "ack", "broadcast", "inbox", "receipts"),
    "work": ("tasks", "approvals", "sync", "merge"),
    "look": ("status", "members", "top", "watch", "peek", "web", "logs"),
    "set up": ("init", "teams", "config", "trust", "mcp", "plugins", "completion", "doctor"),
    "run": (
        *("up", "run", "runs", "spawn", "attach", "down", "kill", "stop", "runtimes", "session", "salvage", "demo"),
    ),
    "plumbing": ("daemon", "snapshot", "spool", "cleanup", "deliver", "prime", "hook", "permit", "version"),
}
"""Every command is in one of them."""

MEANT = {
    "talk": "mail between agents and people",
    "work": "the board, and what waits for a yes",
    "look": "who is here and what they do",
    "set up": "agent programs, teams, settings",
    "run": "agents as processes, and plans",
    "plumbing": "what programs call, and upkeep",
}
COLUMNS = 80


def overview(words: list[str]) -> int:
    """`atm help`, and `atm help COMMAND`."""
    from atm.ui.cli.catalog import load
    from atm.ui.cli.help import show

    if words:
        command = load(words[0])[0]
        return show(command.subcommand(words[1]) or command if len(words) > 1 else command)
    sys.stdout.write("\n".join(_lines(colour(sys.stdout))) + "\n")
    return 0


def _lines(style: Callable[..., str]) -> Iterator[str]:
    from atm.ui.cli.catalog import COMMANDS
    from atm.ui.cli.help import evenly
    from atm.ui.views.team.next_steps import first_steps

    yield from (WHAT_IT_IS, "", "usage: atm <command> [options]")
    for group, names in GROUPS.items():
        yield from ("", f"{style(group, BOLD)}: {MEANT[group]}")
        for name in names:
            if name in COMMANDS:
                first, *rest = evenly(COMMANDS[name], COLUMNS - 15)
                yield f"  {name:<12} {first}"
                yield from (f"{'':15}{line}" for line in rest)
    yield from ("", "Each command has --help with an example, and --json.", "", "first steps:")
    yield from (f"  {step.command}" for step in first_steps(()))
    yield "or by hand: atm teams create my-team; atm teams add-member my-team ann"


def colour(stream: object) -> Callable[..., str]:
    """Paints on a terminal that can show it; what is piped stays plain."""
    from os import environ

    isatty = getattr(stream, "isatty", bool)
    plain = environ.get("NO_COLOR") or environ.get("ATM_NO_COLOR") or environ.get("TERM") == "dumb" or not isatty()
    return lambda text, *codes: text if plain or not codes else f"\x1b[{';'.join(codes)}m{text}\x1b[0m"
