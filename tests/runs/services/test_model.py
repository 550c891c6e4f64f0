"""Seeded runs with agents that lie, stall and crash, and loops that are killed: every one ends, nothing is broken."""

from __future__ import annotations

import pytest
from tests.chaos import LONG
from tests.proving import proves
from tests.runs.services.world import FOLDER, TEAM, World

from atm.merges.rules.items import CONFLICT, MERGED, PENDING, STRATEGIES
from atm.testing.runs import MemoryMergeWorker

SEEDS = 1_000 if LONG else 24


@pytest.mark.parametrize("block", range(4))
def test_every_run_ends_with_one_claimant_for_each_task_and_nothing_left(block):
    for seed in range(block, SEEDS, 4):
        world = World(seed)
        world.run()  # G12: it raises if it does not end
        check_one_claimant(world)
        check_nothing_left(world)
        check_report(world)


@proves("R004-merge-and-conflicts-G2", "R004-merge-and-conflicts-G6", "R004-merge-and-conflicts-G6b")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whatever_happens_finished_work_is_on_the_target_or_kept_and_named(strategy):
    """G6. Agents lie and crash, two change one file, the loop and the merges are killed anywhere."""
    for seed in range(100 if LONG else 4):
        world = World(seed, merge=strategy)
        world.run()
        check_one_claimant(world)
        check_nothing_left(world)
        check_merged(world)


def check_merged(world: World) -> None:
    queue, report = world.desk.merges.merges.read(TEAM), world.loop.report
    assert queue is not None
    assert report is not None
    repository = world.worktrees.repository(FOLDER)
    assert repository is not None
    target = world.worktrees.branches[repository.common][queue.branch]
    kept = {world.worktrees.commits[one.commit].parents[0] for one in world.worktrees.saved(repository.common)}
    listed = report["conflicts"]
    assert isinstance(listed, list)
    named = {row["task"] for row in listed if isinstance(row, dict) and row["reason"]}
    done = {id for id, enders in world.finished().items() if enders and _work_of(world, id)}
    assert done <= {one.task for one in queue.items}
    for item in queue.items:
        if item.status == MERGED:
            assert item.commit in world.worktrees.history(target)
            others = {path for one in queue.items if one is not item for path in one.files}
            mine, there = world.worktrees.commits[item.head].files, world.worktrees.commits[target].files
            assert all(there.get(path) == mine.get(path) for path in item.files if path not in others)
        elif item.status == CONFLICT:
            assert item.head in kept
            assert item.task in named
            assert report["outcome"] != "success"
        else:
            assert item.status == PENDING, item
            assert {*item.waits_for} & {one.task for one in queue.items if one.status != MERGED}


def _work_of(world: World, id: str) -> bool:
    work = world.boardroom.tasks.read(TEAM, id).part("work")
    return bool(work.get("commit")) and work.get("commit") != work.get("base")


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


def test_a_run_whose_merges_always_fail_ends_and_says_why():
    """G12. The process that merges cannot be started, or dies each time."""
    world = World(1, mischief=0.0, kills=0.0, merge="rebase")
    assert isinstance(world.desk.worker, MemoryMergeWorker)
    world.desk.worker.fails = "it ended with 127"
    world.run()
    report = world.loop.report
    assert report is not None
    assert (report["outcome"], report["merged"]) == ("partial", [])
    assert report["why"] == "nothing more could be merged: it ended with 127"
    assert 1 < world.desk.worker.starts < 30
