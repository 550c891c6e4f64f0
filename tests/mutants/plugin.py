"""
The part of a mutant run that lives in pytest: which tests run, in which order, for how long, and what came of it.

Everything is written down the moment it is known. A mutant may hang or end the whole process, and what was going on
then is the answer.
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.mutants import following


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mutants")
    group.addoption("--tests-from", help="a JSON file: seconds that each test may take, in the order to run them")
    group.addoption("--tell", help="the file to which results go, one JSON object in each line")
    group.addoption("--notes", help="a folder for the lines that each test runs; without it nothing is followed")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tell"):
        config.pluginmanager.register(_Reporter(config), "mutants-reporter")


class _Reporter:
    """Runs the wanted tests and tells about each."""

    def __init__(self, config: pytest.Config) -> None:
        wanted = config.getoption("--tests-from")
        self._limits: dict[str, float] = json.loads(Path(wanted).read_bytes()) if wanted else {}
        self._tell = os.open(config.getoption("--tell"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._notes = config.getoption("--notes")
        self._number = 0
        self._seconds = 0.0
        self._outcome = "passed"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._limits:
            places = {name: place for place, name in enumerate(self._limits)}
            items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._say(began=item.nodeid)
        self._seconds, self._outcome = 0.0, "passed"
        self._number += 1
        limit = self._limits.get(item.nodeid)
        if limit:
            # A thread of C that ends the process: no mutant can hold it up, not even with all signals blocked.
            faulthandler.dump_traceback_later(limit, exit=True, file=self._tell)
        self._begin_notes()
        try:
            return (yield)
        finally:
            self._end_notes()
            faulthandler.cancel_dump_traceback_later()
            lines = str(self._number) if self._notes else None
            self._say(ended=item.nodeid, outcome=self._outcome, seconds=round(self._seconds, 4), lines=lines)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        if report.outcome != "passed" and self._outcome != "failed":
            self._outcome = report.outcome

    def _begin_notes(self) -> None:
        if self._notes:
            path = Path(self._notes, str(self._number))
            path.touch()
            Path(following.CURRENT).write_text(str(path))
            following.follow_current()

    def _end_notes(self) -> None:
        if self._notes:
            following.stop_following()
            os.remove(following.CURRENT)

    def _say(self, **what: Any) -> None:
        os.write(self._tell, json.dumps(what).encode() + b"\n")
