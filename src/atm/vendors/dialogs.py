"""
What a program in a terminal asks a person, told from the visible lines of its pane.

Pure. `panes` decides whether a question is in front; this module says which one it is, in words of ours: text from the
screen is untrusted and changes with every version of a program. Recorded screens of the real programs are its tests
(tests/corpus/screens).
"""

from __future__ import annotations

from functools import cache

from atm.vendors.panes import asks, below_composer
from atm.vendors.screen import SIGN_IN, squeezed
from atm.vendors.screens import questions, words

OTHER = "a question that its window shows"
UNRECOGNISED = "something that atm does not know"
"""Noted of a window that shows neither a composer nor a known question, while no session of its agent is known."""


def asked_in_words(question: str) -> str:
    """A clause about the agent, for a question that was noted of its window."""
    if question == UNRECOGNISED:
        return "no session of it is known yet, and atm does not recognise what its window shows"
    return f"its program asks a person {question}"


def question_on(screen: str) -> str:
    """What the program asks a person, to be read after `it asks`; empty if no question is in front."""
    if not asks(screen):
        status = squeezed(below_composer(screen)).lower()
        return SIGN_IN if any(word in status for word in _signed_out()) else ""
    text = squeezed(screen).lower()
    return next((question for word, question in _known() if word in text), OTHER)


@cache
def _known() -> tuple[tuple[str, str], ...]:
    return questions()


@cache
def _signed_out() -> tuple[str, ...]:
    return words(lambda screen: screen.signed_out)
