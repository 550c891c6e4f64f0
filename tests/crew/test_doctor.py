"""What `atm doctor` says about agents."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.crew.conftest import NOTHING, Crew


def findings(crew: Crew, *words: str) -> list[Any]:
    said = crew("doctor", "--json", *words, code=None).json
    return [one for one in said["findings"] if one["code"] in ("dead-agent", "stopped-team")]


def test_an_agent_whose_host_was_killed_is_found_and_mended(crew: Crew) -> None:
    crew("up", "command:bob")
    assert findings(crew) == []
    pid = crew.record("bob").pid
    os.kill(pid, signal.SIGKILL)
    crew.eventually(lambda: findings(crew) != [])
    assert [(one["code"], one["severity"]) for one in findings(crew)] == [("dead-agent", "warning")]
    mended = findings(crew, "--fix")
    assert [one["mended"] for one in mended] == [True]
    assert crew.left() == NOTHING


def test_a_stopped_team_is_noted_with_the_command_that_takes_it_back(crew: Crew) -> None:
    crew("up", "script:ann")
    crew("stop")
    assert [(one["code"], one["severity"], one["command"]) for one in findings(crew)] == [
        ("stopped-team", "note", "atm up --team crew")
    ]


def test_nothing_is_advised_for_a_completed_team_that_was_stopped(crew: Crew) -> None:
    """`atm up` is refused in a completed team, so doctor does not name it."""
    crew("up", "script:ann")
    crew("stop")
    crew("teams", "archive", "crew", "--force")
    assert crew("up", "--team", "crew", "--json", code=1).json["error"]
    assert findings(crew) == []
