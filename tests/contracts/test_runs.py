"""Where runs are kept: one suite for the twin and for files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atm.core.errors import AtmError
from atm.core.work_errors import RunActive
from atm.files.adapters.disk import RealDisk
from atm.runs.adapters import RunFiles
from atm.runs.ports import Runs
from atm.runs.rules.limits import Limits
from atm.runs.rules.memory import CLAIMED, STARTED, RunEvent
from atm.runs.rules.orders import AgentSeat, RunOrder, RunRules
from atm.testing.runs import MemoryRuns
from atm.wiring.files import build_locks

ORDER = RunOrder(
    run="r1",
    team="crew",
    folder="/r",
    goal="a goal",
    base="abc",
    seats=[AgentSeat(name="a1", runtime="script", is_script=True, environment={"K": "v"}, command=["x"])],
    leader=AgentSeat(name="lead", runtime="claude"),
    rules=RunRules(restarts=7, overlap=True),
    limits=Limits(minutes=1.5, cost=2.0),
    done_before=["3"],
    tick=True,
)


@pytest.fixture(params=["twin", "files"])
def runs(request, layout) -> Runs:
    if request.param == "twin":
        return MemoryRuns()
    Path(layout.team("crew")).mkdir(parents=True)
    return RunFiles(RealDisk(layout.private_roots), build_locks(layout), layout)


def test_an_order_comes_back_as_it_was(runs):
    runs.write(ORDER)
    assert runs.order("crew", "r1") == ORDER
    assert runs.names("crew") == ["r1"]


def test_what_was_never_written_is_not_there(runs):
    assert runs.order("crew", "r1") is None
    assert runs.events("crew", "r1") == []
    assert runs.report("crew", "r1") is None
    assert runs.names("crew") == runs.names("nobody") == []


def test_events_come_back_in_order_with_what_they_say(runs):
    runs.append("crew", "r1", [RunEvent(STARTED, "r1", 10.0)])
    runs.append("crew", "r1", [])
    runs.append("crew", "r1", [RunEvent(CLAIMED, "7", 11.5, owner="a1", seconds=2.5, none=None)])
    found = runs.events("crew", "r1")
    assert [(one.kind, one.subject, one.at) for one in found] == [(STARTED, "r1", 10.0), (CLAIMED, "7", 11.5)]
    assert found[1].detail == {"owner": "a1", "seconds": 2.5}


def test_who_follows_hears_only_what_is_new(runs):
    runs.append("crew", "r1", [RunEvent(STARTED, "r1", 10.0)])
    first, offset = runs.events_since("crew", "r1", 0)
    assert len(first) == 1
    assert runs.events_since("crew", "r1", offset) == ([], offset)
    runs.append("crew", "r1", [RunEvent(CLAIMED, "7", 11.0)])
    more, _ = runs.events_since("crew", "r1", offset)
    assert [one.kind for one in more] == [CLAIMED]


def test_a_team_has_one_loop(runs):
    assert not runs.is_held("crew")
    with runs.hold("crew"):
        assert runs.is_held("crew")
        with pytest.raises(RunActive), runs.hold("crew"):
            pass
        with runs.hold("other"):
            assert runs.is_held("crew")
    assert not runs.is_held("crew")


def test_a_hundred_readers_at_once_do_not_take_each_other_for_a_loop(runs):
    with runs.hold("crew"):
        pass
    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(lambda _: runs.is_held("crew"), range(100))} == {False}
    with runs.hold("crew"), ThreadPoolExecutor(8) as pool:
        assert {*pool.map(lambda _: runs.is_held("crew"), range(100))} == {True}


def test_a_loop_that_was_killed_holds_nothing_and_whoever_looks_writes_nothing(layout, home):
    files = RunFiles(RealDisk(layout.private_roots), build_locks(layout), layout)
    script = (
        "import os, signal\nfrom atm.wiring.files import find_layout\nfrom atm.wiring.runs import build_runs\n"
        "with build_runs(find_layout(os.environ)).hold('crew'):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "ATM_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    note = Path(build_locks(layout).file_for(f"{layout.runs('crew')}/loop"))
    before = note.read_bytes()
    assert b'"pid"' in before
    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(lambda _: files.is_held("crew"), range(100))} == {False}
    assert note.read_bytes() == before
    with files.hold("crew"):
        assert files.is_held("crew")


def test_a_copy_of_the_plan_is_changed_if_there_is_one(runs):
    runs.change_copy("crew", "r1", str.upper)
    runs.write_copy("crew", "r1", "- [ ] a")
    runs.change_copy("crew", "r1", str.upper)
    seen: list[str] = []

    def look(text: str) -> str:
        seen.append(text)
        return text

    runs.change_copy("crew", "r1", look)
    assert seen == ["- [ ] A"]


def test_a_report_comes_back_and_a_run_that_is_removed_is_gone(runs):
    runs.write(ORDER)
    runs.write_report("crew", "r1", {"outcome": "success"}, "# text")
    assert runs.report("crew", "r1") == {"outcome": "success"}
    runs.remove("crew", "r1")
    assert (runs.names("crew"), runs.report("crew", "r1"), runs.order("crew", "r1")) == ([], None, None)


def test_a_users_plan_that_is_not_there_is_an_error_with_its_path(runs, tmp_path):
    with pytest.raises((AtmError, FileNotFoundError), match=r"gone\.md"):
        runs.change_plan(str(tmp_path / "gone.md"), str.upper)


def test_a_line_that_a_crash_tore_says_nothing_and_spoils_nothing(layout):
    Path(layout.team("crew")).mkdir(parents=True)
    files = RunFiles(RealDisk(layout.private_roots), build_locks(layout), layout)
    files.append("crew", "r1", [RunEvent(STARTED, "r1", 10.0)])
    with open(f"{layout.run('crew', 'r1')}/events.jsonl", "ab") as file:
        file.write(b'{"kind": "task.cl')
    assert [one.kind for one in files.events("crew", "r1")] == [STARTED]
    assert [one.kind for one in files.events_since("crew", "r1", 0)[0]] == [STARTED]


def test_an_order_of_a_later_version_is_read_as_far_as_it_is_understood(layout):
    Path(layout.run("crew", "r1")).mkdir(parents=True)
    path = Path(layout.run("crew", "r1"), "plan.json")
    files = RunFiles(RealDisk(layout.private_roots), build_locks(layout), layout)
    path.write_text(
        '{"run": "r1", "team": "crew", "folder": "/r", "new": 1, "tick": "yes", "seats": [{"name": "a"}, 5]}'
    )
    found = files.order("crew", "r1")
    assert found is not None
    assert (found.run, found.tick, found.seats) == ("r1", False, [])
    path.write_text('{"run": "r1", "team": "crew"}')
    assert files.order("crew", "r1") is None
