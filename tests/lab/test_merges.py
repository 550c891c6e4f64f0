"""Conflicts that each vendor's real program resolves: scripted models edit the file in which git's merge stopped."""

from __future__ import annotations

from threading import Event

import pytest
from tests.lab.colliding import (
    AGAIN,
    ASKED,
    BOTH,
    FILE,
    FIRST,
    IN_CONFLICT,
    SECOND,
    Collision,
    resolving,
    rewriting,
)
from tests.lab.conftest import until
from tests.lab.running import LONGEST, does

pytestmark = pytest.mark.lab


def test_two_tasks_that_change_the_same_line_are_put_together(agent):
    case, story = Collision(agent), agent.story
    resolving(agent.vendor, story, BOTH)
    story.when(IN_CONFLICT).says("Both are there.\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    assert [(one["task"], one["resolved"]) for one in run.report["merged"]] == [("1", False), ("2", True)]
    assert run.report["conflicts"] == run.report["lost"] == []
    assert case.merged_text == BOTH
    assert case.item["conflict"]["files"] == [FILE]
    assert story.untold == []
    case.has_no_merger_left()


def test_done_with_a_mark_left_is_mended_in_the_next_turn(agent):
    case, story = Collision(agent), agent.story
    story.when(ASKED).says("It looks fine to me.\nDONE")
    resolving(agent.vendor, story, BOTH, AGAIN)
    story.when(IN_CONFLICT).says("Now both are there.\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    assert case.merged_text == BOTH
    assert story.untold == []
    case.has_no_merger_left()


def test_a_command_that_nobody_has_allowed_keeps_no_conflict_open(agent):
    """All but Codex, which has a sandbox, are refused: a file without marks is resolved, whoever stages it."""
    case, story = Collision(agent), agent.story
    resolving(agent.vendor, story, BOTH)
    agent.vendor.shell(story.when(IN_CONFLICT), f"git add {FILE}")
    story.when(IN_CONFLICT).says("As far as I could.\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    assert case.merged_text == BOTH
    assert story.untold == []
    case.has_no_merger_left()


def test_what_only_a_person_can_decide_waits_for_one(agent):
    case, story = Collision(agent), agent.story
    story.when(ASKED).says("These exclude each other.\nFAILED: a person must decide")
    run = case.runs()
    report = run.is_partial(completed=["1", "2"])
    assert report["tasks"]["needs_human"] == ["2"]
    assert [one["task"] for one in report["merged"]] == ["1"]
    (flagged,) = report["conflicts"]
    assert "a person must decide" in flagged["reason"]
    assert case.lab.git("show", f"{flagged['salvage']}:{FILE}") == SECOND
    assert case.item["needs_human"] is True
    assert case.merged_text == FIRST
    assert story.untold == []
    case.has_no_merger_left()


def test_what_is_lost_for_what_was_there_before_is_written_down(agent):
    case, story = Collision(agent), agent.story
    resolving(agent.vendor, story, FIRST)
    story.when(IN_CONFLICT).says(f"There can be only one.\nLOST: the colour {SECOND}\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    (lost,) = run.report["lost"]
    assert lost["task"] == "2"
    assert f"the colour {SECOND}" in lost["what"]
    assert case.item["lost"] == lost["what"]
    assert case.lab.git("show", f"{case.item['salvage']}:{FILE}") == SECOND
    assert case.merged_text == FIRST
    assert story.untold == []
    case.has_no_merger_left()


def test_a_team_resolves_its_own_conflicts_with_the_program_that_it_works_with(agent):
    """No setting says who: it is the runtime of the run. The checks of both tasks pass on what is merged."""
    case, story, both_began = Collision(agent), agent.story, Event()
    for number, colour in enumerate((FIRST, SECOND), 1):
        rewriting(agent.vendor, story, colour, does(number), does(number)).waits_for(both_began)
        story.when(does(number)).says(f"DONE: {colour}")
    resolving(agent.vendor, story, BOTH)
    story.when(IN_CONFLICT).says("DONE")
    run = case.starts_with_minds()
    try:
        until(lambda: all(agent.seen.all(f'<task id="{id}">') for id in "12"), LONGEST, lambda: run.words)
    finally:
        both_began.set()
    run.ends().has_succeeded("1", "2")
    assert sorted(one["resolved"] for one in run.report["merged"]) == [False, True]
    assert case.merged_text == BOTH
    assert story.untold == []
    case.has_no_merger_left()
