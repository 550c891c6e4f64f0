"""Git, in a folder, uses the repository of the worktree as it is; or it is said why not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from atm.git.adapters import own_repository
from atm.git.adapters.own_repository import has_repository_within, why_git_differs


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    return folder


def why(folder: Path, root: Path, anchor: Path | None = None) -> str:
    return why_git_differs(str(folder), str(root), str(anchor or ""))


def test_the_worktrees_own_repository_is_used_as_it_is_from_all_its_folders(work):
    assert why(work, work) == ""
    assert why(work / "sub", work) == ""
    assert "not there yet" in why(work / "no" / "such", work)


def test_a_linked_worktree_has_a_repository_of_its_own_kind(work):
    git(work, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "worktree", "add", "-q", "../other")
    assert why(work.parent / "other", work.parent / "other") == ""
    assert "of its own" in why(work.parent / "other", work)


def test_a_folder_that_looks_like_a_bare_repository_is_one(work):
    (work / "x" / "objects").mkdir(parents=True)
    (work / "x" / "HEAD").write_text("ref: refs/heads/main\n")
    assert "looks like a repository" in why(work / "x", work)
    assert "looks like a repository" in why(work / "x" / "objects", work)


def test_a_repository_within_the_worktree_is_another_one_also_for_a_call_that_says_it_is_the_root(work):
    git(work / "sub", "init", "-q")
    assert "of its own" in why(work / "sub", work)
    assert "of its own" in why(work / "sub", work / "sub", anchor=work)
    assert "within another one" in why(work / "sub", work / "sub")
    assert why(work / "sub", work / "sub", anchor=work / "sub") == ""


@pytest.mark.parametrize("name", ["config", "config.worktree"])
def test_a_repository_that_names_a_program_is_named_with_the_setting(work, name):
    with (work / ".git" / name).open("a") as file:
        file.write("[core]\n\tfsmonitor = ./evil.sh\n")
    assert f"core.fsmonitor in {work}/.git/{name}" in why(work, work)


def test_a_git_file_that_leads_nowhere_and_settings_that_cannot_be_read_are_not_trusted(work, tmp_path):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_text("no repository")
    assert "cannot be read" in why(tmp_path / "odd", tmp_path / "odd")
    (work / ".git" / "config").unlink()
    (work / ".git" / "config").mkdir()
    assert "cannot be read" in why(work, work)


def test_without_any_repository_git_reads_nothing_in_the_worktree_and_is_not_judged_outside_of_it(tmp_path):
    (tmp_path / "a").mkdir()
    assert why(tmp_path, tmp_path) == ""
    assert "outside" in why(tmp_path, tmp_path / "a")


def with_nested(work: Path) -> Path:
    nested = work / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    git(nested, "commit", "-q", "--allow-empty", "-m", "x")
    return nested


def test_a_repository_that_the_index_names_is_looked_into_by_git_and_so_by_this(work):
    nested = with_nested(work)
    git(work, "-c", "advice.addEmbeddedRepo=false", "add", "nested")
    assert f"{nested} is a repository of its own" in why(work, work)


def test_a_submodule_is_judged_by_its_settings(work, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sm")
    assert why(work, work) == ""
    with (work / ".git" / "modules" / "sm" / "config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./evil.sh\n")
    assert "core.fsmonitor" in why(work, work)


def test_an_index_that_is_split_is_not_read(work):
    git(work, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, "update-index", "--split-index")
    assert "split" in why(work, work)


def test_a_repository_whose_folder_lies_among_the_files_of_the_worktree_is_not_trusted(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    git(tmp_path, "init", "-q", "--separate-git-dir", str(top / ".bare"), str(top))
    assert "where agents may write" in why(top, top)


def test_nested_repositories_are_found_and_too_many_folders_count_as_one(work, monkeypatch):
    assert not has_repository_within(str(work))
    monkeypatch.setattr(own_repository, "MOST_FOLDERS", 1)
    assert has_repository_within(str(work))
    monkeypatch.undo()
    with_nested(work)
    assert has_repository_within(str(work))
