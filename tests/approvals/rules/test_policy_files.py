"""A policy counts only in a file that no other user can change or replace."""

from __future__ import annotations

import pytest

from atm.approvals.rules.policy_files import PolicyPath, problem_of_file, problem_of_link, problem_of_parents

OURS = (1000, 0)


def path(owner: int | None = 1000, mode: int = 0o600, **more: bool) -> PolicyPath:
    return PolicyPath("/home/ann/config.toml", owner=owner, mode=mode, **more)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o644, 0o444, 0o755])
@pytest.mark.parametrize("owner", [*OURS, None])
def test_a_file_of_the_user_or_of_root_that_only_its_owner_can_change_counts(owner, mode):
    assert problem_of_file(path(owner, mode), OURS) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o664, 0o666, 0o777])
def test_a_file_that_a_group_or_every_user_can_change_does_not_count(mode):
    problem = problem_of_file(path(mode=mode), OURS)
    assert problem is not None
    assert f"mode {mode:o}" in problem.what
    assert problem.command == "chmod go-w /home/ann/config.toml"


def test_a_file_of_another_user_does_not_count_whatever_its_mode():
    problem = problem_of_file(path(1001), OURS)
    assert problem is not None
    assert "another user (1001)" in problem.what
    assert problem.command.startswith("chown ")


def test_a_link_does_not_count_and_is_replaced_by_its_file():
    problem = problem_of_link(path(is_link=True))
    assert problem is not None
    assert "is a link" in problem.what
    assert "cp -RLp" in problem.command


def test_a_link_to_nothing_may_have_had_a_policy():
    problem = problem_of_link(path(is_link=True, is_dangling=True))
    assert problem is not None
    assert "does not exist" in problem.what


def test_a_file_is_no_link():
    assert problem_of_link(path()) is None


@pytest.mark.parametrize(
    ("owner", "mode", "is_accepted"),
    [
        (1000, 0o755, True),
        (0, 0o755, True),
        (1000, 0o775, True),
        (0, 0o1777, True),
        (None, 0o777, True),
        (1000, 0o777, False),
        (1001, 0o755, False),
        (1001, 0o1777, False),
    ],
)
def test_a_folder_in_which_another_user_can_replace_the_file_does_not_count(owner, mode, is_accepted):
    folders = [PolicyPath("/home/ann", owner=owner, mode=mode), PolicyPath("/", owner=0, mode=0o755)]
    assert (problem_of_parents(folders, OURS) is None) == is_accepted
