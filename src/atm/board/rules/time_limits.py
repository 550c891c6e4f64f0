"""
The limit of a task: how long one attempt may take before atm ends it.

The clock counts the time in which an agent works on the task. Time in which the machine sleeps, or in which the agent
waits for a person, does not count.
"""

from __future__ import annotations

import re

from atm.board.rules.tasks import LONGEST_TIMEOUT
from atm.core.work_errors import BadTask

NO_LIMIT = ("none", "no limit", "unlimited")
_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(d|h|m|s)(?:ays?|ours?|in(?:ute)?s?|ec(?:ond)?s?|rs?)?")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?")
SILENT_AFTER = 60.0
"""Seconds without output after which the silence is mentioned."""


def read_limit(given: str) -> float:
    """`10m`, `1h30m`, `90s`, or a bare number of seconds, as seconds; `none` as 0. Raises BadTask for anything else."""
    word = " ".join(given.lower().split())
    seconds = _seconds(word)
    if seconds is None:
        raise BadTask(f"the timeout {given[:40]!r} is not a length of time", "write it like 90s, 10m, 1h30m, or none")
    return check_limit(seconds)


def _seconds(word: str) -> float | None:
    if word in NO_LIMIT:
        return 0.0
    if _NUMBER.fullmatch(word):
        return float(word)
    total, at = 0.0, 0
    while at < len(word):
        part = _PART.match(word, at)
        if part is None:
            return None
        total += float(part[1]) * _UNITS[part[2]]
        at = part.end()
        while word[at : at + 1] == " ":
            at += 1
    return total if word else None


def check_limit(seconds: float) -> float:
    """A limit that atm can keep: 0 for no limit, or from one second to thirty days."""
    if not (seconds == 0 or 1 <= seconds <= LONGEST_TIMEOUT):
        raise BadTask(f"a timeout of {seconds:g} s cannot be kept", "use between 1s and 30d, or none for no limit")
    return seconds


def limit_in_words(seconds: float | None) -> str:
    """`10m`, `1h30m`, `45s`, as a plan would write it; `no limit` where there is none."""
    if not seconds:
        return "no limit"
    left, said = seconds, ""
    for unit, size in _UNITS.items():
        whole = int(left // size) if unit != "s" else left
        if whole:
            said += f"{whole:g}{unit}"
            left -= whole * size
    return said


def exact_limit(seconds: float) -> str:
    """The same for a plan, so that it is read back as the same number."""
    return limit_in_words(seconds) if seconds else NO_LIMIT[0]


def time_in_words(seconds: float) -> str:
    """A length of time for people, in at most two units: `45 s`, `12 min`, `3 h 5 min`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{minutes} min" if not hours else f"{hours} h {minutes} min" if minutes else f"{hours} h"


def silence_in_words(seconds: float | None) -> str:
    """`no output for 8 min`; empty where output is recent, or where nothing is known of it."""
    return f"no output for {time_in_words(seconds)}" if seconds is not None and seconds >= SILENT_AFTER else ""


def why_ended(limit: float, silent: float) -> str:
    """Why an attempt failed that took too long."""
    silence = f"no output for {time_in_words(silent)}" if silent >= min(SILENT_AFTER, limit / 2) else ""
    return f"it ran longer than its limit of {limit_in_words(limit)}" + (f"; {silence}" if silence else "")


def standing_in_words(worked: float | None, limit: float | None, silent: float | None) -> str:
    """`12 min of 1h, no output for 8 min`; empty where it is not known since when an agent works on its task."""
    if worked is None:
        return ""
    bound = "no limit" if not limit else f"of {limit_in_words(limit)}"
    said = f"{time_in_words(worked)} {bound}" if limit else f"{time_in_words(worked)}, {bound}"
    return ", ".join(filter(None, [said, silence_in_words(silent)]))


class TaskClock:
    """
    How long an agent has worked on one task, and for how long it has been silent.

    It is told the time of a clock that stands still while the machine sleeps.
    """

    __slots__ = ("_last", "limit", "silent", "worked")

    def __init__(self, limit: float, now: float) -> None:
        self.limit = limit
        """Seconds; 0 for none."""
        self.worked = 0.0
        self.silent = 0.0
        self._last = now

    def advance(self, now: float, *, is_working: bool = True) -> None:
        """Count the time since the last call, unless the agent waited for a person in it."""
        passed, self._last = max(0.0, now - self._last), now
        if is_working:
            self.worked += passed
            self.silent += passed

    def hear(self) -> None:
        """The agent or its command has just written something."""
        self.silent = 0.0

    @property
    def left(self) -> float:
        """Seconds that remain; only where there is a limit."""
        return max(0.0, self.limit - self.worked)

    @property
    def is_over(self) -> bool:
        return 0 < self.limit <= self.worked
