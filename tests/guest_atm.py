"""
`atm` as a guest of the test's own process: a command costs what it does, a twentieth of what a process costs.

The command has streams, an environment, a folder and a umask of its own, and everything is put back afterwards. It has
no process of its own: where that is the subject (who its parent is, what it leaves, how a signal ends it), tests
have their commands forked (`tests/quick_atm.py`), and so is what starts or ends processes itself (`HOSTS`).
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from types import ModuleType
from typing import TextIO, cast

from tests.quick_atm import MOST_INPUT, TimedOut, import_everything, interpreter_facts
from tests.unhurried.longer import BOUNDS, Change, changes

HOSTS = frozenset({"daemon", "demo", "down", "hook", "kill", "logs", "mcp", "permit", "run", "spawn", "stop", "up"})
"""Verbs that start or end processes, or set timers and handlers for their own."""

THREADS = threading.active_count()
"""Of the test runner itself."""


def may_be_guest(words: Sequence[str], environment: Mapping[str, str], data: bytes, unhurried: str) -> bool:
    """Can this command share our process, which Python has started for other ends?"""
    verbs = [word for word in words if not word.startswith("-")][:1]
    ours = [fact for fact in interpreter_facts(dict(os.environ)) if not fact[0].startswith("PYTHON")]
    theirs = [fact for fact in interpreter_facts(dict(environment)) if fact != ("PYTHONPATH", unhurried)]
    return (
        sys.platform != "win32"
        and HOSTS.isdisjoint(verbs)
        and ours == theirs
        and len(data) <= MOST_INPUT
        and threading.active_count() <= THREADS
        and asyncio._get_running_loop() is None
    )


def run_here(
    words: Sequence[str], environment: Mapping[str, str], folder: str, data: bytes, seconds: float
) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors of one command."""
    from atm.ui.cli.main import main

    longer = longer_bounds() if "PYTHONPATH" in environment else nullcontext()
    with own_streams(data) as (out, err), own_surroundings(environment, folder), longer, at_most(seconds):
        sys.argv = ["atm", *words]
        code = main([*words])
        sys.stdout.flush()
        sys.stderr.flush()
        return code, written_to(out), written_to(err)


@contextmanager
def own_streams(data: bytes) -> Iterator[tuple[int, int]]:
    """Of the process too, for programs that the command starts. What it says comes to files in memory."""
    asked, ask = os.pipe()
    os.write(ask, data)
    os.close(ask)
    theirs = [asked, os.memfd_create("out"), os.memfd_create("err")]
    kept = [os.dup(number) for number in range(3)]
    objects = sys.stdin, sys.stdout, sys.stderr
    try:
        for number, stream in enumerate(theirs):
            os.dup2(stream, number)
        sys.stdin, sys.stdout, sys.stderr = text_of(0, "r"), text_of(1, "w"), text_of(2, "w", buffering=1)
        yield theirs[1], theirs[2]
    finally:
        sys.stdin, sys.stdout, sys.stderr = objects
        for number, stream in enumerate(kept):
            os.dup2(stream, number)
        for stream in (*kept, *theirs):
            os.close(stream)


def text_of(number: int, mode: str, buffering: int = -1) -> TextIO:
    """As Python opens them, in whatever language this machine speaks."""
    codec = sys.__stdin__ or sys.__stderr__
    encoding, errors = (codec.encoding, codec.errors) if codec else (None, None)
    return cast(TextIO, open(number, mode, buffering, encoding, errors, closefd=False))


def written_to(stream: int) -> bytes:
    return os.pread(stream, os.fstat(stream).st_size, 0)


@contextmanager
def own_surroundings(environment: Mapping[str, str], folder: str) -> Iterator[None]:
    was, place, words, mask = dict(os.environ), os.getcwd(), sys.argv, os.umask(0o077)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in a program; what is about tests is an error there
            yield
    finally:
        os.umask(mask)
        os.chdir(place)
        sys.argv = words
        os.environ.clear()
        os.environ.update(was)


@contextmanager
def longer_bounds() -> Iterator[None]:
    """What `tests/unhurried` does to a process, for as long as the command runs."""
    former = [(holder, name, getattr(holder, name)) for holder, name, _ in bounds()]
    for holder, name, value in bounds():
        setattr(holder, name, value)
    try:
        yield
    finally:
        for holder, name, value in former:
            setattr(holder, name, value)


@cache
def bounds() -> list[Change]:
    """Also where another module has taken one by its name. All are imported: nobody takes a longer one for good."""
    import_everything()
    modules = {name: importlib.import_module(name) for name in BOUNDS}
    others = [module for name, module in sys.modules.items() if name.startswith("atm.")]
    return [
        change
        for home, names in BOUNDS.items()
        for module in others
        for change in changes(module, [name for name in names if is_the_same(modules[home], module, name)])
    ]


def is_the_same(home: ModuleType, module: ModuleType, name: str) -> bool:
    return getattr(module, name, None) is getattr(home, name)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """A command that hangs fails its test and no other."""

    def end(*_: object) -> None:
        raise TimedOut

    former = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if what was interrupted swallows everything
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
