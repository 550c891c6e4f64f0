"""A crew of real processes at a board: bounded here, long ones by `make chaos`."""

from __future__ import annotations

import pytest
from tests.chaos import LONG
from tests.proving import proves

from atm.board.formats.task_history import Past
from atm.ui.demo import board_run as run
from atm.ui.demo.board_proof import prove
from atm.ui.demo.board_run import Crew, DemoReport

TASKS = 200 if LONG else 16

pytestmark = pytest.mark.campaign


@proves(
    "R004-target-07",
    "R004-gap-p1-06",
    "R004-architecture-14",
    "R004-task-system-T2b",
    "R004-task-system-T7b",
    "R004-agent-lifecycle-L9",
)
@pytest.mark.parametrize("seed", range(8 if LONG else 1))
def test_ten_processes_finish_all_tasks_once_each_and_in_order_while_they_are_killed(monkeypatch, seed):
    monkeypatch.setattr(run, "LONGEST", 900.0)
    crew = Crew(tasks=TASKS, workers=10, seed=seed)
    if not LONG:
        crew._environment["PYTHONPYCACHEPREFIX"] = ""  # what is compiled already, else ten processes compile it at once

    def kill_one_in_time(_gone: float, counts: dict[str, int], told: DemoReport) -> None:
        """A fast machine could be done before the crew kills the first by itself."""
        if counts.get("completed") and not told.kills:
            crew._kill_one()

    report = crew.work(kill_one_in_time)
    assert report.proof.violations == [], f"sandbox kept at {crew.sandbox}"
    assert report.states == {"completed": TASKS}, f"sandbox kept at {crew.sandbox}"
    assert (report.proof.created, report.proof.completed) == (TASKS, TASKS)
    assert report.proof.claims - report.proof.taken_back == TASKS
    assert report.kills >= max(1, TASKS // 40)
    crew.remove()


def past(*events: tuple[str, str, dict[str, str]]) -> list[Past]:
    return [Past(i + 1, task, {"type": kind, **facts}, {}) for i, (task, kind, facts) in enumerate(events)]


CLAIM = {"to": "in_progress", "actor": "bob", "id": "c1"}
DONE = {"to": "completed", "actor": "bob", "claim": "c1"}


def test_the_auditor_is_content_with_a_claim_and_a_completion():
    proof = prove(past(("1", "task_created", {}), ("1", "status_changed", CLAIM), ("1", "status_changed", DONE)), {})
    assert (proof.created, proof.claims, proof.completed, proof.violations) == (1, 1, 1, [])


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ([("1", "status_changed", CLAIM), ("1", "status_changed", CLAIM)], "while somebody held it"),
        ([("1", "status_changed", DONE)], "did not hold it"),
        ([("1", "status_changed", CLAIM), ("1", "status_changed", {**DONE, "claim": "old"})], "did not hold it"),
        ([("2", "status_changed", CLAIM)], "before #1 was completed"),
        (
            [("1", "status_changed", CLAIM), ("1", "status_changed", DONE), ("1", "status_changed", DONE)],
            "completed twice",
        ),
        (
            [("1", "status_changed", CLAIM), ("1", "status_changed", DONE), ("1", "status_changed", CLAIM)],
            "after it was completed",
        ),
        ([("1", "observed", {"to": "completed"})], "nobody says who did that"),
    ],
)
def test_the_auditor_finds_every_way_in_which_a_history_can_be_wrong(events, complaint):
    violations = prove(past(*events), {"2": ["1"]}).violations
    assert any(complaint in violation for violation in violations), violations


def test_the_auditor_sees_lines_out_of_order():
    one, two = past(("1", "task_created", {}), ("2", "task_created", {}))
    assert prove([two, one], {}).violations
