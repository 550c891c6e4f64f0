"""What drivers put into words for a model."""

from __future__ import annotations

NO_REASON = "not permitted; no reason was given. Go on without it, or ask a teammate."
PLANNING = "you are planning: nothing is written or run now. Hand in the plan first."


def as_words(text: str, commands: str) -> str:
    """
    What is said is never a command of the program itself, however it begins: mail would be lost in one, or do things
    that nobody asked for.
    """
    return f"Read this:\n{text}" if text.lstrip().startswith(tuple(commands)) else text


def with_reasons(reasons: list[str], text: str) -> str:
    """A prompt, and before it why the agent was refused something: for vendors whose refusals carry no reason."""
    return "\n\n".join([*reasons, text])


def refusal(call: str, reason: str) -> str:
    return f"You asked for permission ({call}) and were refused: {reason}"
