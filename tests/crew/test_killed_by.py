"""An agent that a person ended was killed by that person: no surface calls it a crash."""

from __future__ import annotations

import pytest
from tests.crew.conftest import Crew


@pytest.mark.parametrize("words", [("kill", "ann"), ("stop", "--all")], ids=" ".join)
def test_who_ended_an_agent_is_told_everywhere(crew: Crew, words: tuple[str, ...]) -> None:
    crew.atm.environment["ATM_IDENTITY"] = "zoe"
    crew("up", "script:ann")
    crew(*words)
    record = crew.record("ann")
    assert (record.state, record.error, record.ended_by) == ("stopped", "killed by zoe", "zoe")
    told = crew("peek", "--json").json["members"][0]
    assert (told["error"], told["ended_by"]) == ("killed by zoe", "zoe")
    said = "".join(crew(*look, code=None).out for look in (("status",), ("members",), ("top", "--plain"), ("peek",)))
    assert "crash" not in said


def test_the_next_generation_was_killed_by_nobody(crew: Crew) -> None:
    crew("up", "script:ann")
    crew("kill", "ann")
    crew("up", "script:ann")
    assert (crew.record("ann").ended_by, crew.record("ann").error) == ("", "")
    crew("down")


def test_a_run_goes_on_after_a_kill_by_a_person_and_counts_no_attempt(crew: Crew) -> None:
    (crew.folder / "plan.md").write_text("- [ ] Wait (id: wait) (run: sleep 3)\n")
    run = crew.atm.start("run", "--plan", "plan.md", "--yes", "--team", "crew")
    crew.eventually(lambda: crew.record("a1") is not None and crew.record("a1").state == "working")
    crew("kill", "a1", env={"ATM_IDENTITY": "zoe"})
    run.communicate(timeout=120)
    assert run.returncode == 0
    assert crew.task("1")["failures"] == 0
