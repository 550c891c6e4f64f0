"""`atm run` as a user starts it: what happens is told as it happens, and the report says what came of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.proving import proves

from atm.ui.cli.runs import waiting

PLAN = """\
- [ ] Add pears (id: pears) (run: echo pears > pears) (accept: test -s pears)
- [ ] Bake (id: bake) (depends: pears) (run: cat pears > cake)
- [ ] Break (id: break) (run: exit 7)
- [ ] Sweep (id: sweep) (depends: break) (run: rm -f half)
- [ ] Ask first (id: ask) (plan: required) (run: echo asked > asked)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    for words in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=you", "-c", "user.email=you@example.org", "commit", "-q", "--allow-empty", "-m", "begin"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (tmp_path / "plan.md").write_text(PLAN)
    return folder


@proves(
    "R004-gap-p0-07",
    "R004-gap-p0-10",
    "R004-orchestration-O6",
    "R004-architecture-04",
    "R004-architecture-05",
    "R004-architecture-16",
    "R004-task-system-T6b",
    "R004-agent-lifecycle-L8",
    "R004-messaging-M8c",
)
def test_the_report_says_what_was_done_what_failed_and_what_needs_a_person(atm, repository, configure):
    configure(runs={"human_minutes": 0.01}, daemon={"autostart": False})
    done = atm("run", "--plan", "../plan.md", "--agents", "3", "--yes", "--json", cwd=repository, code=2)
    *events, report = map(json.loads, done.out.splitlines())
    assert report["outcome"] == "partial"
    assert report["tasks"] == {
        "completed": ["1", "2"],
        "failed": ["3"],
        "unreachable": ["4"],
        "cancelled": [],
        "needs_human": ["5"],
        "open": ["5"],
    }
    assert [row["task"] for row in report["failures"]] == ["3", "4", "5"]
    assert all(row["why"] for row in report["failures"])
    text = Path(report["report"]).read_text()
    assert all(part in text for part in ("## Done", "## Not done", "Bake", "Break", "needs a person"))
    for row in report["branches"]:
        words = ["git", "merge-base", "--is-ancestor", row["commit"], row["branch"]]
        subprocess.run(words, cwd=repository, check=True)
    listed = subprocess.run(["git", "worktree", "list"], cwd=repository, check=True, capture_output=True, text=True)
    assert len(listed.stdout.splitlines()) == 1
    inbox = atm("inbox", "--team", "shop", "--json", code=None).json
    assert [row["unread"] for row in inbox["teams"][0]["inboxes"] if row["agent"] == "lead"] == [0]
    told = {event["kind"] for event in events}
    assert {"task.completed", "task.unblocked", "task.failed", "task.unreachable"} <= told
    assert {"agent.spawned", "agent.working", "agent.idle", "agent.stopped"} <= told


@proves("R004-orchestration-O1d")
def test_the_loop_looks_again_after_a_second_if_nothing_happens(monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, seconds: float) -> None:
            self.now += seconds

    class Silence:
        def now(self) -> object:
            return None

    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    waiting.wait_for(Silence(), None)  # type: ignore[arg-type]
    assert clock.now == pytest.approx(1.0)
