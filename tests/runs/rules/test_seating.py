"""How many agents take part in a run, and why."""

from __future__ import annotations

import pytest

from atm.runs.rules.seating import AskedTask, seats_for, why_so_many


def tasks(*waves, runtime="", has_commands=False):
    return [AskedTask(f"#{n}", runtime, has_commands=has_commands, wave=wave) for n, wave in enumerate(waves)]


@pytest.mark.parametrize(
    ("waves", "agents", "count", "why"),
    [
        ((0,), None, 1, "1 agent: 1 task is ready at a time; --agents changes it"),
        ((0, 1, 2), None, 1, "1 agent: 1 task is ready at a time; --agents changes it"),
        ((0, 0), None, 2, "2 agents: 2 tasks are ready at once; --agents changes it"),
        ((0, 0, 0), None, 2, "2 agents: 3 tasks are ready at once; --agents changes it"),
        ((0, 1, 1), None, 2, "2 agents: 2 tasks are ready at once; --agents changes it"),
        ((0,) * 13, None, 3, "3 agents: one for every six of 13 tasks; --agents changes it"),
        ((0, 0, 0), 1, 1, "1 agent: --agents 1"),
        ((0,), 3, 3, "3 agents: --agents 3"),
    ],
)
def test_the_number_of_agents_and_its_reason(waves, agents, count, why):
    asked = tasks(*waves)
    seats = seats_for(asked, ["claude"], agents)
    assert len(seats) == count
    assert why_so_many(asked, seats, ["claude"], agents) == why


def test_scripts_are_two_as_well():
    asked = tasks(0, 0, 0, has_commands=True)
    assert [(seat.name, seat.runtime) for seat in seats_for(asked, ["script"], None)] == [
        ("a1", "script"),
        ("a2", "script"),
    ]


def test_of_a_runtime_that_only_tasks_name_there_are_two_where_two_are_ready():
    assert [seat.runtime for seat in seats_for(tasks(0, 0, runtime="codex"), [], None)] == ["codex", "codex"]
    assert [seat.runtime for seat in seats_for(tasks(0, 1, runtime="codex"), [], None)] == ["codex"]
    mixed = [*tasks(0), *tasks(0, runtime="codex")]
    seats = seats_for(mixed, ["claude"], None)
    assert {seat.runtime for seat in seats} == {"claude", "codex"}


def test_named_runtimes_each_get_an_agent_and_the_reason_says_so():
    asked = tasks(0, 1)
    seats = seats_for(asked, ["claude", "codex"], None)
    assert why_so_many(asked, seats, ["claude", "codex"], None) == (
        "2 agents: one for each runtime that is named; --agents changes it"
    )


@pytest.mark.parametrize(
    ("asked", "runtimes", "agents", "why"),
    [
        (tasks(*range(7), has_commands=True), ["script"], None, "2 agents: one for every six of 7 tasks"),
        (tasks(*range(12)), ["claude"], None, "2 agents: one for every six of 12 tasks"),
        (tasks(*range(7)), ["claude", "codex"], None, "2 agents: one for each runtime that is named"),
        (tasks(*range(13)), ["claude", "codex"], None, "3 agents: one for every six of 13 tasks"),
        (
            tasks(0, has_commands=True),
            ["claude"],
            None,
            "2 agents: 1 task is ready at a time, and one for tasks that none of these can do",
        ),
        (
            [*tasks(0, 0, runtime="codex"), *tasks(0, has_commands=True)],
            ["claude"],
            None,
            "5 agents: 3 tasks are ready at once, and 3 for tasks that none of these can do",
        ),
        (
            [*tasks(0, 0, runtime="codex"), *tasks(0, has_commands=True)],
            ["claude"],
            1,
            "3 agents: --agents 1, and 2 for tasks that none of these can do",
        ),
        (
            [*tasks(0, runtime="codex"), *tasks(1, runtime="gemini")],
            [],
            None,
            "2 agents: one for each runtime that is named",
        ),
    ],
)
def test_the_reason_is_the_rule_that_gave_the_number_and_tells_who_was_added(asked, runtimes, agents, why):
    said = why_so_many(asked, seats_for(asked, runtimes, agents), runtimes, agents)
    assert said.removesuffix("; --agents changes it") == why


def test_names_of_agents_that_run_already_and_of_people_are_passed_over():
    tasks = [AskedTask("#1", has_commands=True), AskedTask("#2", has_commands=True)]
    seats = seats_for(tasks, ["script"], None, ["A1", "a3"])
    assert [seat.name for seat in seats] == ["a2", "a4"]
