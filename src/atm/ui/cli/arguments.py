"""
What commands take, as tables; and the parser that reads argv by them.

argparse costs as much as the whole of `atm send` (13 ms of import, see docs/decisions/0003). The same tables
give help, shell completion and the reference page, so that none of them can disagree with the parser.
"""

from __future__ import annotations

from atm.core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Never

    Parsed = str | int | float | bool | list[str] | None

TEXT, WHOLE, NUMBER, FLAG, MANY = "text", "whole number", "number", "flag", "list"
NONE: dict[str, Never] = {}


class Option:
    """`--name VALUE`, `--name` alone for a flag, or `--name VALUE …`, which may also be repeated (MANY)."""

    __slots__ = ("choices", "default", "help", "kind", "names", "optional", "value")

    def __init__(
        self,
        *names: str,
        help: str,
        value: str = "",
        kind: str = "",
        default: Parsed = None,
        choices: tuple[str, ...] = (),
        optional: str = "",
    ) -> None:
        self.optional = optional
        """The value if none is given."""
        self.names = names
        self.help = help
        self.value = value
        self.kind = kind or (TEXT if value else FLAG)
        self.default = default
        self.choices = choices

    @property
    def key(self) -> str:
        return self.names[0].lstrip("-").replace("-", "_")


class Argument:
    """A word of the command line that stands for itself."""

    __slots__ = ("choices", "complete", "help", "is_many", "name", "required")

    def __init__(
        self,
        name: str,
        help: str,
        *,
        required: bool = True,
        choices: tuple[str, ...] = (),
        complete: str = "",
        is_many: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.is_many = is_many
        """Does it take all words that are left? Only the last one can."""
        self.required = required
        self.choices = choices
        self.complete = complete
        """What a shell offers here: `member`, `team`, `file` or nothing."""


JSON = Option("--json", help="print the result as JSON")
HELP = Option("--help", "-h", help="show this help")
TEAM = Option("--team", "-t", value="TEAM", help="the team (default: ATM_TEAM, settings, or the only one here)")
AS = Option("--as", value="NAME", help="who you are (default: ATM_IDENTITY, settings)")
EVERYWHERE = (TEAM, AS, JSON)
"""What every command takes, in any place, also before its name: nobody has to know which of them has a use for it."""


class Command:
    """A command, or a group of them."""

    __slots__ = (
        *("aliases", "arguments", "default", "examples", "hints", "name", "options", "own", "subcommands"),
        *("summary", "text"),
    )

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        arguments: tuple[Argument, ...] = (),
        options: tuple[Option, ...] = (),
        examples: tuple[str, ...] = (),
        text: str = "",
        subcommands: tuple[Command, ...] = (),
        default: str = "",
        aliases: Mapping[str, tuple[str, ...]] = NONE,
        hints: Mapping[str, str] = NONE,
    ) -> None:
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self.own = (*options, JSON, HELP)
        """What its help shows."""
        taken = {name for option in options for name in option.names}
        self.options = (*self.own, *(one for one in (TEAM, AS) if one.names[0] not in taken))
        self.examples = examples
        self.text = text
        self.subcommands = subcommands
        self.default = default
        """The verb of a bare noun: `atm tasks --state ready` is `atm tasks list --state ready`."""
        self.aliases = aliases
        """Verbs as other programs call them, and the words that they stand for here."""
        self.hints = hints
        """The same where nothing is done on a guess: what to type instead."""

    def subcommand(self, name: str) -> Command | None:
        return next((command for command in self.subcommands if command.word == name), None)

    @property
    def word(self) -> str:
        """What is typed last: `create` of `teams create`."""
        return self.name.rpartition(" ")[2]

    @property
    def usage(self) -> str:
        words = [(f"<{a.name}>" if a.required else f"[{a.name}]") + " …" * a.is_many for a in self.arguments]
        verb = ["[command]"] if self.subcommands else []
        return " ".join(["atm", self.name, *verb, *words, "[options]"])


