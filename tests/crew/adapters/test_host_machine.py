"""What a host knows of the folder that its agent works in."""

from __future__ import annotations

from pathlib import Path

from atm.crew.adapters.host_machine import RealHostMachine, git_folder_of
from atm.files.formats.layout import Layout


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


def test_the_output_of_a_command_counts_once_and_words_of_the_host_do_not(layout: Layout, tmp_path: Path) -> None:
    machine = RealHostMachine(layout, "crew", "bob", str(tmp_path / "log"))
    machine.log("the host speaks")
    assert not machine.has_output()
    machine.hear(b"12 of 40 passed\n")
    assert machine.has_output()
    assert not machine.has_output()
    assert (tmp_path / "log").read_text() == "the host speaks\n12 of 40 passed\n"
