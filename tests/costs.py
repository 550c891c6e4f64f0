"""
A pytest plugin: what the tests cost, in seconds of CPU time, by folder and by file.

    python -m pytest -n 4 -p tests.costs

What a test, its commands and everything that these started and waited for have used: unlike the time on the wall it
does not depend on who else is at the machine. Not in it: a daemon that nobody waited for, and what a server forked
(`tests/quick_atm.py`, `tests/teamd/forked.py`), which is the server's child.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Generator

import pytest

COST = "cpu"
FOLDERS, FILES, TESTS = 25, 40, 20


def _used() -> float:
    waited_for = os.times()
    return time.process_time() + waited_for.children_user + waited_for.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_BEGUN] = _used()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    now = _used()
    report.user_properties.append((COST, now - item.stash[_BEGUN]))
    item.stash[_BEGUN] = now
    return report


class Costs:
    """Added up where the reports of all runners come together."""

    def __init__(self) -> None:
        self._of: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._of[report.nodeid] += sum(float(str(cost)) for name, cost in report.user_properties if name == COST)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files, folders = defaultdict[str, float](float), defaultdict[str, float](float)
        for test, cost in self._of.items():
            file = test.partition("::")[0]
            files[file] += cost
            folders[os.path.dirname(file).removeprefix("tests/").partition("/")[0]] += cost
        terminalreporter.section(f"CPU time: {sum(folders.values()):.0f} s")
        for counted, most in ((folders, FOLDERS), (files, FILES), (self._of, TESTS)):
            for name, cost in sorted(counted.items(), key=lambda pair: -pair[1])[:most]:
                terminalreporter.write_line(f"{cost:8.1f}  {name}")
            terminalreporter.write_line("")


_BEGUN = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs())
