"""Merging: one suite for the twin and for git, and one for the queue in memory and on disk."""

from __future__ import annotations

import pytest
from tests.contracts.test_worktrees import FILES, Real, Twin
from tests.crew.repositories import alone
from tests.proving import proves

from atm.core.errors import FileBusy
from atm.crew.ports.worktrees import Repository, Worktree
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock
from atm.merges.adapters.git_merging import GitMerging
from atm.merges.adapters.queue_files import MergeFiles
from atm.merges.ports import MergeGit, MergePiece, Merges
from atm.merges.rules.items import MERGE, REBASE, SQUASH, STRATEGIES, MergeItem, MergeQueue
from atm.merges.rules.radar import Collision
from atm.testing.runs import MemoryMergeGit, MemoryMerges
from atm.wiring.files import build_locks

TARGET = "atm/result/t"


class Yard:
    """A repository, its worktrees, and merging."""

    def __init__(self, house: Twin | Real, git: MergeGit) -> None:
        self.house = house
        self.git = git
        found = house.worktrees.repository(house.folder)
        assert found is not None
        self.repository: Repository = found
        self.base = found.head

    def done(self, task: str, start: str = "", **files: str | None) -> Worktree:
        """A task that changed these files, from a commit on; `a` stands for `a.txt`."""
        place = self.house.worktrees.make(self.repository, "t", task, "ann", start or self.base)
        for name, text in files.items():
            self.house.write(place, f"{name}.txt", text)
        self.house.worktrees.commit(place, "ann", f"Task {task}")
        return place

    def piece(self, place: Worktree, strategy: str = REBASE) -> MergePiece:
        head = self.house.branches()[place.branch]
        return MergePiece(base=place.base, head=head, agent="ann", message="A task\n", strategy=strategy)

    def merge(self, place: Worktree, strategy: str, onto: str) -> str:
        made = self.git.combine(self.repository, self.piece(place, strategy), onto)
        assert not made.conflicts
        return made.commit


@pytest.fixture(params=["twin", "git"])
def yard(request: pytest.FixtureRequest, tmp_path, home, layout, monkeypatch) -> Yard:
    if request.param == "twin":
        twin = Twin()
        return Yard(twin, MemoryMergeGit(twin.memory))
    alone(monkeypatch, home)
    disk, clock = RealDisk(layout.private_roots), RealClock()
    return Yard(Real(tmp_path, layout), GitMerging(disk, clock, build_locks(layout, disk, clock), layout))


# The target.


def test_the_target_begins_where_it_is_told_to_and_is_there_the_next_time(yard):
    assert yard.git.head(yard.repository, TARGET) == ""
    assert yard.git.open_target(yard.repository, TARGET, yard.base) == yard.base
    assert yard.git.head(yard.repository, TARGET) == yard.base
    assert yard.git.open_target(yard.repository, TARGET, yard.base) == yard.base


def test_a_target_that_is_there_gets_what_the_beginning_has_beyond_it(yard):
    yard.git.open_target(yard.repository, TARGET, yard.base)
    later = yard.merge(yard.done("1", a="later\n"), REBASE, yard.base)
    yard.git.open_target(yard.repository, TARGET, later)
    assert yard.git.contains(yard.repository, TARGET, later)


def test_it_moves_only_from_where_it_was_thought_to_be(yard):
    yard.git.open_target(yard.repository, TARGET, yard.base)
    one, other = (
        yard.merge(yard.done(task, **{name: "x\n"}), REBASE, yard.base) for task, name in (("1", "p"), ("2", "q"))
    )
    assert yard.git.land(yard.repository, TARGET, one, yard.base)
    assert not yard.git.land(yard.repository, TARGET, other, yard.base)
    assert yard.git.contains(yard.repository, TARGET, one)
    assert not yard.git.contains(yard.repository, TARGET, other)


