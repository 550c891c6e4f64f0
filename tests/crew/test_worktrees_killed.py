"""
kill -9 at every step of git's: before it runs and after it has run.

A wrapper `git` on the PATH counts, and kills whoever called it at the chosen step; reading the settings, which comes
before every other step, does not count. Then somebody else comes, clears up
and goes on: nothing that an agent had written is lost, nothing half made is left, and nothing of the user's changed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.crew.repositories import Bench, Users, alone, git, new_repository, reachable
from tests.in_memory import in_memory

from atm.files.adapters.machine import find_layout

WRAPPER = """#!/bin/sh
case "$*" in *"config --list"*) exec {git} "$@";; esac
count=$(($(cat {folder}/count) + 1))
echo $count > {folder}/count
if [ "$count" = "{step}" ] && [ {moment} = before ]; then kill -9 $PPID; exit 1; fi
{git} "$@"
code=$?
if [ "$count" = "{step}" ]; then kill -9 $PPID; fi
exit $code
"""

WORK = """
import os, sys
from atm.files.adapters.machine import find_layout
from atm.wiring.crew import build_worktrees

home, folder, promises, *verbs = sys.argv[1:]
worktrees = build_worktrees(find_layout({"ATM_HOME": home}))
repository = worktrees.repository(folder)

def write(worktree, name, text):
    with open(os.path.join(worktree.path, name), "w") as file:
        file.write(text)
    with open(promises, "a") as file:
        file.write(text)

made = worktrees.make(repository, "crew", "1", "ann")
if "commit" in verbs:
    write(made, "a.txt", "precious change\\n")
    write(made, "one.txt", "precious file\\n")
    worktrees.commit(made, "ann", "work")
write(made, "two.txt", "precious and untracked\\n")
write(made, "src/b.txt", "precious and dirty\\n")
if "save" in verbs:
    worktrees.save(made, "crew", "1", "the end")
if "remove" in verbs:
    worktrees.remove(made, branch="branch" in verbs)
"""

LIVES = {
    "make": ([], None),
    "commit": (["commit"], []),
    "save and remove": (["save", "remove", "branch"], []),
    "commit and remove": (["commit", "remove", "branch"], ["commit"]),
    "commit and keep the branch": (["commit", "remove"], ["commit"]),
}
"""What each does, and the beginning of it that another one of them is about."""

MOST_STEPS = 400


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder in memory: a hundred lives are led there."""
    for folder in in_memory(tmp_path):
        (folder / "home").mkdir()
        alone(monkeypatch, folder / "home")
        yield folder


def run_until(place: Path, step: int, moment: str, verbs: list[str]) -> int:
    """The exit code of a life that is ended at that step; 0 if it was over before."""
    programs = place / "programs"
    programs.mkdir(exist_ok=True)
    text = WRAPPER.format(folder=programs, step=step, moment=moment, git=shutil.which("git"))
    (programs / "git").write_text(text)
    (programs / "git").chmod(0o755)
    (programs / "count").write_text("0\n")
    (place / "promises").write_text("")
    words = [sys.executable, "-c", WORK, str(place / "home"), str(place / "r"), str(place / "promises"), *verbs]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(words, env={**os.environ, "PATH": path}, capture_output=True, timeout=300, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


def steps_of(place: Path, verbs: list[str] | None) -> int:
    """How many there are if nobody is killed."""
    if verbs is None:
        return 0
    repository = new_repository(place / "r")
    assert run_until(place, 0, "before", verbs) == 0
    shutil.rmtree(repository)
    shutil.rmtree(place / "home" / ".local")
    return int((place / "programs" / "count").read_text())


def check(place: Path, bench: Bench) -> None:
    """Somebody else clears up: nothing is lost, nothing is left."""
    for found in bench.worktrees.left("crew"):
        bench.worktrees.save(found, "crew", "1", "its agent was killed")
        bench.worktrees.remove(found, branch=True)
    for found in bench.worktrees.unused("crew"):
        bench.worktrees.remove(found, branch=True)
    kept = reachable(bench.folder)
    for promise in (place / "promises").read_text().splitlines():
        assert promise.encode() in kept, promise
    assert bench.worktrees.left("crew") == []
    assert bench.branches() == ["main"]
    assert git(bench.folder, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert list(Path(bench.layout.worktrees).glob("*/*/*")) == []
    assert not list((bench.folder / ".git").rglob("*.lock"))


def again(bench: Bench) -> None:
    """The same worktree can be made or taken over, used and removed."""
    worktree = bench.make()
    assert (Path(worktree.path) / "a.txt").exists()
    (Path(worktree.path) / "again.txt").write_text("again\n")
    bench.worktrees.commit(worktree, "ann", "again")
    bench.worktrees.remove(worktree, branch=True)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("life", LIVES)
def test_whoever_is_killed_at_any_step_loses_nothing(place, life, moment):
    verbs, beginning = LIVES[life]
    code, step = -signal.SIGKILL, steps_of(place, beginning)
    first = step
    while code:
        step += 1 if LONG else 1 + (step - first) // 2  # in CI fewer and fewer, the beginnings of all lives are alike
        assert step < MOST_STEPS
        repository = new_repository(place / "r")
        bench = Bench(repository, find_layout({"ATM_HOME": str(place / "home")}))
        before = Users(repository).look()
        code = run_until(place, step, moment, verbs)
        if step % 3:
            check(place, bench)
            again(bench)
        else:  # the next one wants the same worktree at once
            again(bench)
            check(place, bench)
        assert Users(repository).look() == before
        shutil.rmtree(repository)
        shutil.rmtree(place / "home" / ".local")
    assert step - first > 4
