"""Questions to a person at a terminal. Without one nobody is there to say yes, and the answer is no."""

from __future__ import annotations

import os
import sys

from atm.core.untrusted_text import one_line
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.ui.cli.session import Session


def can_ask(session: Session) -> bool:
    return not session.as_json and at_terminal()


def at_terminal() -> bool:
    """Does a person sit there? Some agent programs give their commands a terminal: these would wait for ever."""
    from atm.vendors.known import in_agents_shells

    is_terminal = bool(sys.stdin) and sys.stdin.isatty() and sys.stderr.isatty()
    return is_terminal and not any(name in os.environ for name in (*in_agents_shells(), "ATM_GENERATION"))


def said_yes_to(words: str) -> bool:
    """What it is about, and the question. Whoever says anything else has said no."""
    return answer_to(f"{words} [y/N]").casefold() in ("y", "yes")


def answer_to(question: str) -> str:
    """What a person types; empty if that is nothing."""
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    interruptions.until_readable(sys.stdin)
    with interruptions:
        return sys.stdin.readline().strip()


def one_of(question: str, choices: Sequence[str]) -> str:
    """One of several, by its number or its name; empty for anything else."""
    shown = "\n".join(f"  {number}  {one_line(one)}" for number, one in enumerate(choices, 1))
    said = answer_to(f"{shown}\n{question} [1-{len(choices)}]")
    if said.isdecimal() and 1 <= int(said) <= len(choices):
        return choices[int(said) - 1]
    return said if said in choices else ""


def as_it_is(value: object) -> str:
    """All that is said yes to: a character that does not show itself, or that we would take out, is spelled."""
    text = value if isinstance(value, str) else str(value)
    return text if one_line(text) == text else ascii(value)
