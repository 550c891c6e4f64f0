"""A verb of the table as a command: its parameters become words and options."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.ui.cli.arguments import TEAM, Argument, Command, Option
from atm.ui.verbs.verb import TOOL, Given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.verbs.verb import Parameter, Verb

AS = Option("--as", value="NAME", help="who you are (default: ATM_IDENTITY, settings)")
MINE = (AS, TEAM)


def command_of(verb: Verb) -> Command:
    offered = [one for one in verb.parameters if one.only != TOOL]
    return Command(
        verb.command,
        verb.summary,
        text=verb.text,
        arguments=tuple(Argument(one.name, one.help, required=one.is_required) for one in offered if one.is_word),
        options=(*(option_of(one) for one in offered if not one.is_word), *MINE),
        examples=verb.examples,
    )


def option_of(one: Parameter) -> Option:
    return Option(one.option, value=one.value, kind=one.kind, help=one.help, default=one.default, choices=one.choices)


def given_of(verb: Verb, args: Args) -> Given:
    """What the command line says, by the names of the table."""
    keys = {one.name: one.name if one.is_word else option_of(one).key for one in verb.parameters}
    return Given({name: args.values.get(key) for name, key in keys.items()})


def completed(verb: Verb, given: Given) -> Given:
    """With what is said where a person says nothing. Raises UsageError where that is nothing."""
    missing = {one.name: one for one in verb.parameters if one.is_required and not given.has(one.name)}
    for one in missing.values():
        if not one.otherwise:
            name = f"<{one.name}>" if one.is_word else one.option
            raise UsageError(f"{name} is missing", f"see `atm {verb.command} --help`")
    return given.with_values({name: one.otherwise for name, one in missing.items()}) if missing else given
