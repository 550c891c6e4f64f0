"""
A pytest plugin: a test that leaves something behind fails, and says what.

Looked at after each test's teardown: processes, threads, sockets, entries of the temporary folder, the environment,
the folder, the handlers of signals. What a fixture of a wider scope made is shared on purpose and is looked at when
the session ends. Each test runner has a temporary folder of its own, so that what is in it is its own doing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
from tests.in_memory import root_of_a_run

P = ParamSpec("P")
T = TypeVar("T")

PROC = Path("/proc")
TASKS, FILES = "/proc/self/task", "/proc/self/fd"
HAS_PROC = os.path.isdir(TASKS)
"""Looked at twice for each of twenty thousand tests: as strings, which cost a fifth of what paths do."""
PATIENCE = 10.0
"""Seconds for what is ending just now. Nothing waits here when all is well."""

ENDING = 0.25
"""Seconds that a thread or a child may need to end by itself. Looking through all objects takes long."""

BECOMING = 0.1
"""Seconds after which a process without an environment is one that was given none."""

SIGNALS = [signal.SIGINT, signal.SIGTERM, *(getattr(signal, name) for name in ("SIGHUP",) if hasattr(signal, name))]


@dataclass
class Traces:
    """What a test could leave behind, as it is at one moment."""

    processes: set[int] = field(default_factory=set)
    threads: set[threading.Thread] = field(default_factory=set)
    sockets: set[str] = field(default_factory=set)
    temporary: set[str] = field(default_factory=set)

    def __ior__(self, other: Traces) -> Traces:
        for name, found in vars(other).items():
            getattr(self, name).update(found)
        return self

    def __sub__(self, other: Traces) -> Traces:
        return Traces(**{name: found - getattr(other, name) for name, found in vars(self).items()})

    def __bool__(self) -> bool:
        return any(vars(self).values())


def look() -> Traces:
    """Now: children that run or were not waited for, threads, open sockets, what lies in the temporary folder."""
    return Traces(_children(), set(threading.enumerate()), _sockets(), set(os.listdir(tempfile.gettempdir())))


def _children() -> set[int]:
    found: set[int] = set()
    for task in os.listdir(TASKS) if HAS_PROC else []:
        try:
            with open(f"{TASKS}/{task}/children", "rb", 0) as file:
                found.update(map(int, file.read().split()))
        except OSError:
            continue  # the thread has ended
    return found


def _sockets() -> set[str]:
    found = set()
    for number in os.listdir(FILES) if HAS_PROC else []:
        try:
            target = os.readlink(f"{FILES}/{number}")
        except OSError:
            continue  # the one for this listing
        if target.startswith("socket:"):
            found.add(target)
    return found


def strangers_of(marks: list[bytes]) -> dict[int, str]:
    """Processes with one of these in their environment or as their folder, whoever their parent is now."""
    found = {}
    for name in os.listdir(PROC) if PROC.is_dir() else []:
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            facts = _environment_of(name) + os.readlink(PROC / name / "cwd").encode()
            if any(mark in facts for mark in marks):
                found[int(name)] = (
                    (PROC / name / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
        except OSError:
            continue  # it has ended meanwhile, or is somebody else's
    return found


def _environment_of(name: str) -> bytes:
    """Whoever is just becoming another program has none for a moment: one look would miss what a shell has begun."""
    end = time.monotonic() + BECOMING
    while not (found := (PROC / name / "environ").read_bytes()) and name not in _has_none:
        os.readlink(PROC / name / "exe")  # raises OSError for the kernel's own, and for what has ended
        if time.monotonic() > end:
            _has_none.add(name)
        time.sleep(0.001)
    return found


_has_none: set[str] = set()
"""Processes without any environment, also after a while."""


class Watch:
    """Compares what there is before and after each test of this runner."""

    def __init__(self) -> None:
        self.shared = Traces()
        self.before = Traces()
        self.has_started = False
        """Did the test start a process? If not, there is no need to search all of them."""
        self.folder = ""
        """The temporary folder of this runner."""
        self.named: set[str] = set()
        """What lies there for which a test has failed."""
        self.left_at_the_end: list[str] = []
        """What lay there when all tests of all runners were over."""
        self._state: tuple[Any, ...] = ()

    def begin(self) -> None:
        self.before = look()
        self.has_started = False
        self._state = _surroundings()

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        """What is made here may outlive the test."""
        before = look()
        yield
        self.shared |= look() - before

    def left_by(self, marks: list[bytes]) -> list[str]:
        """What is still there of a test whose processes carry one of these marks."""
        left, strangers = self._settled(marks if self.has_started else [])
        self.named |= left.temporary
        said = [f"process {pid}: {words}" for pid, words in strangers.items()]
        said += [f"child {pid}, ended or not, was not waited for" for pid in left.processes - set(strangers)]
        said += [f"thread {thread.name}" for thread in left.threads]
        said += [f"an open {name}" for name in left.sockets]
        said += [f"{tempfile.gettempdir()}/{name}" for name in left.temporary]
        names = ("the environment", "the folder", "the handler of a signal")
        changed = zip(names, self._state, _surroundings(), strict=True)
        return said + [f"{name} is another: {was} is now {now}" for name, was, now in changed if was != now]

    def _settled(self, marks: list[bytes]) -> tuple[Traces, dict[int, str]]:
        """What is left when everything that was about to end has ended."""
        begun = time.monotonic()
        end = begun + PATIENCE
        collected = False
        while True:
            left = look() - self.before - self.shared
            found = strangers_of(marks) if marks else {}
            strangers = {pid: words for pid, words in found.items() if pid not in self.shared.processes}
            if (not left and not strangers) or time.monotonic() > end:
                return left, strangers
            if not collected and time.monotonic() > begun + ENDING:
                gc.collect()  # a socket that nobody holds is open until then
                collected = True
            time.sleep(0.02)


def _marks_of(item: pytest.Item) -> list[bytes]:
    """What stands in the environment of everything that this test started."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    return [f"PYTEST_CURRENT_TEST={item.nodeid} (".encode(), *([os.fsencode(folder)] if folder else [])]


def _surroundings() -> tuple[Any, ...]:
    ours = ("PYTEST_CURRENT_TEST", "TMPDIR")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    return environment, os.getcwd(), [signal.getsignal(number) for number in SIGNALS]


WATCH = Watch()
shared_by_tests = WATCH.share


def _notice() -> None:
    WATCH.has_started = True


def _noticed(start: Callable[P, T]) -> Callable[P, T]:
    def noticed(*args: P.args, **settings: P.kwargs) -> T:
        _notice()
        return start(*args, **settings)

    return noticed


# Not by a hook for audits: Python would ask it at each of the millions of files that are opened.
subprocess.Popen.__init__ = _noticed(subprocess.Popen.__init__)  # type: ignore[assignment, method-assign]
for _name in ("system", "posix_spawn", "posix_spawnp"):
    if hasattr(os, _name):
        setattr(os, _name, _noticed(getattr(os, _name)))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_notice)


