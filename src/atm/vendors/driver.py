"""
Drivers: how a host speaks with the agent program that it has started without a terminal.

One for each protocol (Claude Code's stream-json, Codex's app-server, ACP, OpenCode's server, plain programs). A driver
owns the process's pipes and never its life: the host starts and ends processes. Its threads read and write pipes and
nothing else; what it hears it puts into the host's queue, in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from atm.core.plain import Plain
else:
    Protocol = object

READY, WORKING, IDLE, QUESTION, WITHDRAWN, USAGE, OUTPUT, TROUBLE, GONE = (
    *("ready", "working", "idle", "question", "withdrawn"),
    *("usage", "output", "trouble", "gone"),
)
"""What can be heard: it may be spoken to; a turn began; a turn ended; it asks for permission; it asks no more; tokens
and cost so far; a line for people; something is wrong and it goes on; it will not speak again."""

DEFAULT, EDITS, PLAN, ASKS = "default", "edits", "plan", "asks"
"""
How far an agent may go by itself: it asks; it may edit files without asking; it writes nothing; it asks for everything
that it can ask for, because somebody answers.
"""

SESSION, PROCESS = "session", "process"
"""What a vendor's numbers are counted over: all of the conversation, or since the process began."""


class Heard:
    """One thing that the agent said or did."""

    __slots__ = ("facts", "kind", "text")

    def __init__(self, kind: str, text: str = "", **facts: Plain) -> None:
        self.kind = kind
        self.text = text
        """For people. With IDLE, the agent's last words; with GONE, why, where that is known."""
        self.facts = facts
        """
        `session`: the vendor's own id, with READY. `ok`, `error`: how a turn ended, with IDLE; an exit code is no proof
        of it. `id`, `tool`, `input`, with QUESTION; `id`, with WITHDRAWN. `tokens`, `cost`, `context_percent`, with
        USAGE: None where the vendor does not tell; `counts` is SESSION or PROCESS.
        """

    def __repr__(self) -> str:
        return f"Heard({self.kind!r}, {self.text!r}, {self.facts!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a driver has to know of the agent that it speaks with."""

    cwd: str
    model: str = ""
    mode: str = DEFAULT
    after_plan: str = DEFAULT
    """The mode for the work, once a plan was approved."""
    resume: str = ""
    """The vendor's id of a session that shall go on; empty for a new one."""
    session: str = ""
    """The id for a new session, where the vendor lets one choose."""
    instructions: str = ""
    """Beside its own system prompt. Said by the driver where the command line cannot say it."""
    writable: Sequence[str] = ()
    """Folders outside `cwd` that a sandbox must be told of: the repository's git folders."""
    environment: dict[str, str] = field(default_factory=dict)
    """For the agent's shells, where the vendor sets them for each conversation."""
    port: int = 0
    password: str = ""
    """Of a server that is spoken to over HTTP."""
    tools: Sequence[str] = ()
    """The only tools that it shall have, where the protocol can say so; empty for all."""

    @property
    def plans(self) -> bool:
        return self.mode == PLAN


class Driver(Protocol):
    """Speaks one protocol with one process."""

    explains_late: bool
    """It says why something was refused with the next prompt, and not before."""

    def begin(self, hear: Callable[[Heard], None]) -> None:
        """
        Shake hands. Returns at once; READY is heard when the agent can be spoken to, or GONE when it cannot be.

        `hear` is called by several threads, one at a time, and must not wait.
        """

    def say(self, text: str) -> bool:
        """
        A prompt: a new turn, or words into the one that runs where the vendor can do that. False if it cannot now;
        then the host says it again after IDLE. What the vendor did not take after all ends as a turn that failed.
        """

    def answer(self, question: str, *, allow: bool, reason: str = "") -> None:
        """
        The answer to a QUESTION, by its id. Silence is never taken for yes. One that is no longer open is passed over.
        """

    def go_to_work(self) -> None:
        """Its plan was approved: from the next prompt on it works in the mode that its brief names for that."""

    def interrupt(self) -> None:
        """End the turn that runs, its tool included where the vendor can do that."""

    def close(self) -> None:
        """Say goodbye: after this the process should end by itself, or at the first signal. Never waits long."""

    def forget(self) -> None:
        """The process has ended: GONE is heard now, even if something that it left behind holds its pipes."""
