"""Conflicts that each vendor's real program resolves: scripted models edit the file in which git's merge stopped."""

from __future__ import annotations

import pytest
from tests.lab.colliding import AGAIN, ASKED, FILE, FIRST, IN_CONFLICT, SECOND, Collision, resolving

pytestmark = pytest.mark.lab


def test_two_tasks_that_change_the_same_line_are_put_together(agent):
    case, story = Collision(agent), agent.story
    resolving(agent.vendor, story, [FIRST, SECOND])
    story.when(IN_CONFLICT).says("Both are there.\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    assert [(one["task"], one["resolved"]) for one in run.report["merged"]] == [("1", False), ("2", True)]
    assert run.report["conflicts"] == run.report["lost"] == []
    assert case.merged_text.splitlines() == [FIRST, SECOND]
    assert case.item["conflict"]["files"] == [FILE]
    assert story.untold == []
    case.has_no_merger_left()


def test_done_with_a_mark_left_is_mended_in_the_next_turn(agent):
    case, story = Collision(agent), agent.story
    story.when(ASKED).says("It looks fine to me.\nDONE")
    resolving(agent.vendor, story, [FIRST, SECOND], AGAIN)
    story.when(IN_CONFLICT).says("Now both are there.\nDONE")
    run = case.runs()
    run.has_succeeded("1", "2")
    assert case.merged_text.splitlines() == [FIRST, SECOND]
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
    resolving(agent.vendor, story, [FIRST])
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
