"""
What a verb is, for every surface: what it takes, who may, what it does to the world, and the words for both.

The command line makes options of it, the MCP server a tool, screen and page a form or a key. The function behind it is
imported when it is called: a command line that claims a task needs nothing of what reviews need.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.board.services.hooks import HookVerdict
    from atm.board.services.working import Claimed
    from atm.core.plain import Plain
    from atm.team.rules.team import Team

    Does = Callable[["Acting", "Given"], "Done | Claimed"]

TEXT, WHOLE, FLAG, MANY = "text", "whole number", "flag", "list"
EVERYWHERE, COMMAND, TOOL = "", "command line", "tool"


class Parameter:
    """One thing that a verb takes."""

    def __init__(
        self,
        name: str,
        help: str,
        *,
        kind: str = TEXT,
        value: str = "TEXT",
        brief: str = "",
        option: str = "",
        is_word: bool = False,
        is_required: bool = False,
        choices: tuple[str, ...] = (),
        default: str | None = None,
        otherwise: str | None = None,
        longest: int | None = None,
        only: str = EVERYWHERE,
    ) -> None:
        self.name = name
        self.help = help
        self.kind = kind
        self.value = "" if kind == FLAG else value
        """What stands for it in the usage line."""
        self.brief = brief
        """What a model is told of it: nothing, where the name says enough."""
        self.option = option or f"--{name.replace('_', '-')}"
        self.is_word = is_word
        """On the command line it stands for itself, without an option's name."""
        self.is_required = is_required
        """Only a person may leave it out, where something is said `otherwise`. Empty: the verb says what is wrong."""
        self.otherwise = otherwise
        self.choices = choices
        self.default = default
        self.longest = longest
        self.only = only


class Verb:
    """One verb."""

    def __init__(
        self,
        tool: str,
        command: str,
        *parameters: Parameter,
        home: str,
        title: str,
        summary: str,
        about: str,
        text: str = "",
        examples: tuple[str, ...] = (),
        for_bosses: bool = False,
        is_work: bool = False,
        is_destructive: bool = False,
        is_idempotent: bool = False,
        within: str = "",
    ) -> None:
        self.tool = tool
        self.command = command
        """`tasks fail`; empty where the command line offers it as part of another one."""
        self.parameters = parameters
        self.home = home
        """The module that does it, below this folder."""
        self.title = title
        self.summary = summary
        """For people, in the help."""
        self.about = about
        """For a model, which reads it on every connection: as short as it can be."""
        self.text = text
        self.examples = examples
        self.for_bosses = for_bosses
        """Is it for the lead and humans only? The services say so too; teammates need not even see it."""
        self.is_work = is_work
        """Does it need a worker with a name? Ten scripts that are nobody in particular would share one claim."""
        self.is_destructive = is_destructive
        self.is_idempotent = is_idempotent
        self.within = within
        """The tool that does it too, so that there is none for it alone: every agent reads every tool."""

    def does(self, acting: Acting, given: Given) -> Done | Claimed:
        module = __import__(f"atm.ui.verbs.{self.home}", fromlist=["DOES"])
        verb: Does = module.DOES[self.tool]
        if given.has("id") and any(one.name == "id" for one in self.parameters):
            given = given.with_values({"id": acting.meant(given.text("id"))})
        return verb(acting, given)


class Acting:
    """Who does it, in which team, with what."""

    __slots__ = ("boardroom", "is_boss", "team", "who")

    def __init__(self, boardroom: Boardroom, team: Team, who: str, *, is_boss: Callable[[], bool]) -> None:
        self.boardroom = boardroom
        self.team = team
        self.who = who
        self.is_boss = is_boss
        """Does the surface know them as the lead or a human? Asked only by what it must not offer to others."""

    def meant(self, said: str) -> str:
        """The number of a task that is called by it, or by its title."""
        return number_of(self.boardroom, self.team.name, said)


class Given:
    """Arguments that were checked, by name and type. What was not given is empty."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def with_values(self, more: Mapping[str, object]) -> Given:
        return Given({**self._values, **more})

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def text(self, key: str) -> str:
        value = self._values.get(key)
        return value if isinstance(value, str) else ""

    def whole(self, key: str, default: int = 0) -> int:
        value = self._values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def number(self, key: str, default: float = 0.0) -> float:
        value = self._values.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else default

    def flag(self, key: str) -> bool:
        return self._values.get(key) is True

    def texts(self, key: str) -> list[str]:
        value = self._values.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Done:
    """What a verb did to a task, in one line and in facts."""

    __slots__ = ("board", "details", "facts", "parts", "task", "verdict", "warnings", "words")

    def __init__(
        self,
        task: Task,
        words: str,
        *,
        board: Board | None = None,
        warnings: Sequence[str] = (),
        facts: dict[str, Plain] | None = None,
        details: dict[str, Plain] | None = None,
        parts: Sequence[Task] | None = None,
        verdict: HookVerdict | None = None,
    ) -> None:
        self.task = task
        self.words = words
        """Texts of others are in it as they are: whoever shows it makes them harmless."""
        self.board = board
        self.warnings = warnings
        self.facts = facts or {}
        self.details = details or {}
        """For programs that can have all of it; a model is spared them."""
        self.parts = parts
        """Tasks that were made of it."""
        self.verdict = verdict
        """What the hooks of the board said."""


def number_of(boardroom: Boardroom, team: str, said: str) -> str:
    """The number of the task that is meant. Where the number itself is said, the board is not read."""
    from atm.board.rules.naming import is_number, meant_task
    from atm.board.rules.tasks import task_id

    return task_id(said) if is_number(said) else meant_task(boardroom.tasks.board(team), said)


def ids(numbers: Sequence[str], most: int = 10) -> str:
    shown = " ".join(f"#{id}" for id in numbers[:most])
    return shown if len(numbers) <= most else f"{shown} and {len(numbers) - most} more"
