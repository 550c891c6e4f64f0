"""Help, from the same tables that the parser reads."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Command


WIDTH, WIDEST_NAME = 80, 26
"""Columns: the narrowest terminal that people have by default; and what a name of an option may take of it."""


def show(command: Command) -> int:
    sys.stdout.write(describe(command))
    return 0


def describe(command: Command) -> str:
    """The whole help of a command."""
    lines = [*evenly(f"{command.summary[0].upper()}{command.summary[1:]}.", WIDTH), "", f"usage: {command.usage}"]
    if command.text:
        lines += ["", *(line for part in command.text.split("\n") for line in evenly(part, WIDTH))]
    if command.subcommands:
        lines += ["", "commands:", *_columns([(c.word, c.summary) for c in command.subcommands])]
    if command.arguments:
        lines += ["", "arguments:", *_columns([(a.name, a.help) for a in command.arguments])]
    bare = command.subcommand(command.default)
    if bare is not None:
        lines += ["", *evenly(f"A bare `atm {command.name}` is `atm {bare.name}`, and takes its options.", WIDTH)]
    rows = [
        (", ".join(o.names) + (f" {o.value}" if o.value else ""), _with_default(o.help, o.default))
        for o in (bare or command).own
    ]
    lines += ["", "options:", *_columns(rows)]
    if command.examples:
        lines += ["", "examples:", *[f"  {example}" for example in command.examples]]
    return "\n".join(lines) + "\n"


def evenly(text: str, width: int) -> list[str]:
    """Wrapped by words, without a word alone on the last line: lines get narrower until it has company."""
    from textwrap import wrap

    lines, narrowest = wrap(text, width, break_on_hyphens=False), width // 2
    while len(lines) > 1 and " " not in lines[-1] and width > narrowest:
        width -= 1
        lines = wrap(text, width, break_on_hyphens=False)
    return lines


def _with_default(text: str, default: object) -> str:
    return f"{text} (default {default})" if default is not None else text


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns; what is too long for its line goes on below itself."""
    width = min(max(len(left) for left, _ in rows), WIDEST_NAME)
    found = []
    for left, right in rows:
        first, *rest = evenly(right, WIDTH - width - 4) or [""]
        if len(left) > width:
            found += [f"  {left}", *(f"  {'':<{width}}  {line}" for line in (first, *rest))]
        else:
            found += [f"  {left:<{width}}  {first}", *(f"  {'':<{width}}  {line}" for line in rest)]
    return found