def pytest_configure() -> None:
    """
    Begin where a person at a terminal begins.

    `nohup` and shells that start something in the background have some signals ignored, and every child inherits that:
    no Ctrl-C of a test would end its program. A handler, unlike SIG_IGN, is not inherited by what is started.
    """
    # For `tmp_path`, which stays there when `tempdir` moves: what failed tests leave is for people to look at.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(root_of_a_run() or tempfile.gettempdir()))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT", "SIGTERM", "SIGTSTP", "SIGTTIN", "SIGTTOU"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Twenty thousand tests live as long as this process does: nobody need look through them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _move_to_an_own_temporary_folder() -> None:
    """
    For this runner alone; not below pytest's own, because paths of sockets must be short.

    No fixture: a first test that is skipped has none, and would answer for what other runners make meanwhile.
    """
    tempfile.tempdir = os.environ["TMPDIR"] = os.path.realpath(tempfile.mkdtemp(prefix="atm-t", dir=root_of_a_run()))
    WATCH.folder = tempfile.tempdir
    os.chmod(WATCH.folder, 0o755)  # some tests become another user for a moment


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """
    When the fixtures of all scopes are gone, nothing is left but that for which a test has failed.

    No exception: a runner of pytest-xdist would drop it, and who runs tests without that would read nothing else.
    """
    if WATCH.folder:
        WATCH.left_at_the_end += sorted(set(os.listdir(WATCH.folder)) - WATCH.named)
        shutil.rmtree(WATCH.folder, ignore_errors=True)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_at_the_end"] = WATCH.left_at_the_end
    elif WATCH.left_at_the_end and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A runner of pytest-xdist has ended."""
    WATCH.left_at_the_end += getattr(node, "workeroutput", {}).get("left_at_the_end", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if WATCH.left_at_the_end:
        names = ", ".join(WATCH.left_at_the_end)
        terminalreporter.write_line(f"left in the temporary folder when all tests were over: {names}", red=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    if not WATCH.folder:
        _move_to_an_own_temporary_folder()
    WATCH.begin()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    marks = _marks_of(item)  # now: its arguments are gone when its teardown is over
    result = yield
    if left := WATCH.left_by(marks):
        pytest.fail("the test leaves behind:\n  " + "\n  ".join(left), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    if fixturedef.scope == "function":
        return (yield)
    with WATCH.share():
        return (yield)
