"""
How much is tried: what a change could break in every run, and all of it in `make chaos`.

A disk can refuse at every step, and in several ways. The way matters in a handful of places, which have a table of
their own in `tests/system/files/test_refusals.py`; everywhere else only the step does. So the ways take turns: every
step is refused once, and every call (`write`, `sync`, `rename`, ...) is refused in every way as soon as it is made four
times. `make chaos` goes round once for each way, and so tries all pairs.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONG = os.environ.get("ATM_CHAOS") == "long"

WAYS = ("ENOSPC", "EACCES", "EROFS", "EIO")
ROUNDS = range(len(WAYS)) if LONG else range(1)
"""For `parametrize`: in each round every step is refused in another way."""


def examples(usual: int) -> int:
    """So many generated cases; ten times as many in `make chaos`, where they are new ones each time."""
    return usual * 10 if LONG else usual


@dataclass(frozen=True)
class Refusal:
    """What the disk says at one step."""

    step: int
    call: str
    way: str

    def __str__(self) -> str:
        return f"{self.way} at step {self.step} ({self.call})"

    @property
    def error(self) -> OSError:
        return an_error(self.way)


def an_error(way: str) -> OSError:
    number = getattr(errno, way)
    return OSError(number, os.strerror(number))


def refusals(steps: Sequence[str], turn: int = 0) -> Iterator[Refusal]:
    """
    Each step refused once. Where there are several scenarios, each should begin with another turn.

    Counted for each call by itself: a loop of four calls would else be refused in the same four ways for ever.
    """
    made = Counter[str]()
    for step, call in enumerate(steps):
        yield Refusal(step, call, WAYS[(turn + made[call]) % len(WAYS)])
        made[call] += 1
