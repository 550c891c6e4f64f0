"""
The MCP server's entry in the settings of an agent program: what starts it, and whose an entry is.

Pure and light. An entry of ours is called `atm` and starts `… atm mcp …`; whoever else is called `atm` is not touched.
"""

from __future__ import annotations

from atm.core.errors import UsageError
from atm.core.names import check_known_name, check_sender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER_NAME = "atm"
VERB = "mcp"

PASSED_ON = (
    *("ATM_TEAM", "ATM_IDENTITY", "ATM_ROLE", "ATM_CONFIG", "ATM_HOME"),
    *("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
)
"""
Variables that say who an agent is and where its files lie. Codex gives a server a handful of variables and those that
its entry names (openai/codex #5246); the other programs hand on their own environment.
"""

LONGEST_WORD = 4096
MOST_WORDS = 64
"""A longer command is none of ours."""


class Identity:
    """Whom a server acts for, as far as its entry says so. What it does not say, the environment does."""

    __slots__ = ("member", "role", "team")

    def __init__(self, team: str = "", member: str = "", role: str = "") -> None:
        self.team = check_known_name(team, "team") if team else ""
        self.member = check_sender(member) if member else ""
        self.role = role
        for word in (self.team, self.member, self.role):
            if word.startswith("-"):
                raise UsageError(f"{word!r} looks like an option", "give the name of a team or a member")

    def __bool__(self) -> bool:
        return bool(self.team or self.member or self.role)

    @property
    def words(self) -> tuple[str, ...]:
        named = (("--team", self.team), ("--as", self.member), ("--role", self.role))
        return tuple(word for flag, name in named if name for word in (flag, name))


class ServerEntry:
    """An entry called `atm`: ours if it starts atm, else another program's."""

    __slots__ = ("is_off", "program", "words")

    def __init__(self, program: tuple[str, ...], words: tuple[str, ...], *, is_off: bool = False) -> None:
        self.program = program
        """Empty if it is not ours."""
        self.words = words
        """What follows `mcp`."""
        self.is_off = is_off
        """Does the entry itself say that it is not to be started?"""

    @property
    def is_ours(self) -> bool:
        return bool(self.program)


def command_of(program: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    return (*program, VERB, *words)


def read_command(command: object, *, is_off: bool = False) -> ServerEntry:
    """What a list of words starts."""
    if isinstance(command, list | tuple) and len(command) <= MOST_WORDS and VERB in command:
        at = command.index(VERB)
        program = command[:at]
        if is_atm(program) and all(isinstance(word, str) and len(word) <= LONGEST_WORD for word in command):
            return ServerEntry(tuple(program), tuple(command[at + 1 :]), is_off=is_off)
    return ServerEntry((), (), is_off=is_off)


def is_atm(program: Sequence[object]) -> bool:
    """`atm`, a path to it, or Python's `-m atm`."""
    if not program or not isinstance(program[0], str):
        return False
    if list(program[1:]) == ["-m", "atm"]:
        return True
    name = program[0].replace("\\", "/").rpartition("/")[2].lower()
    return len(program) == 1 and name in ("atm", "atm.exe")