class Args:
    """The values of one command line, by option or argument name with underscores."""

    __slots__ = ("_given", "command", "values")

    def __init__(self, command: Command, values: dict[str, Parsed], given: set[str]) -> None:
        self.command = command
        self.values = values
        self._given = given

    def given(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def need(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            is_option = any(option.key == name for option in self.command.options)
            what = f"--{name.replace('_', '-')}" if is_option else f"<{name}>"
            raise UsageError(f"{what} is missing", f"see `atm {self.command.name} --help`")
        return value

    @property
    def speaker(self) -> str | None:
        """Who the command says that it acts as, whatever its option for that is called."""
        return next((self.text(option.key) for option in self.command.options if "--as" in option.names), None)

    def may_mean(self, team: str) -> bool:
        """Is this the team that was named, or was none named? For what looks at all of them."""
        named = self.text("team")
        return named is None or named.casefold() == team.casefold()

    def flag(self, name: str) -> bool:
        return self.values.get(name) is True

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def many(self, name: str) -> list[str]:
        value = self.values.get(name)
        return value if isinstance(value, list) else []

    def whole(self, name: str) -> int | None:
        value = self.number(name)
        return None if value is None else int(value)


def parse(command: Command, words: Sequence[str]) -> Args:
    """Read the words after the command's name. Raises UsageError with the nearest thing that exists."""
    if command.subcommands:
        inner, words = _verb(command, words)
        if inner is not None:
            return parse(inner, words)
    values: dict[str, Parsed] = {option.key: option.default for option in command.options}
    plain: list[str] = []
    given: set[str] = set()
    last = ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            plain += rest
            break
        if word.startswith("-") and len(word) > 1 and not _is_text(word):
            option, value = _option(command, word, rest)
            if option.kind == MANY:
                value, last = [*_listed(values.get(option.key)), *_listed(value)], option.key
            values[option.key] = value
            given.add(option.key)
        else:
            plain.append(word)
    _give_back(command, plain, values, last)
    return _with_arguments(command, plain, values, given)


def leading(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What every command takes and stands before a name, with its values; and the words from that name on."""
    flags, rest = [], list(words)
    while rest:
        name, equals, _ = rest[0].partition("=")
        option = next((one for one in EVERYWHERE if name in one.names), None)
        if option is None:
            break
        flags.append(rest.pop(0))
        if option.kind != FLAG and not equals and rest:
            flags.append(rest.pop(0))
    return flags, rest


def _verb(command: Command, words: Sequence[str]) -> tuple[Command | None, Sequence[str]]:
    """The verb that is meant, and the words for it; none if the words are for the noun itself."""
    flags, rest = leading(words)
    first = rest[0] if rest else ""
    if first in command.aliases:
        rest = [*command.aliases[first], *rest[1:]]
    inner = command.subcommand(rest[0]) if rest else None
    if inner is not None:
        return inner, [*flags, *rest[1:]]
    if first and not first.startswith("-") and not command.arguments:
        known = [one.word for one in command.subcommands]
        raise _unknown(first, known, f"command of `atm {command.name}`", command, command.hints.get(first))
    is_bare = command.default and first not in HELP.names
    return command.subcommand(command.default) if is_bare else None, words


def _listed(value: Parsed) -> list[str]:
    return value if isinstance(value, list) else []


def _give_back(command: Command, plain: list[str], values: dict[str, Parsed], last: str) -> None:
    """`add --files a b SUBJECT`: the last list, if it has eaten words that are missing elsewhere, gives them back."""
    missing = sum(argument.required for argument in command.arguments) - len(plain)
    words = _listed(values.get(last))
    if 0 < missing < len(words):
        plain += words[-missing:]
        values[last] = words[:-missing]


def _option(command: Command, word: str, rest: list[str]) -> tuple[Option, Parsed]:
    name, equals, joined = word.partition("=")
    option = next((option for option in command.options if name in option.names), None)
    if option is None:
        raise _unknown(name, [n for o in command.options for n in o.names], "option", command)
    if option.kind == FLAG:
        if equals:
            raise UsageError(f"{name} takes no value", f"see `atm {command.name} --help`")
        return option, True
    if option.optional and not equals and (not rest or rest[0].startswith("-")):
        return option, option.optional
    if not equals and not rest:
        raise UsageError(f"{name} needs a value", f"see `atm {command.name} --help`")
    if option.kind == MANY and not equals:
        return option, _several(option, name, rest)
    return option, _converted(option, name, joined if equals else rest.pop(0))


def _several(option: Option, name: str, rest: list[str]) -> Parsed:
    """The word after the option, and all after it up to the next option."""
    words = [rest.pop(0)]
    while rest and not (rest[0].startswith("-") and len(rest[0]) > 1):
        words.append(rest.pop(0))
    return [word for given in words for word in _listed(_converted(option, name, given))]


def _converted(option: Option, name: str, given: str) -> Parsed:
    if option.choices and given not in option.choices:
        raise UsageError(f"{name} must be one of {', '.join(option.choices)}, not {given!r}", "choose one of these")
    if option.kind == TEXT:
        return given
    if option.kind == MANY:
        return [given]
    try:
        value = int(given) if option.kind == WHOLE else float(given)
    except ValueError:
        raise UsageError(f"{name} takes a {option.kind}, not {given!r}", "give a number") from None
    if not 0 <= value < 1e12:  # also catches nan and inf
        raise UsageError(f"{name} cannot be {given}", "give a number that is not negative")
    return value


def _with_arguments(command: Command, plain: list[str], values: dict[str, Parsed], given: set[str]) -> Args:
    _take_team(command, plain, values)
    if command.arguments and command.arguments[-1].is_many:
        place = len(command.arguments) - 1
        values[command.arguments[-1].name] = plain[place:]
        given |= {command.arguments[-1].name} if plain[place:] else set()
        plain = plain[:place]
    if len(plain) > len(command.arguments):
        extra = plain[len(command.arguments)]
        raise UsageError(f"{extra!r} is one word too many", f"quote texts with spaces: {command.usage}")
    for argument, word in zip(command.arguments, plain, strict=False):
        if argument.choices and word not in argument.choices:
            raise _unknown(word, list(argument.choices), argument.name, command)
        values[argument.name.replace("-", "_")] = word
        given.add(argument.name.replace("-", "_"))
    missing = [a for a in command.arguments[len(plain) :] if a.required]
    if missing and values.get("help") is not True:
        error = UsageError(f"<{missing[0].name}> is missing", f"write: {command.usage}")
        error.missing = f"{missing[0].name} ({missing[0].help})"
        raise error
    return Args(command, values, given)


def _take_team(command: Command, plain: list[str], values: dict[str, Parsed]) -> None:
    """`teams show --team crew`: where the team is a word of its own, the option stands for that word."""
    team = values.get("team")
    if not isinstance(team, str) or TEAM in command.own or not command.arguments or command.arguments[0].name != "team":
        return
    if plain and plain[0].casefold() == team.casefold():
        return
    if len(plain) >= len(command.arguments):
        raise UsageError(f"{plain[0]!r} is one team and --team {team!r} another", "leave one of them out")
    plain.insert(0, team)


def _unknown(word: str, known: list[str], what: str, command: Command, hint: str | None = None) -> UsageError:
    from atm.core.names import nearest_name

    near = nearest_name(word, known)
    hint = hint or (f"did you mean {near!r}?" if near else f"see `atm {command.name} --help`")
    return UsageError(f"unknown {what} {word!r}", hint)


def _is_text(word: str) -> bool:
    """`-1`, and `- fix the parser`: a list in Markdown is no option."""
    name = word.partition("=")[0]
    return any(c.isspace() for c in name) or word[1:].replace(".", "", 1).isdecimal()