# Putting together.


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_both_changes_are_there_afterwards(yard, strategy):
    first = yard.merge(yard.done("1", a="ONE\n"), strategy, yard.base)
    second = yard.merge(yard.done("2", new="2\n"), strategy, first)
    assert yard.house.committed(second) == {**FILES, "a.txt": "ONE\n", "new.txt": "2\n"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_deleted_is_gone(yard, strategy):
    first = yard.merge(yard.done("1", new="x\n"), strategy, yard.base)
    assert "a.txt" not in yard.house.committed(yard.merge(yard.done("2", a=None), strategy, first))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_that_do_not_go_together_are_named_and_nothing_is_made(yard, strategy):
    first = yard.merge(yard.done("1", a="ONE\n"), strategy, yard.base)
    made = yard.git.combine(yard.repository, yard.piece(yard.done("2", a="TWO\n", b="x\n"), strategy), first)
    assert (made.commit, made.conflicts) == ("", ["a.txt"])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_there_already_is_not_merged_twice(yard, strategy):
    place = yard.done("1", a="ONE\n")
    merged = yard.merge(place, MERGE, yard.base)
    assert yard.git.combine(yard.repository, yard.piece(place, strategy), merged).commit == merged


@pytest.mark.parametrize("strategy", [REBASE, SQUASH])
def test_only_what_came_after_its_beginning_is_a_tasks_own(yard, strategy):
    """The second began with the first, which was merged as another commit: nothing of that comes again."""
    start = yard.done("0", other="x\n")
    first = yard.done("1", a="ONE\n")
    moved = yard.merge(first, strategy, yard.merge(start, REBASE, yard.base))
    changed = yard.done("3", moved, a="THREE\n")
    onto = yard.merge(changed, strategy, moved)
    second = yard.done("2", yard.piece(first).head, b="2\n")
    assert yard.house.committed(yard.merge(second, strategy, onto))["a.txt"] == "THREE\n"


def test_a_merge_keeps_the_commits_and_a_squash_makes_one(yard):
    place = yard.done("1", a="ONE\n")
    onto = yard.merge(yard.done("2", new="2\n"), REBASE, yard.base)
    yard.git.open_target(yard.repository, TARGET, yard.merge(place, MERGE, onto))
    assert yard.git.contains(yard.repository, TARGET, yard.piece(place).head)
    yard.git.open_target(yard.repository, "other", yard.merge(place, SQUASH, onto))
    assert not yard.git.contains(yard.repository, "other", yard.piece(place).head)
    assert yard.git.contains(yard.repository, "other", onto)


# Resolving.


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_conflict_is_resolved_in_a_worktree_and_becomes_a_commit_on_the_target(yard, strategy):
    onto = yard.merge(yard.done("1", a="ONE\n", new="1\n"), strategy, yard.base)
    piece = yard.piece(yard.done("2", a="TWO\n", more="2\n"), strategy)
    side = yard.git.side(yard.repository, piece, onto)
    place = yard.house.worktrees.make(yard.repository, "t", "2", ".merge", side)
    assert yard.git.begin(place, piece.head) == ["a.txt"]
    assert yard.git.begin(place, piece.head) == ["a.txt"]
    assert "<<<<<<<" in yard.git.preview(place, "a.txt")
    assert yard.git.settle(place, piece.head) == ["a.txt"]
    yard.house.write(place, "a.txt", "BOTH\n")
    assert yard.git.settle(place, piece.head) == []
    resolved = yard.house.worktrees.commit(place, "ann", "resolved")
    made = yard.git.seal(yard.repository, piece, onto, resolved)
    assert yard.house.committed(made) == {**FILES, "a.txt": "BOTH\n", "new.txt": "1\n", "more.txt": "2\n"}
    again = MergePiece(base=onto, head=made, agent="ann", message="m", strategy=MERGE if strategy == MERGE else REBASE)
    assert yard.git.combine(yard.repository, again, onto).commit == made


def test_which_files_were_left_as_they_were_is_known(yard):
    onto = yard.merge(yard.done("1", a="ONE\n"), REBASE, yard.base)
    assert yard.git.same_in(yard.repository, yard.base, onto, ["a.txt", "src/b.txt"]) == ["src/b.txt"]


# Looking, checking, keeping.


def test_what_changed_is_named_and_a_dry_run_leaves_nothing(yard):
    one, other = yard.done("1", a="ONE\n"), yard.done("2", a="TWO\n")
    heads = [yard.piece(place).head for place in (one, other)]
    before = yard.house.branches()
    assert yard.git.changed(yard.repository, yard.base, heads[0]) == ["a.txt"]
    assert "ONE" in yard.git.diff(yard.repository, yard.base, heads[0])
    assert yard.git.diff(yard.repository, yard.base, heads[0], ["src/b.txt"]) == ""
    assert yard.git.would_conflict(yard.repository, yard.base, heads[1], heads[0]) == ["a.txt"]
    assert yard.git.would_conflict(yard.repository, yard.base, yard.base, heads[0]) == []
    assert yard.house.branches() == before


def test_a_place_for_checks_is_exactly_the_commit(yard):
    place = yard.house.worktrees.make(yard.repository, "t", "merge", ".merge", yard.base)
    commit = yard.merge(yard.done("1", a="ONE\n", new="1\n"), REBASE, yard.base)
    yard.house.write(place, "left.txt", "by a check\n")
    yard.git.stand(place, commit)
    assert yard.house.read(place) == {**FILES, "a.txt": "ONE\n", "new.txt": "1\n"}
    yard.house.worktrees.discard(place)
    assert (yard.house.read(place), place.branch in yard.house.branches()) == ({}, False)
    assert yard.house.worktrees.saved(yard.repository.common) == []


def test_a_commit_is_kept_once(yard):
    head = yard.piece(yard.done("1", a="ONE\n")).head
    kept = yard.git.keep(yard.repository, "t", "1", head, "why")
    assert yard.git.keep(yard.repository, "t", "1", head, "again").ref == kept.ref
    assert [one.ref for one in yard.house.worktrees.saved(yard.repository.common, "t")] == [kept.ref]
    assert yard.house.committed(kept.commit)["a.txt"] == "ONE\n"


# Worktrees, as the radar and those who go on see them.


def test_what_is_touched_is_told_whether_it_is_committed_or_not(yard):
    place = yard.done("1", a="ONE\n")
    yard.house.write(place, "new.txt", "x\n")
    assert yard.house.worktrees.touched(place) == ["a.txt", "new.txt"]
    now = yard.house.worktrees.now(place)
    assert yard.house.committed(now) == {**FILES, "a.txt": "ONE\n", "new.txt": "x\n"}
    assert yard.house.branches()[place.branch] != now
    yard.house.worktrees.commit(place, "ann", "more")
    assert yard.house.worktrees.now(place) == yard.house.branches()[place.branch]


def test_work_goes_on_from_a_commit_and_its_beginning_stays(yard):
    former = yard.piece(yard.done("1", a="ONE\n")).head
    place = yard.house.worktrees.make(yard.repository, "t", "1", "bob", yard.base)
    yard.house.worktrees.go_on(place, former)
    assert yard.house.read(place)["a.txt"] == "ONE\n"
    assert place.base == yard.base
    assert yard.house.worktrees.touched(place) == ["a.txt"]


# The queue.


@pytest.fixture(params=["twin", "files"])
def merges(request: pytest.FixtureRequest, layout) -> Merges:
    if request.param == "twin":
        return MemoryMerges()
    disk, clock = RealDisk(layout.private_roots), RealClock()
    return MergeFiles(disk, build_locks(layout, disk, clock), layout)


def test_a_queue_is_read_as_it_was_written(merges):
    assert merges.read("t") is None
    queue = MergeQueue(team="t", branch=TARGET, items=[MergeItem(task="1", head="h")])
    merges.write(queue)
    assert merges.read("t") == queue
    queue.items[0].status = "merged"
    merges.write(queue)
    assert merges.read("t") == queue
    assert merges.read("other") is None


@proves("R004-merge-and-conflicts-G2b")
def test_one_holds_it_at_a_time(merges):
    with merges.hold("t"):
        assert merges.is_held("t")
        with pytest.raises(FileBusy), merges.hold("t", 0.0):
            pass
        with merges.hold("other"):
            pass
    assert not merges.is_held("t")


def test_what_the_radar_saw_is_there_until_it_looks_again(merges):
    assert merges.collisions("t") == []
    seen = [Collision(tasks=["1", "2"], agents=["a", "b"], files=["x"])]
    merges.note_collisions("t", seen)
    assert merges.collisions("t") == seen
    merges.note_collisions("t", [])
    assert merges.collisions("t") == []
