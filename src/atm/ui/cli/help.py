"""Help, from the same tables that the parser reads."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Command


def overview(words: list[str]) -> int:
    """`atm --help`, and `atm help COMMAND`."""
    from atm.ui.cli.catalog import COMMANDS, load

    if words:
        command = load(words[0])[0]
        return show(command.subcommand(words[1]) or command if len(words) > 1 else command)
    lines = ["atm, the agent team manager: mail between coding agents that is never lost.", ""]
    lines += ["usage: atm <command> [options]", "", "commands:"]
    lines += [f"  {name:<12} {summary}" for name, summary in COMMANDS.items()]
    lines += ["", "Each command has --help with an example, and --json.", ""]
    lines += ["first steps:", "  atm teams create my-team", "  atm teams add-member my-team ann"]
    lines += ['  atm send ann "hello"', "  ATM_IDENTITY=ann atm read"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def show(command: Command) -> int:
    sys.stdout.write(describe(command))
    return 0


def describe(command: Command) -> str:
    """The whole help of a command."""
    lines = [f"{command.summary[0].upper()}{command.summary[1:]}.", "", f"usage: {command.usage}"]
    if command.text:
        from textwrap import fill

        lines += ["", *(fill(part, 100) for part in command.text.split("\n"))]
    if command.subcommands:
        lines += ["", "commands:", *_columns([(c.word, c.summary) for c in command.subcommands])]
    if command.arguments:
        lines += ["", "arguments:", *_columns([(a.name, a.help) for a in command.arguments])]
    bare = command.subcommand(command.default)
    if bare is not None:
        lines += ["", f"A bare `atm {command.name}` is `atm {bare.name}`, and takes its options."]
    rows = [
        (", ".join(o.names) + (f" {o.value}" if o.value else ""), _with_default(o.help, o.default))
        for o in (bare or command).own
    ]
    lines += ["", "options:", *_columns(rows)]
    if command.examples:
        lines += ["", "examples:", *[f"  {example}" for example in command.examples]]
    return "\n".join(lines) + "\n"


def _with_default(text: str, default: object) -> str:
    return f"{text} (default {default})" if default is not None else text


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    width = min(max(len(left) for left, _ in rows), 28)
    return [f"  {left:<{width}}  {right}" for left, right in rows]
