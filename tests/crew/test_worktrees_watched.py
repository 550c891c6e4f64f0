"""Somebody looks at a worktree (the radar of a run) while another process saves what is in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tests.crew.repositories import Bench, alone, git, new_repository

from atm.core.errors import FileBusy
from atm.git.adapters.snapshots import _Taking
from atm.wiring.crew import build_worktrees


@pytest.fixture
def bench(tmp_path, home, monkeypatch, layout) -> Bench:
    alone(monkeypatch, home)
    return Bench(new_repository(tmp_path / "r"), layout)


def test_a_look_in_the_middle_takes_nothing_from_what_is_saved(bench, monkeypatch):
    place, onlooker = bench.make(), build_worktrees(bench.layout)
    Path(place.path, "a.txt").write_text("changed\n")
    enter = _Taking._enter

    def enter_while_somebody_looks(taking, entries):
        with suppress(FileBusy):
            onlooker.touched(place)
        enter(taking, entries)

    monkeypatch.setattr(_Taking, "_enter", enter_while_somebody_looks)
    saved = bench.worktrees.save(place, "crew", "1", "a test")
    assert saved is not None
    assert bench.paths(saved.commit) == [".gitignore", "a.txt", "src/b.txt"]
    assert bench.file(saved.commit, "a.txt") == "changed"


def test_who_looks_does_not_wait_long_for_one_who_saves(bench, monkeypatch):
    place, onlooker = bench.make(), build_worktrees(bench.layout)
    Path(place.path, "a.txt").write_text("changed\n")
    seen = []
    enter = _Taking._enter

    def enter_while_somebody_looks(taking, entries):
        with pytest.raises(FileBusy):
            onlooker.touched(place)
        with pytest.raises(FileBusy):
            onlooker.now(place)
        seen.append(place.path)
        enter(taking, entries)

    monkeypatch.setattr(_Taking, "_enter", enter_while_somebody_looks)
    bench.worktrees.save(place, "crew", "1", "a test")
    assert seen == [place.path]


def test_what_is_touched_is_what_was_committed_changed_and_made(bench):
    place = bench.make()
    assert bench.worktrees.touched(place) == []
    Path(place.path, "new.txt").write_text("new\n")
    Path(place.path, "a.txt").write_text("changed\n")
    assert bench.worktrees.touched(place) == ["a.txt", "new.txt"]
    git(place.path, "add", "a.txt")
    git(place.path, "commit", "-qm", "mine")
    Path(place.path, "src", "b.txt").unlink()
    assert bench.worktrees.touched(place) == ["a.txt", "new.txt", "src/b.txt"]
    git(bench.folder, "pack-refs", "--all")
    assert bench.worktrees.touched(place) == ["a.txt", "new.txt", "src/b.txt"]


def test_what_is_there_now_is_a_commit_of_all_of_it_or_the_head_if_nothing_is_dirty(bench):
    place = bench.make()
    assert bench.worktrees.now(place) == place.base
    Path(place.path, "new.txt").write_text("new\n")
    made = bench.worktrees.now(place)
    assert bench.paths(made) == [".gitignore", "a.txt", "new.txt", "src/b.txt"]
    assert git(bench.folder, "rev-parse", f"{made}^") == place.base
