"""
A hostile repository: what it has git run when somebody asks about its history, and what git may run for us (D25).

Folders are teammates' choice: a member's folder in the roster, a task's folder in a file that was written past atm.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.mcp.crew import Crew
from tests.project.source_trees import MODULES, nodes_in, parsed, saying
from tests.project.test_architecture import kind_of, name_of

from atm.board.adapters.programs import RealPrograms
from atm.git.adapters import asking
from atm.git.adapters.asking import HISTORY_ONLY, ask_git
from atm.roster.services.members import add_member, update_member
from atm.team.rules.team import Member

SOURCE = Path(__file__).parents[2] / "src" / "atm"
NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
WHO = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    """Git as whoever prepares a trap uses it."""
    done = subprocess.run(
        ["git", *WHO, *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **NOBODY}
    )
    return done.stdout.decode().strip()


def without_its_commit(repository: Path, git_folder: Path, trap: Path) -> None:
    """`main` names a commit that is missing, and the remote that promises it is fetched from by a program."""
    tree = git(repository, "hash-object", "-t", "tree", "-w", os.devnull)
    commit = git(repository, "commit-tree", "-m", "one", tree)
    git(repository, "update-ref", "refs/heads/main", commit)
    (git_folder / "objects" / commit[:2] / commit[2:]).unlink()
    origin = repository.parent / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "--bare")
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.url": f"file://{origin}",
        "remote.evil.promisor": "true",
        "remote.evil.uploadpack": f"touch {trap}; git-upload-pack",
        "protocol.allow": "always",
        "protocol.file.allow": "always",
        "core.fsmonitor": f"touch {trap}",
        "core.pager": f"touch {trap}",
        "core.sshCommand": f"touch {trap}",
        "credential.helper": f"!touch {trap}",
    }
    for key, value in settings.items():
        git(repository, "config", key, value)
    hooks = git_folder / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-checkout", "post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "pwned"


@pytest.fixture
def embedded(tmp_path: Path, trap: Path) -> Path:
    """A folder of a clone that is a repository without looking like one: it has no `.git`, it is one."""
    folder = tmp_path / "clone" / "vendor"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare")
    without_its_commit(folder, folder, trap)
    return folder


@pytest.fixture
def unpacked(tmp_path: Path, trap: Path) -> Path:
    """An archive that was unpacked, with its `.git`."""
    folder = tmp_path / "archive" / "project"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    without_its_commit(folder, folder / ".git", trap)
    return folder


@pytest.fixture(params=["embedded", "unpacked"])
def hostile(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


def test_the_trap_works_for_whoever_starts_git_as_it_is(hostile, trap):
    subprocess.run(["git", "rev-parse", "main^{commit}"], cwd=hostile, check=False, capture_output=True)
    assert trap.exists()


@pytest.mark.parametrize("commit", ["HEAD", "main", "main~1", "@{-1}", ":/one", "main@{u}"])
def test_asking_about_its_history_runs_nothing(hostile, trap, layout, commit):
    programs = RealPrograms(layout)
    for branch in ("main", "HEAD", commit):
        assert programs.is_reachable(str(hostile), commit, branch).code != 0
    assert not trap.exists()


def test_a_folder_that_does_not_look_like_a_repository_is_none(embedded):
    said = ask_git(str(embedded), "rev-parse", "--git-dir", seconds=30)
    assert said.code != 0
    assert "bare" in said.text


KEYS = [*asking.SWITCHED_OFF, *asking.IN_ITS_ENVIRONMENT]


@pytest.mark.parametrize("key", KEYS)
def test_no_single_switch_carries_it_all(hostile, trap, key, monkeypatch):
    """Each is one of several: a git that does not know it yet, or forgets it, still runs nothing."""
    for switches in (asking.SWITCHED_OFF, asking.IN_ITS_ENVIRONMENT):
        if key in switches:
            monkeypatch.delitem(switches, key)
    ask_git(str(hostile), "rev-parse", "--verify", "main^{commit}", seconds=30)
    assert not trap.exists()


def test_the_folder_counts_and_not_the_repository_of_a_hook_of_git(tmp_path, unpacked, monkeypatch):
    good = tmp_path / "good"
    good.mkdir()
    git(good, "init", "-q")
    git(good, "commit", "-q", "--allow-empty", "-m", "one")
    monkeypatch.setenv("GIT_DIR", str(unpacked / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(unpacked))
    said = ask_git(str(good), "rev-parse", "--verify", "main^{commit}", seconds=30)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_WORK_TREE")
    assert said.text == git(good, "rev-parse", "main")


def test_a_program_called_git_in_that_folder_is_not_the_one_that_runs(tmp_path, trap, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    ask_git(str(folder), "rev-parse", "HEAD", seconds=30)
    assert not trap.exists()


@pytest.mark.parametrize("verb", ["status", "diff", "log", "fetch", "add", "checkout", "show", "-c"])
def test_what_looks_at_files_or_leaves_the_machine_is_not_asked(tmp_path, verb):
    assert verb not in HISTORY_ONLY
    with pytest.raises(ValueError, match="may run"):
        ask_git(str(tmp_path), verb, seconds=30)


def starts_git(node: ast.AST) -> bool:
    """Words that begin with `git`, or a call that is given its name."""
    if isinstance(node, ast.List | ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
        return node.elts[0].value == "git"
    return isinstance(node, ast.Call) and any(
        isinstance(word, ast.Constant) and word.value == "git" for word in node.args
    )


def test_one_place_starts_git():
    """Whoever needs git asks there: a second place would be a place without the switches."""
    found = {
        str(path.relative_to(SOURCE))
        for path in saying(re.compile("""["']git["']"""), MODULES)
        if kind_of(name_of(path)) != "rules"  # rules start nothing, and some are about command lines
        if any(starts_git(node) for node in nodes_in(parsed(path)))
    }
    assert found == {"git/adapters/asking.py"}


