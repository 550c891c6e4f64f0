"""
How an agent is run with a program, as data. What is said of vendors' programs was tried with them (docs/vendors.md).

A command line is a list of words in which `{…}` stands for a value; a word whose value is empty is left out, and so is
the option before it. Nothing in here starts a program in a mode that skips its permissions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SCRIPT, COMMAND = "script", "command"
HEADLESS, TMUX = "headless", "tmux"

PLAIN, BOARD = "plain", "board"
"""How a host speaks with it, where that is none of the vendors' protocols: a program that is only started; and no
program at all, where the host itself takes tasks from the board and runs their commands."""


class Runtime:
    """How one kind of agent is started, spoken to, and known."""

    __slots__ = (
        "brings",
        "driver",
        "ends_by_signal",
        "environment",
        "goes_on",
        "headless",
        "ignored",
        "modes",
        "name",
        "origin",
        "program",
        "protocol",
        "remarks",
        "resume",
        "takes_tools",
        "terminal",
        "tools",
        "variables",
        "vendor",
        "version",
    )

    def __init__(
        self,
        name: str,
        *,
        protocol: str,
        program: str = "",
        headless: Sequence[str] = (),
        terminal: Sequence[str] = (),
        resume: Sequence[str] = (),
        tools: Sequence[str] = (),
        modes: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        version: Sequence[str] = (),
        ignored: Sequence[str] = (),
        brings: str = "",
        vendor: str = "",
        ends_by_signal: bool = False,
        goes_on: bool = False,
        takes_tools: bool = False,
        driver: str = "",
        variables: Callable[[str, str], dict[str, str]] | None = None,
        remarks: Sequence[str] = (),
        origin: str = "built in",
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.program = program
        """What must be on the PATH; empty if nothing must."""
        self.headless = [*headless]
        """Without a terminal, to be spoken to by its protocol. Empty: it cannot."""
        self.terminal = [*terminal]
        """In a pane, for eyes; the prompt is part of the line."""
        self.resume = [*resume]
        """Words more, to go on with a session of the vendor's."""
        self.tools = [*tools]
        """Words more, to limit its tools."""
        self.takes_tools = takes_tools
        """Can its protocol be told which tools it may use?"""
        self.modes = dict(modes or {})
        """What it calls our modes (`default`, `edits`, `plan`, `asks`) on its command line."""
        self.environment = dict(environment or {})
        self.version = [*version]
        self.ignored = [*ignored]
        """What it leaves in a worktree, as patterns that git is told to pass over there."""
        self.brings = brings
        """The command that brings the program."""
        self.vendor = vendor
        """As `atm init` and the hooks call it; empty where atm sets nothing up."""
        self.ends_by_signal = ends_by_signal
        """Headless, it stays when its standard input is closed: after the driver's goodbye it needs a SIGTERM."""
        self.goes_on = goes_on
        """Does a run go on with its conversation, after the same task was cut off?"""
        self.driver = driver
        """`module:CLASS` of the driver that speaks its protocol."""
        self.variables = variables
        """Variables for one process: of (mode, a secret that is its own)."""
        self.remarks = [*remarks]
        """What somebody should know who runs it."""
        self.origin = origin


def command_line(template: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """A template's words with values in them; what has no value goes, together with the option before it."""
    words: list[str] = []
    for word in template:
        if not (word.startswith("{") and word.endswith("}")):
            words.append(word)
            continue
        value = values.get(word[1:-1], "")
        if value:
            words.append(value)
        elif words and words[-1].startswith("-"):
            words.pop()
    return words
