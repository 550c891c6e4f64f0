"""A failure shows its reason, and a task comes back: real runs, worktrees and git."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.crew.conftest import Crew

SCRIPTS = ("--runtime", "script", "--agents", "1", "--team", "crew", "--yes")
FAILS = """\
- [ ] Make b (id: b) (run: echo made > b.txt) (accept: echo "\x1b[2Jfirst"; echo "the file is missing"; exit 4)
- [ ] Use it (id: c) (depends: b) (run: cat b.txt > c.txt)
"""


def plan_of(crew: Crew, text: str) -> str:
    path: Path = crew.folder.parent / "plan.md"
    path.write_text(text)
    return str(path)


def state_of(crew: Crew, id: str) -> str:
    shown: str = crew("tasks", "show", id, "--json", "--team", "crew").json["task"]["shown"]["state"]
    return shown


def test_a_failed_check_shows_its_lines_and_the_reopened_task_succeeds_with_another_check(crew: Crew) -> None:
    said = crew("run", "--plan", plan_of(crew, FAILS), *SCRIPTS, code=1).out
    assert "\x1b" not in said
    lines = said.splitlines()
    assert lines.count("        | the file is missing") == 4  # each of three attempts, and the summary
    assert "  ✗ #1 Make b failed for good" in lines
    assert "      the way back: atm tasks reopen 1" in lines
    assert "      the way back: atm tasks reopen 1 --team crew" in lines
    shown = crew("tasks", "show", "1", "--team", "crew").out
    assert "      | the file is missing" in shown.splitlines()
    assert "the way back: atm tasks reopen 1" in shown
    task = crew("tasks", "show", "1", "--json", "--team", "crew").json["task"]
    assert [(one["attempt"], one["by"]) for one in task["tries"]] == [(1, "a1"), (2, "a1"), (3, "a1")]
    assert all(
        one["output"].endswith("the file is missing") and "ended with 4" in one["error"] for one in task["tries"]
    )
    assert task["attempts"] == 3
    report = next((crew.atm.home / ".claude/teams/crew/runs").glob("*/report.md")).read_text()
    assert "    the file is missing" in report.splitlines()
    assert "    atm tasks reopen 1 --team crew" in report.splitlines()
    assert [state_of(crew, id) for id in "12"] == ["failed", "unreachable"]

    done = crew("tasks", "reopen", "1", "--accept", "test -f b.txt", "--note", "the check was wrong", "--team", "crew")
    assert "with 3 attempts; these can be done again: #2" in done.out
    task = crew("tasks", "show", "1", "--json", "--team", "crew").json["task"]
    assert (task["attempts"], len(task["tries"]), task["shown"]["state"]) == (0, 3, "pending")
    assert [check["command"] for check in task["acceptance"]] == ["test -f b.txt"]
    assert task["acceptance"][0]["trusted"] is True
    assert state_of(crew, "2") == "blocked"
    assert "success: 2 of 2 tasks" in crew("run", "--resume", "--team", "crew").out
    assert [state_of(crew, id) for id in "12"] == ["merged", "merged"]
    assert crew.git("show", "atm/result/crew:c.txt") == "made"


def test_a_merged_task_that_is_reopened_begins_on_the_target_and_is_merged_again(crew: Crew) -> None:
    plan = "- [ ] Count (id: a) (run: echo once more >> count.txt)\n"
    crew("run", "--plan", plan_of(crew, plan), *SCRIPTS)
    first = crew.git("rev-parse", "atm/result/crew")
    assert state_of(crew, "1") == "merged"
    crew("tasks", "reopen", "1", "--team", "crew")
    assert state_of(crew, "1") == "pending"
    queued = crew("merge", "queue", "--json", "--team", "crew").json["items"]
    assert [item["shown"]["state"] for item in queued] == ["pending"]
    crew("run", *SCRIPTS)
    assert state_of(crew, "1") == "merged"
    assert crew.git("show", "atm/result/crew:count.txt") == "once more\nonce more"
    assert crew.git("merge-base", first, "atm/result/crew") == first
    assert crew.git("rev-list", "--count", f"{first}..atm/result/crew") == "1"


def test_a_task_that_was_cancelled_is_done_by_the_run_that_is_resumed(crew: Crew) -> None:
    plan = plan_of(crew, "- [ ] One (id: a) (run: echo 1 > one.txt)\n- [ ] Two (id: b) (run: echo 2 > two.txt)\n")
    crew("tasks", "import", plan, "--allow-checks", "--team", "crew", code=None)
    crew("tasks", "cancel", "2", "--team", "crew")
    crew("run", *SCRIPTS, code=None)
    crew("tasks", "reopen", "2", "--team", "crew")
    crew("run", *SCRIPTS)
    assert [state_of(crew, id) for id in "12"] == ["merged", "merged"]


def test_the_end_of_a_huge_output_is_kept_and_no_more(crew: Crew) -> None:
    plan = "- [ ] Talk (id: a) (run: seq 1 90000; echo the end; exit 3)\n"
    crew("run", "--plan", plan_of(crew, plan), *SCRIPTS, code=1)
    for _ in range(5):  # more attempts than are kept
        crew("tasks", "reopen", "1", "--team", "crew")
        crew("run", *SCRIPTS, code=1)
    task: dict[str, Any] = crew("tasks", "show", "1", "--json", "--team", "crew").json["task"]
    assert len(task["tries"]) == 10
    assert all(one["output"].endswith("the end") for one in task["tries"])
    assert len(json.dumps(task["tries"])) < 60_000
