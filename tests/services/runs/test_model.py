"""Seeded runs with agents that lie, stall and crash, and loops that are killed: every one ends, nothing is broken."""

from __future__ import annotations

import pytest
from tests.chaos import LONG
from tests.services.runs.world import TEAM, World

SEEDS = 1_000 if LONG else 60


@pytest.mark.parametrize("block", range(4))
def test_every_run_ends_with_one_claimant_for_each_task_and_nothing_left(block):
    for seed in range(block, SEEDS, 4):
        world = World(seed)
        world.run()  # G12: it raises if it does not end
        check_one_claimant(world)
        check_nothing_left(world)
        check_report(world)


def check_one_claimant(world: World) -> None:
    """G5: completed at most once, and by whoever held it."""
    for id, enders in world.finished().items():
        assert enders in ([], [world.claimant_at_end(id)]), (id, enders)


def check_nothing_left(world: World) -> None:
    """G7: no process, slot, worktree or claim of an agent."""
    crew = world.desk.crew
    assert [one.command for one in world.table.running() if one.mark] == []
    assert crew.slots.taken() == {}
    assert crew.worktrees.left(TEAM) == []
    held = [card.id for card in world.boardroom.tasks.board(TEAM).sorted() if card.is_claimed]
    assert all(world.boardroom.tasks.board(TEAM).card(id).waits_for_others for id in held)


def check_report(world: World) -> None:
    report = world.loop.report
    assert report is not None
    board = world.boardroom.tasks.board(TEAM)
    tasks = report["tasks"]
    assert isinstance(tasks, dict)
    assert tasks["completed"] == [card.id for card in board.sorted() if board.state(card) == "completed"]
    if report["outcome"] != "stopped":
        assert (report["outcome"] == "success") == (len(tasks["completed"]) == len(board.cards))


def test_agents_that_do_what_they_should_finish_everything_without_restarts():
    for seed in range(5):
        world = World(seed, mischief=0.0, kills=0.0)
        world.run()
        assert world.loop.report is not None
        assert world.loop.report["outcome"] == "success"
        assert all(seat.restarts == 0 for seat in world.loop.memory.seats.values())


def test_a_loop_that_is_killed_again_and_again_changes_nothing_about_the_result():
    world = World(3, mischief=0.0, kills=0.5)
    world.run()
    assert world.loops > 3
    assert world.loop.report is not None
    assert world.loop.report["outcome"] == "success"


def test_tasks_that_name_the_same_file_are_never_worked_on_side_by_side():
    for seed in range(10):
        world = World(seed, mischief=0.0, kills=0.0, tasks=10)
        while world.loop.report is None:
            world.step()
            at_work = [card.files for card in world.boardroom.tasks.board(TEAM).sorted() if card.is_claimed]
            named = [path for files in at_work for path in files]
            assert len(named) == len({*named})
