"""
Writes `docs/reference/cli.md` from the tables that the parser itself reads, so that the page cannot disagree with it.

Run it after a change of a command: `.venv/bin/python docs/generate_reference.py`. A test compares the page with
`render()`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from atm.ui.cli.arguments import Argument, Command, Option
from atm.ui.cli.catalog import COMMANDS, load
from atm.ui.cli.help import describe

PAGE = Path(__file__).resolve().parent / "reference" / "cli.md"

HEAD = """\
# Commands

Made by `docs/generate_reference.py` from the tables that the parser reads. Do not edit this page; change the command.

`atm` alone, `atm --help` and `atm help` list the commands; `atm help COMMAND` and `atm COMMAND --help` show one. `atm
version`, `--version` and `-V` print the version. Every command takes `--team TEAM`, `--as NAME` and `--json`, also
before its name: `atm --team backend tasks`. Where a team is a word of its own (`atm teams show backend`), the option
stands for that word; where all teams are listed, only that one is; where there is no team to choose, it changes
nothing. A noun without a verb takes the options of the verb that it means: `atm tasks --state blocked` is `atm tasks
list --state blocked`. Options may stand anywhere after the command, as `--team backend` or `--team=backend`. They
have to be written in full: `--tea` is an error that names `--team`. After `--` every word is taken as it stands, so
that a message may begin with a dash.

What the commands print with `--json` is in [json.md](json.md); what their exit codes mean is in
[exit-codes.md](exit-codes.md).
"""


def render() -> str:
    """The whole page."""
    commands = [load(name)[0] for name in COMMANDS]
    parts = [HEAD, _overview(commands)]
    for command in commands:
        parts += _sections(command, "##")
    return "\n".join(parts)


def _sections(command: Command, level: str) -> list[str]:
    """A command, and those inside of it, to any depth: `atm mcp token new`."""
    inner = [part for one in command.subcommands for part in _sections(one, f"{level}#")]
    return [_section(command, level), *inner]


def _overview(commands: list[Command]) -> str:
    rows: list[tuple[str, ...]] = [
        (f"[`{command.name}`](#atm-{command.name})", _prose(command.summary)) for command in commands
    ]
    return _table(("Command", "What it does"), rows)


def _section(command: Command, level: str) -> str:
    """One command: the sentence that opens its help, usage, arguments, options, examples."""
    sentence = " ".join(describe(command).partition("\n\n")[0].split("\n"))
    parts = [f"{level} `atm {command.name}`\n", f"{_prose(sentence)}\n", f"```text\n{command.usage}\n```\n"]
    if command.text:
        parts.append(f"{_prose(command.text)}\n")
    if command.subcommands:
        parts.append(_table(("Command", "What it does"), [_inner(inner) for inner in command.subcommands]))
    if command.arguments:
        parts.append(_table(("Argument", "Required", "Meaning"), [_argument(one) for one in command.arguments]))
    parts.append(_table(("Option", "Takes", "Default", "Meaning"), [_option(one) for one in command.own]))
    if command.examples:
        parts.append("Examples:\n\n```sh\n" + "\n".join(command.examples) + "\n```\n")
    return "\n".join(parts)


def _inner(command: Command) -> tuple[str, ...]:
    return f"[`{command.word}`](#atm-{command.name.replace(' ', '-')})", _prose(command.summary)


def _argument(argument: Argument) -> tuple[str, ...]:
    choices = f": {', '.join(f'`{choice}`' for choice in argument.choices)}" if argument.choices else ""
    return f"`{argument.name}`", "yes" if argument.required else "no", _prose(argument.help) + choices


def _option(option: Option) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in option.names)
    takes = f"`{option.value}` ({option.kind})" if option.value else ""
    default = f"`{option.default:g}`" if isinstance(option.default, float) else f"`{option.default}`"
    choices = f" One of {', '.join(f'`{choice}`' for choice in option.choices)}." if option.choices else ""
    return names, takes, "" if option.default is None else default, _prose(option.help) + choices


def _prose(text: str) -> str:
    """Help text as Markdown: `<name>` must not be taken for an HTML tag."""
    return text.replace("<", "\\<")


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def main() -> None:
    PAGE.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")


if __name__ == "__main__":
    main()
