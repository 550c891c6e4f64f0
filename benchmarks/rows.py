"""A row of the table of results, and the commonest ways to make one."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.measure import Ratio, Times, ratio


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. Without a target it is there for context."""

    what: str
    measured: str
    detail: str = ""
    target: str = ""
    ok: bool | None = None
    why: str = ""
    """The reason, if it is missed."""

    @property
    def verdict(self) -> str:
        return "" if self.ok is None else "ok" if self.ok else "MISSED"


def at_most(what: str, times: Times, unit: Times, most: float, why: str = "") -> Row:
    found = ratio(times, unit)
    detail = f"{times.milliseconds} / {unit.milliseconds}"
    return Row(what, str(found), detail, f"≤ {most}", rounded(found) <= most, why)


def rounded(found: Ratio) -> float:
    return round(found.value, 2)


def beside(what: str, times: Times, unit: Times) -> Row:
    return Row(what, str(ratio(times, unit)), f"{times.milliseconds} / {unit.milliseconds}")
