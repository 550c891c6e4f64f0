"""What generated histories and kills brought to light, each as the smallest case that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crew.repositories import git
from tests.merges.histories import Edit, History, Job
from tests.merges.workshop import TEAM, add_commit

from atm.core.errors import DiskError
from atm.merges.ports import Merges
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MergeQueue
from atm.merges.services.people import Hand

ONE = Job((Edit("line", "a.txt", 3, "one"),))
TWO = Job((Edit("line", "a.txt", 3, "two"),))
"""In conflict with each other."""
ELSEWHERE = Job((Edit("add", "new.txt", 0, "three"),))


@pytest.mark.parametrize("strategy", ["rebase", "merge", "squash"])
def test_work_that_is_on_the_target_already_does_not_take_it_back(open_shop, strategy):
    shop = open_shop(History(("a.txt",), (ONE, ELSEWHERE), strategy=strategy, target="release"))
    head = shop.work[0].head
    merged = git(shop.folder, "commit-tree", "-p", "release", "-p", head, "-m", "by hand", f"{head}^{{tree}}")
    git(shop.folder, "update-ref", "refs/heads/release", merged)
    others = add_commit(shop.folder, "release", "by the user")
    queue = shop.merge()
    assert [item.status for item in queue.items] == [MERGED, MERGED]
    assert git(shop.folder, "merge-base", "--is-ancestor", others, "release") == ""
    shop.check(queue)


@pytest.mark.parametrize("strategy", ["rebase", "squash"])
def test_a_resolution_that_kept_nothing_does_not_take_the_target_back(open_shop, strategy):
    """It is the commit of the target on which it was made; meanwhile somebody moved that on."""
    shop = open_shop(History(("a.txt",), (ONE, TWO), strategy=strategy, resolver="ours", rivals=(1, 2)))
    queue = shop.merge()
    assert [item.status for item in queue.items] == [MERGED, MERGED]
    assert len(shop.git.made) == 2
    shop.check(queue)


@pytest.mark.parametrize("resolver", ["stages marks", "commits marks"])
@pytest.mark.parametrize("strategy", ["rebase", "merge", "squash"])
def test_a_file_with_marks_is_not_resolved_because_somebody_staged_it(open_shop, strategy, resolver):
    shop = open_shop(History(("a.txt",), (ONE, TWO), strategy=strategy, resolver=resolver))
    queue = shop.merge()
    assert (queue.items[1].status, queue.items[1].reason) == (CONFLICT, "not resolved: a.txt")
    shop.check(queue)


def test_a_sub_module_in_conflict_leaves_no_worktree(open_shop):
    jobs = (Job((Edit("module", "module", 5, "one"),)), Job((Edit("module", "module", 7, "one"),)))
    shop = open_shop(History(("a.txt",), jobs, resolver="does nothing"))
    queue = shop.merge()
    assert queue.items[1].reason == "not resolved: module"
    shop.check(queue)


@pytest.mark.parametrize("sends_back", [0, 1])
def test_what_is_resolved_and_red_leaves_no_worktree_and_its_resolution_is_kept(open_shop, sends_back):
    red, also = Edit("red", "", 0, "one"), Edit("red", "", 1, "one")
    jobs = (Job((*ONE.edits, red)), Job((*TWO.edits, also)))
    shop = open_shop(History(("a.txt",), jobs, resolver="theirs", is_checked=True, sends_back=sends_back))
    queue = shop.merge()
    assert [item.status for item in queue.items] == [MERGED, FAILED]
    assert (queue.items[1].needs_human, queue.items[1].sent_back) == (not sends_back, sends_back)
    shop.check(queue)


@pytest.mark.parametrize("strategy", ["rebase", "squash"])
def test_what_was_left_out_does_not_come_with_what_builds_on_it(open_shop, strategy):
    """With `merge` it does: a merge has all of a history, or nothing."""
    jobs = (Job((Edit("red", "", 0, "one"),)), Job((*ONE.edits, *ELSEWHERE.edits), needs=(0,)))
    shop = open_shop(History(("a.txt",), jobs, strategy=strategy))
    with shop.room.merges.hold(TEAM):
        skipped = Hand(shop.room, TEAM, str(shop.folder), "1").skip("not this one")
    queue = shop.merge()
    assert (skipped.skipped, [item.status for item in queue.items]) == (True, [FAILED, MERGED])
    assert git(shop.folder, "ls-tree", "--name-only", shop.branch).split() == ["a.txt", "new.txt"]


def test_who_is_left_out_while_somebody_resolves_it_leaves_no_worktree(open_shop):
    shop = open_shop(History(("a.txt",), (ONE, TWO)))
    shop.merge()
    with shop.room.merges.hold(TEAM):
        _, place, _ = Hand(shop.room, TEAM, str(shop.folder), "2").prepare()
    (Path(place.path) / "a.txt").write_text("half resolved\n")
    with shop.room.merges.hold(TEAM):
        Hand(shop.room, TEAM, str(shop.folder), "2").skip("too hard")
    assert shop.room.crew.worktrees.left(TEAM) == []
    saved = shop.room.crew.worktrees.saved(place.common, TEAM)
    assert "half resolved" in [git(shop.folder, "cat-file", "blob", f"{one.commit}:a.txt") for one in saved]


class FullDisk:
    """The queue cannot be written for once: the n-th time."""

    def __init__(self, merges: Merges, at: int) -> None:
        self._merges = merges
        self._left = at

    def __getattr__(self, name: str) -> object:
        return getattr(self._merges, name)

    def write(self, queue: MergeQueue) -> None:
        self._left -= 1
        if self._left == 0:
            raise DiskError("no space left on device", "make room")
        self._merges.write(queue)


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_a_disk_that_is_full_at_any_write_loses_nothing_and_the_next_one_goes_on(open_shop, at):
    shop = open_shop(History(("a.txt",), (ONE, TWO, ELSEWHERE), resolver="theirs"))
    beginning, merges = shop.users(), shop.room.merges
    shop.room.merges = FullDisk(merges, at)
    with pytest.raises(DiskError, match="no space left"):
        shop.merge()
    shop.room.merges = merges
    queue = shop.merge()
    assert [item.status for item in queue.items] == [MERGED] * 3
    assert shop.users() == beginning
    shop.check(queue)
