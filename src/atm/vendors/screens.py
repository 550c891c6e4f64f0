"""
The words of all programs' windows. A screen is compared with those of all at once: a window does not say whose it is.
"""

from __future__ import annotations

from atm.vendors.known import every
from atm.vendors.screen import PASSWORD, PERMISSION, SIGN_IN, Screen, squeezed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OF_OTHERS = Screen(
    asking=("(y)es/(n)o", "use arrow keys", "(y/n)", "[y/n]", "(yes/no)", "password:", "passphrase"),
    asking_near=("enter your api key",),
    suggestions=("add a follow-up",),
    questions=(("enter your api key", SIGN_IN), ("password:", PASSWORD), ("passphrase", PASSWORD)),
)
"""Of programs that are no vendors here, and of what any program may start."""


def words(which: Callable[[Screen], Sequence[str]]) -> tuple[str, ...]:
    """Of all programs, each once."""
    return tuple(dict.fromkeys(squeezed(word).lower() for screen in _screens() for word in which(screen)))


def questions() -> tuple[tuple[str, str], ...]:
    """The first that fits is the answer: what a program asks before it can work comes first."""
    found = [(squeezed(text).lower(), asked) for screen in _screens() for text, asked in screen.questions]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one[1] == PERMISSION))


def _screens() -> Iterator[Screen]:
    yield from (screen for vendor in every() if (screen := vendor.screen) is not None)
    yield OF_OTHERS
