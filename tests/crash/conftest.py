"""
For all who count steps: how many something takes must not depend on how busy this machine is.

The files decide by the clock how closely to look. A file of the last 50 ms is read once more, because its stamp could
hide a second change; a roster is remembered when it is two seconds old; a lock that is held for two seconds is touched.
A process that another one keeps from its processor for so long takes fewer steps, or more, than it took when they were
counted, and is not killed where a test says. So here a file is young for far longer than any trial takes, and still old
for whoever comes half a minute later.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from tests.chaos import LONG, LOOKING, kills
from tests.in_memory import in_memory

from atm.board.adapters import board_scan
from atm.files.adapters import locking, rewriting
from atm.team.adapters import team_store
from atm.testing import FaultyDisk

YOUNG = 25.0
"""Seconds. Less than the half minute after which what a killed process left is cleared away."""


def stretch_moments(put: Callable[[object, str, float], None] = setattr, young: float = YOUNG) -> None:
    """Also called in processes that tests start."""
    for module in (rewriting, board_scan):
        put(module, "FINE_TICK_NS", int(young * 1e9))
        put(module, "COARSE_TICK_NS", int(young * 1e9))
    put(team_store, "SETTLED", young)
    put(locking, "REFRESH_AFTER", YOUNG)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    yield from in_memory(tmp_path)


@pytest.fixture
def young() -> float:
    return YOUNG


@pytest.fixture(autouse=True)
def _moments(monkeypatch: pytest.MonkeyPatch, young: float) -> None:
    stretch_moments(monkeypatch.setattr, young)


@contextmanager
def made_by(prepare: Callable[[Path], object], folder: Path) -> Iterator[Path]:
    """
    A home for one step. Gone afterwards.

    Made anew each time and not copied: we know our own files again by where they lie and by their numbers on the disk,
    and in a copy we would go the long way of somebody who does not.
    """
    home = folder / "home"
    prepare(home)
    yield home
    shutil.rmtree(home)


def copied_or(make: Callable[[Path], object], home: Path) -> None:
    """
    The beginning of such a home: what `make` makes, made once for all homes of a folder.

    Only for what is read and written again before the steps are counted, so that we know its files by then.
    """
    first = home.with_name("first")
    if not first.exists():
        make(first)
    shutil.copytree(first, home, symlinks=True, copy_function=shutil.copy)  # without the times: it is young


ACCIDENTAL = re.compile(
    rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+\.\d+|[0-9a-f]{8,}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d{5,}"
    rb'|(?<="trusted": )\[[\d, ]*\]\}\s*|(?<="pid": )\d+'
)
"""
Ids, hashes, times, and the numbers of processes and files: they differ each time, and mean nothing by it.

The last two are short where the machine has just started, and longer from one file to the next. A time in seconds comes
before hashes: its whole seconds look like one, and of a thousand times one has a fraction of four digits only.
"""


class Left:
    """
    What processes have left that were killed, or gave up, so far.

    One that was stopped after it only looked leaves what the one before has left, and whoever comes next does the same
    with it. To see him do it takes far longer than to compare, so it is seen once; in `make chaos` each time.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()

    def is_new(self, home: Path, told: object = None) -> bool:
        """`told` is what the process said before, if that matters for what comes next."""
        state = hash((told, *sorted(self._facts(str(home)))))
        is_new = LONG or state not in self._known
        self._known.add(state)
        return is_new

    def _facts(self, folder: str) -> Iterator[tuple[bytes, int, bytes]]:
        with os.scandir(folder) as found:
            entries = [*found]
        for entry in entries:
            content = b""
            if entry.is_dir(follow_symlinks=False):
                yield from self._facts(entry.path)
            elif entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    content = file.read()
            name = ACCIDENTAL.sub(b"#", os.fsencode(entry.path))
            yield name, entry.stat(follow_symlinks=False).st_mode, ACCIDENTAL.sub(b"#", content)


def silent_kills(steps: Sequence[str]) -> list[int]:
    """
    Of `kills`, those of a process that tells nobody anything: right before each change, and after the last. What it
    leaves right after a change is what it leaves right before the next.
    """
    tried = kills(steps)
    return [step for step in tried if LONG or step == tried[-1] or steps[step] not in LOOKING]


class ClosingDisk(FaultyDisk):
    """A file that could not be closed without an error is closed nevertheless, as on Linux."""

    def _check(self, name: str, args: tuple[Any, ...]) -> None:
        try:
            super()._check(name, args)
        except OSError:
            if name == "close":
                os.close(args[0])
            raise


# Real signals.

ZYGOTE = """
import importlib, os, sys
from tests.crash.conftest import stretch_moments

stretch_moments(young=float(sys.argv[3]))
act = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])

for line in sys.stdin:
    child = os.fork()
    if not child:
        act(*line.rstrip("\\n").split("\\t"))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Zygote:
    """
    A process that makes a copy of itself for everyone who is to be killed.

    To start Python anew for each takes fifty times as long, and tells nothing more: what is killed is a process with a
    number, files and locks of its own.
    """

    def __init__(self, act: Callable[..., object], young: float) -> None:
        """`act` is a function of a test module; it is called with texts."""
        command = [sys.executable, "-c", ZYGOTE, act.__module__, act.__name__, str(young)]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=Path(__file__).parents[2])

    def __call__(self, *words: object) -> int:
        """The exit code of a copy that acts; -9 if it was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


@pytest.fixture
def zygote(young: float) -> Iterator[Callable[[Callable[..., object]], Zygote]]:
    made: list[Zygote] = []

    def start(act: Callable[..., object]) -> Zygote:
        made.append(Zygote(act, young))
        return made[-1]

    yield start
    for each in made:
        each.end()
