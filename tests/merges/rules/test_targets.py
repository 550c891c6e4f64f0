"""Which names `--into` takes, by rule and by git itself."""

from __future__ import annotations

import subprocess

import pytest

from atm.core.errors import RequestError
from atm.merges.rules.targets import check_target

REFUSED = [
    *("atm/work/crew/1-a1", "atm/work", "ATM/Work/x", "atm/checkpoints/crew", "atm/salvage/crew/1", "refs/heads/main"),
    *("refs/atm/salvage/x", "refs", "heads/main", "tags/v1", "remotes/origin/main", "HEAD", "@", "origin/HEAD", "-x"),
    *("--force", "@{-1}", "@{upstream}", "main@{1}", "../main", "a/../b", "a..b", "./a", "a//b", "/a", "a/", "", " "),
    *("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "AUTO_MERGE", "stash"),
    *("a\0b", "a\x1b[2J", "a\nb", ".hidden", "a/.b", "worktree/x/y"),
]


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    with pytest.raises(RequestError):
        check_target(name)


@pytest.mark.parametrize(
    "name",
    [
        "main",
        "atm/result/crew",
        "atm/other",
        "release/1.0",
        "atm-work/x",
        "a@b",
        "ünï",
        "head",
        "fix/FETCH_HEAD",
        "A_HEAD_1",
    ],
)
def test_it_is_taken_and_git_makes_a_branch_of_it(name, tmp_path):
    assert check_target(name) == name
    subprocess.run(["git", "check-ref-format", "--branch", name], check=True, capture_output=True, timeout=60)
