"""
Timing on a machine that is not ours alone.

Variants take turns, round after round, so that a noisy neighbour hits all of them alike; what counts is the ratio of
two variants within a round. Nothing here knows what is measured.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SETTLE = 0.08
"""Seconds between preparing and measuring. Files changed a moment ago are handled with more care by atm (their time
stamps prove nothing yet); the case that people meet is a file that has lain there for a while."""


def nothing() -> None:
    """Nothing to prepare, or nothing to check."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Something to time. `prepare` and `check` run before and after it, outside the clock."""

    name: str
    run: Callable[[], None]
    prepare: Callable[[], None] = nothing
    check: Callable[[], None] = nothing


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds that one variant took, round by round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def milliseconds(self) -> str:
        return f"{self.median * 1000:.1f} ms"


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as long: the median over the rounds, and the quartiles around it."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(times: Times, unit: Times) -> Ratio:
    """Compared within each round: when the machine is busy for a while, both were timed in that while."""
    each = [one / other for one, other in zip(times.seconds, unit.seconds, strict=True)]
    low, middle, high = statistics.quantiles(each, n=4, method="inclusive") if len(each) > 1 else each * 3
    return Ratio(middle, low, high)


def round_robin(variants: Sequence[Variant], rounds: int, tick: Callable[[int], None]) -> dict[str, Times]:
    """Time every variant once in each round, beginning with another one each time. One round more is thrown away."""
    taken: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for number in range(rounds + 1):
        tick(number)
        first = number % len(variants)
        for name, seconds in _one_round([*variants[first:], *variants[:first]]).items():
            if number:  # the first round warms caches up
                taken[name].append(seconds)
    return {name: Times(tuple(seconds)) for name, seconds in taken.items()}


def _one_round(variants: Sequence[Variant]) -> Mapping[str, float]:
    for variant in variants:
        variant.prepare()
    os.sync()  # else the first fsync that we time would pay for what was prepared
    time.sleep(SETTLE)
    taken = {}
    for variant in variants:
        started = time.perf_counter()
        variant.run()
        taken[variant.name] = time.perf_counter() - started
    for variant in variants:
        variant.check()
    return taken


@dataclass(frozen=True, slots=True)
class Program:
    """A command line, started with as little between it and the clock as there can be."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    stdin: str = os.devnull

    def __call__(self) -> None:
        os.chdir(self.folder)  # posix_spawn takes no working folder
        pid = os.posix_spawn(self.words[0], self.words, self.environment, file_actions=_files(self.stdin))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            raise RuntimeError(f"exit code {code} of {' '.join(self.words)}")


def _files(stdin: str) -> list[tuple[int, int, str, int, int]]:
    return [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the numbers come from, in general words."""

    cores: int
    architecture: str
    system: str
    python: str
    file_system: str

    def __str__(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"{self.system} on {self.architecture}, {cores}, {self.python}, temporary files on {self.file_system}"


def describe_machine(folder: str) -> Machine:
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        architecture=platform.machine(),
        system=platform.system(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        file_system=file_system_of(folder),
    )


def file_system_of(folder: str) -> str:
    """The kind of file system a folder lies on, where the system says so."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return "an unknown file system"
    real = os.path.realpath(folder)
    over = [(point, kind) for point, kind in mounts if real == point or real.startswith(point.rstrip("/") + "/")]
    return max(over, key=lambda mount: len(mount[0]))[1] if over else "an unknown file system"
