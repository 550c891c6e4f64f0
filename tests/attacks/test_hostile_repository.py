"""
A hostile repository under a crew: worktrees, commits and salvage run nothing that it names (D25).

Its settings, its attributes, its hooks, and what an agent writes into its worktree are somebody's choice. What the
user's own settings name runs, as it does for the user.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crew.repositories import Bench, alone, git, new_repository

from atm.core.errors import AtmError
from atm.crew.ports.worktrees import Worktree
from atm.git.adapters import running
from atm.git.adapters.running import Git, GitSetting, programs_off

EVERY_HOOK = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-checkout", "post-commit", "post-index-change"),
    *(
        "post-merge",
        "post-rewrite",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-rebase",
        "prepare-commit-msg",
    ),
    *("reference-transaction", "pre-push", "push-to-checkout", "update", "post-update", "sendemail-validate"),
)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    return tmp_path / "pwned"


@pytest.fixture
def user(tmp_path, home, monkeypatch) -> Path:
    alone(monkeypatch, home)
    folder = new_repository(tmp_path / "r")
    (folder / ".gitattributes").write_text(
        "* filter=evil diff=evil merge=evil\n*.eq filter=a=b\n*.inc filter=included\n"
    )
    for name in ("x.eq", "x.inc"):
        (folder / name).write_text("x\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "attributes")
    return folder


@pytest.fixture
def bench(user, layout) -> Bench:
    return Bench(user, layout)


def set_all(folder: Path, trap: Path) -> None:
    """Every setting by which git runs a program."""
    run = f"touch {trap}; cat"
    settings = {
        **{f"filter.evil.{verb}": run for verb in ("clean", "smudge", "process")},
        **{f"filter.a=b.{verb}": run for verb in ("clean", "smudge")},
        "filter.evil.required": "true",
        "diff.evil.textconv": run,
        "diff.evil.command": run,
        "diff.external": run,
        "merge.evil.driver": run,
        "core.fsmonitor": f"touch {trap}",
        "core.pager": run,
        "core.editor": run,
        "core.sshCommand": run,
        "core.askPass": run,
        "core.gitProxy": run,
        "core.alternateRefsCommand": run,
        "credential.helper": f"!{run}",
        "gpg.program": str(trap.parent / "gpg"),
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "alias.status": f"!{run}",
        "alias.add": f"!{run}",
        "hook.evil.command": run,
        "hook.evil.event": "reference-transaction",
        "submodule.recurse": "true",
        "submodule.lib.update": f"!{run}",
        "pager.status": "true",
        "sequence.editor": run,
        "trailer.x.command": run,
        "core.hooksPath": "",
    }
    for key, value in settings.items():
        git(folder, "config", key, value)
    git(folder, "config", "--unset", "core.hooksPath")
    (folder / ".git" / "more").write_text(f'[filter "included"]\n clean = "{run}"\n smudge = "{run}"\n')
    git(folder, "config", "include.path", "more")


def set_hooks(folder: Path, trap: Path) -> None:
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in EVERY_HOOK:
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)


def live(bench: Bench, tmp_path: Path, meddle: Callable[[Worktree], None] = lambda _: None) -> Worktree:
    """All that the crew does with git."""
    repository = bench.repository
    worktree = bench.worktrees.make(repository, "crew", "1", "ann")
    folder = Path(worktree.path)
    assert (folder / "a.txt").read_text() == "one and a half\n"
    meddle(worktree)
    for name in ("a.txt", "x.eq", "x.inc", "new.txt"):
        (folder / name).write_text(f"changed {name}\n")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert bench.file(commit, "x.eq") == "changed x.eq"
    for name in ("a.txt", "x.eq", "x.inc", "newer.txt"):
        (folder / name).write_text(f"changed again {name}\n")
    saved = bench.worktrees.save(worktree, "crew", "1", "the end")
    assert saved is not None
    assert "+changed again a.txt" in bench.worktrees.show(saved)
    bench.worktrees.restore(saved, str(tmp_path / f"out-{worktree.base[:4]}"))
    assert (tmp_path / f"out-{worktree.base[:4]}" / "x.inc").read_text() == "changed again x.inc\n"
    assert bench.worktrees.make(repository, "crew", "1", "ann").path == worktree.path
    bench.worktrees.remove(worktree, branch=True)
    bench.worktrees.drop(saved)
    return worktree


def test_the_traps_work_for_whoever_uses_git_as_it_is(user, trap):
    set_all(user, trap)
    (user / "a.txt").write_text("changed\n")
    subprocess.run(["git", "status"], cwd=user, check=False, capture_output=True)
    assert trap.exists()


@pytest.mark.parametrize(
    "key", ["filter.evil.clean", "filter.a=b.clean", "filter.included.clean", "filter.evil.process"]
)
def test_so_does_each_filter(user, trap, key):
    git(user, "config", key, f"touch {trap}; cat")
    (user / ("x.eq" if "=" in key else "x.inc" if "inc" in key else "a.txt")).write_text("changed\n")
    subprocess.run(["git", "add", "."], cwd=user, check=False, capture_output=True)
    assert trap.exists()


def test_a_crew_runs_none_of_what_the_settings_name(user, bench, trap, tmp_path):
    set_all(user, trap)
    (tmp_path / "gpg").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (tmp_path / "gpg").chmod(0o755)
    (user / "a.txt").write_text("the user's own change\n")
    live(bench, tmp_path)
    assert not trap.exists()
    assert any("filters that do not run here: a=b, evil, included" in note for note in bench.repository.notes)


def test_nor_any_hook(user, bench, trap, tmp_path):
    set_hooks(user, trap)
    live(bench, tmp_path)
    assert not trap.exists()


def test_nor_what_an_agent_sets_up_while_it_works(user, bench, trap, tmp_path):
    def meddle(worktree: Worktree) -> None:
        set_all(user, trap)
        set_hooks(user, trap)
        (user / ".git" / "info").mkdir(exist_ok=True)
        (user / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")

    live(bench, tmp_path, meddle)
    assert not trap.exists()


def test_nor_settings_for_one_worktree(user, bench, trap, tmp_path):
    def meddle(worktree: Worktree) -> None:
        git(user, "config", "extensions.worktreeConfig", "true")
        notes = user / ".git" / "worktrees" / "1-ann"
        (notes / "config.worktree").write_text(f'[filter "evil"]\n clean = "touch {trap}; cat"\n')

    live(bench, tmp_path, meddle)
    assert not trap.exists()


def test_a_pointer_to_another_git_folder_leads_nowhere(user, bench, trap, tmp_path):
    evil = new_repository(tmp_path / "evil")
    set_all(evil, trap)
    set_hooks(evil, trap)
    trap.unlink(missing_ok=True)

    def meddle(worktree: Worktree) -> None:
        (Path(worktree.path) / ".git").write_text(f"gitdir: {evil}/.git\n")

    worktree = bench.make()
    meddle(worktree)
    (Path(worktree.path) / "a.txt").write_text("changed\n")
    bench.worktrees.commit(worktree, "ann", "work")
    (Path(worktree.path) / "a.txt").write_text("changed again\n")
    bench.worktrees.remove(worktree, branch=True)
    assert not trap.exists()
    assert (
        git(evil, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "log", "--format=%s")
        == "second\nfirst"
    )


@pytest.mark.parametrize("where", ["inner", "lib"])
def test_repositories_inside_run_nothing_either(user, bench, trap, tmp_path, where):
    library = new_repository(tmp_path / "library")
    git(user, "submodule", "--quiet", "add", str(library), "lib")
    git(user, "commit", "-q", "-m", "library")
    worktree = bench.make()
    inner = Path(worktree.path) / where
    if where == "lib":
        git(worktree.path, "submodule", "--quiet", "update", "--init")
    else:
        new_repository(inner)
    (inner / ".gitattributes").write_text("* filter=evil diff=evil\n")
    config = Path(git(inner, "rev-parse", "--absolute-git-dir")) / "config"
    with config.open("a") as file:
        file.write(f'[filter "evil"]\n clean = "touch {trap}; cat"\n[core]\n fsmonitor = "touch {trap}"\n')
    (inner / "a.txt").write_text("changed\n")
    (Path(worktree.path) / "x").write_text("x\n")
    bench.worktrees.commit(worktree, "ann", "work")
    bench.worktrees.save(worktree, "crew", "1", "the end")
    bench.worktrees.remove(worktree, branch=True)
    assert not trap.exists()
    assert len(bench.worktrees.saved(worktree.common)) == 1


def test_nothing_is_fetched(user, bench, trap, tmp_path):
    """A commit whose files are missing, and a remote that promises them by a program."""
    blob = git(user, "rev-parse", "HEAD:a.txt")
    (user / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.url": f"file://{tmp_path}/origin",
        "remote.evil.promisor": "true",
        "remote.evil.uploadpack": f"touch {trap}; git-upload-pack",
        "protocol.allow": "always",
        "protocol.file.allow": "always",
    }
    for key, value in settings.items():
        git(user, "config", key, value)
    with pytest.raises(AtmError):
        bench.make()
    assert not trap.exists()
    assert bench.worktrees.left("crew") == []


def fake_lfs(folder: Path, trap: Path, *, runs_extensions: bool) -> None:
    """As git-lfs does: it runs the programs that `lfs.extension` names."""
    folder.mkdir(exist_ok=True)
    inner = "git config --get-regexp 'lfs[.]extension[.].*[.]clean' >/dev/null && touch " + str(trap)
    (folder / "git-lfs").write_text(f"#!/bin/sh\n{inner if runs_extensions else ''}\ntouch {trap}.lfs\ncat\n")
    (folder / "git-lfs").chmod(0o755)


@pytest.fixture
def with_lfs(user: Path, bench: Bench, tmp_path: Path, trap: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    fake_lfs(tmp_path / "programs", trap, runs_extensions=True)
    monkeypatch.setenv("PATH", f"{tmp_path / 'programs'}{os.pathsep}{os.environ['PATH']}")
    (user / ".gitattributes").write_text("* filter=lfs\n")
    git(user, "commit", "-q", "-a", "-m", "lfs")
    for verb, words in {"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f"}.items():
        git(user, "config", f"filter.lfs.{verb}", words)
    return bench


def test_git_lfs_runs_in_its_own_words(with_lfs, trap, tmp_path):
    live(with_lfs, tmp_path)
    assert Path(f"{trap}.lfs").exists()
    assert not trap.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lfs.extension.evil.clean", "touch TRAP"),
        ("filter.lfs.clean", "git-lfs clean -- %f; touch TRAP"),
        ("filter.lfs.smudge", "touch TRAP; git-lfs smudge -- %f"),
        ("filter.lfs.process", "touch TRAP"),
    ],
)
def test_and_in_no_others(user, with_lfs, trap, tmp_path, key, value):
    git(user, "config", key, value.replace("TRAP", str(trap)))
    live(with_lfs, tmp_path)
    assert not trap.exists()


def test_a_program_in_the_worktree_is_not_the_one_that_runs(user, with_lfs, trap, tmp_path, monkeypatch):
    for name in ("git-lfs", "git"):
        (user / name).write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
        (user / name).chmod(0o755)
    git(user, "add", "-f", "git-lfs", "git")
    git(user, "commit", "-q", "-m", "programs")
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    live(with_lfs, tmp_path)
    assert not trap.exists()


@pytest.mark.parametrize("scope", ["--global", "command line"])
def test_what_the_user_has_set_up_runs(user, bench, trap, tmp_path, scope, monkeypatch):
    run = f"touch {trap}; tr a-z A-Z"
    if scope == "--global":
        git(user, "config", "--global", "filter.evil.clean", run)
    else:
        monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
        monkeypatch.setenv("GIT_CONFIG_KEY_0", "filter.evil.clean")
        monkeypatch.setenv("GIT_CONFIG_VALUE_0", run)
    worktree = bench.make()
    (Path(worktree.path) / "new.txt").write_text("new\n")
    commit = bench.worktrees.commit(worktree, "ann", "work")
    assert bench.file(commit, "new.txt") == "NEW"
    assert trap.exists()


def test_the_user_s_own_value_counts_where_the_repository_has_another(user, bench, trap):
    git(user, "config", "--global", "filter.evil.clean", "tr a-z A-Z")
    git(user, "config", "filter.evil.clean", f"touch {trap}; cat")
    worktree = bench.make()
    (Path(worktree.path) / "new.txt").write_text("new\n")
    assert bench.file(bench.worktrees.commit(worktree, "ann", "work"), "new.txt") == "NEW"
    assert not trap.exists()


def test_every_setting_that_names_a_program_has_something_in_its_place():
    given = [GitSetting("local", key, "evil") for key in ("filter.x.clean", "diff.x.textconv", "merge.x.driver")]
    given += [GitSetting("worktree", "hook.y.command", "evil"), GitSetting("global", "filter.z.clean", "fine")]
    given += [GitSetting("local", "user.name", "x"), GitSetting("local", "filter.lfs.clean", "git-lfs clean -- %f")]
    assert programs_off(given, has_lfs=True) == {
        "filter.x.clean": "",
        "filter.x.required": "false",
        "diff.x.textconv": "cat",
        "merge.x.driver": "false",
        "hook.y.command": "false",
        "hook.y.enabled": "false",
    }
    assert programs_off(given, has_lfs=False)["filter.lfs.clean"] == ""


def test_a_setting_of_the_repository_cannot_outweigh_ours(user, trap, monkeypatch):
    set_all(user, trap)
    told = Git(str(user)).need("config", "--list", "--null")
    last = dict(entry.partition("\n")[::2] for entry in told.split("\0"))
    for key, value in running.OURS.items():
        assert last[key.lower()] == value
    for key in ("filter.evil.clean", "filter.a=b.clean", "filter.included.clean", "filter.evil.process"):
        assert last[key] == ""
    trap.unlink(missing_ok=True)
