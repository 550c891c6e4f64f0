"""A verb of the table as a command: its parameters become words and options."""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.ui.cli.arguments import AS, TEAM, Argument, Command, Option
from atm.ui.verbs.verb import TOOL, Given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.verbs.verb import Parameter, Verb

MINE = (AS, TEAM)


def command_of(verb: Verb) -> Command:
    return Command(
        verb.command,
        verb.summary,
        text=verb.text,
        arguments=tuple(
            Argument(one.name, one.help, required=one.is_required, complete="task" if one.name == "id" else "")
            for one in verb.parameters
            if one.is_word
        ),
        options=(*(option_of(one) for one in verb.parameters if not one.is_word and one.only != TOOL), *MINE),
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
    more = {}
    for one in verb.parameters:
        if one.otherwise and given.text(one.name) == "":
            more[one.name] = one.otherwise
        elif one.is_required and one.otherwise is None and not given.has(one.name):
            name = f"<{one.name}>" if one.is_word else f"{one.option}"
            raise UsageError(f"{name} is missing", f"{one.help}: {one.option} {one.value}")
    return given.with_values(more) if more else given
