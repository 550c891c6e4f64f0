"""What an agent said last."""

from __future__ import annotations

from typing import Any

from tests.proving import proves

from atm.crew.rules.agents import AgentRecord
from atm.crew.services.looking import last_output
from atm.testing.agents import memory_crewroom
from atm.testing.rooms import memory_boardroom


def agent(name: str) -> AgentRecord:
    facts: Any = {"generation": 1, "mark": "m", "runtime": "script", "folder": "/w", "at": 1.0}
    return AgentRecord(team="crew", member=name, backend="headless", **facts)


@proves("R004-tui-U5")
def test_each_agent_has_an_output_of_its_own_harmless_and_without_gaps():
    crew: Any = memory_crewroom(memory_boardroom())
    crew.records.logs = {("crew", "ann"): "one\n\n\n\ntwo\x1b[31m\n\n", ("crew", "bob"): "mine\n"}
    said = {name: last_output(crew, agent(name), 10) for name in ("ann", "bob")}
    assert said["bob"] == ["mine"]
    assert said["ann"][:2] == ["one", ""]
    assert "\x1b" not in said["ann"][2]


def test_of_a_long_one_the_end_is_shown():
    crew: Any = memory_crewroom(memory_boardroom())
    crew.records.logs = {("crew", "ann"): "\n".join(str(at) for at in range(100))}
    assert last_output(crew, agent("ann"), 2) == ["98", "99"]


def test_sequences_are_not_shown_and_a_progress_line_shows_its_last_state():
    crew: Any = memory_crewroom(memory_boardroom())
    crew.records.logs = {("crew", "ann"): "\x1b[2m10:00\x1b[0m \x1b[31mERROR\x1b[0m no\n 10%\r 90%\r100%\r\nend\n"}
    assert last_output(crew, agent("ann"), 10) == ["10:00 ERROR no", "100%", "end"]
