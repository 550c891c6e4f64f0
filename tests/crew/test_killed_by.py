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


def test_a_run_goes_on_after_a_kill_by_a_person_and_counts_neither_attempt_nor_restart(crew: Crew) -> None:
    mark, go = crew.folder.parent / "mark", crew.folder.parent / "go"
    wait = f"echo x >> {mark}; while [ ! -e {go} ]; do sleep 0.05; done"
    (crew.folder / "plan.md").write_text(f"- [ ] Wait (id: wait) (run: {wait})\n")
    crew.atm.environment["ATM_IDENTITY"] = "zoe"
    run = crew.atm.start("run", "--plan", "plan.md", "--yes", "--team", "crew")
    crew.eventually(mark.exists)
    crew("kill", "a1")
    crew.eventually(lambda: len(mark.read_text().split()) == 2)
    go.write_text("")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 0
    assert "a1 was killed by you at #1 Wait" in out.decode()
    assert "restarts 0" in out.decode()
    assert crew.task("1")["failures"] == 0