# Through the board.


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    add_member(room, "crew", Member("cat"))
    return atm


def test_a_commit_check_in_the_folder_that_a_teammate_chose_runs_nothing(crew, hostile, trap):
    crew("teams", "update-member", "crew", "bob", "--cwd", str(hostile))
    crew("tasks", "add", "work", "--accept-commit", "main", "--as", "mallory")
    crew("tasks", "claim", "1", "--as", "bob")
    for folder in (crew.folder, hostile):
        done = crew("tasks", "complete", "1", "--as", "bob", "--json", code=1, cwd=folder)
        assert done.json["error"]["code"] == "checks-failed"
    assert not trap.exists()


def test_neither_does_one_of_a_task_that_names_the_folder_itself(crew, hostile, trap):
    crew("tasks", "add", "work", "--accept-commit", "main", "--folder", str(hostile), "--as", "cat")
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob", "--commit", "main", code=1)
    assert not trap.exists()


@pytest.mark.parametrize("way", ["roster", "task file"])
def test_nor_in_the_daemon(layout, hostile, trap, way):
    crew = Crew(layout)
    crew.add("work")
    crew.call("bob", "board_claim", id="1")
    written(
        crew, acceptance=[{"kind": "commit", "branch": "main"}], **({"folder": str(hostile)} if "task" in way else {})
    )
    if way == "roster":
        update_member(crew.room, "crew", "bob", {"cwd": str(hostile)})
    assert crew.refused("bob", "board_complete", id="1").code == "checks-failed"
    assert crew.refused("bob", "board_complete", id="1", commit="main").code == "checks-failed"
    assert not trap.exists()


def written(crew: Crew, **own: object) -> None:
    """As another program writes into a task, past atm."""
    path = Path(crew.layout.tasks("crew")) / "1.json"
    fields = json.loads(path.read_text())
    fields["metadata"]["atm"] |= own
    path.write_text(json.dumps(fields))
