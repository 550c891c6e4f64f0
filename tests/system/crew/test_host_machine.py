"""What a host knows of the folder that its agent works in."""

from __future__ import annotations

from pathlib import Path

from atm.system.crew.host_machine import git_folder_of


def test_the_git_folder_of_a_worktree_is_what_its_pointer_says(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /src/shop/.git/worktrees/up-bob\n")
    assert git_folder_of(str(tmp_path)) == ["/src/shop/.git/worktrees/up-bob"]


def test_a_repository_of_its_own_and_a_plain_folder_have_none(tmp_path: Path) -> None:
    assert git_folder_of(str(tmp_path)) == []
    (tmp_path / ".git").mkdir()
    assert git_folder_of(str(tmp_path)) == []
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/.git").write_text("what?")
    assert git_folder_of(str(tmp_path / "odd")) == []
