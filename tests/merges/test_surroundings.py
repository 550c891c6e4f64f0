"""
Repositories and machines as they are found: hooks that refuse, signatures that fail, programs that a repository names,
settings of all kinds, branches that are checked out or in the way, and a queue that somebody altered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.crew.repositories import git
from tests.merges.histories import POOL, Edit, History, Job
from tests.merges.workshop import TEAM, Workshop

from atm.core.errors import RequestError
from atm.core.work_errors import NotTrusted
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MergeQueue
from atm.merges.services.people import begin_queue

HOOKS = (
    *("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-merge"),
    *("reference-transaction", "post-checkout", "post-index-change", "post-rewrite", "pre-rebase", "pre-auto-gc"),
)
ONE = Job((Edit("line", "a.txt", 3, "one"),))
TWO = Job((Edit("line", "a.txt", 3, "two"),))
"""In conflict with each other."""
ELSEWHERE = Job((Edit("add", "new.txt", 0, "three"),))
CONFLICTING = History(("a.txt", "b.txt"), (ONE, TWO, ELSEWHERE))
BOTH = "echo both > a.txt"
"""Resolves by hand: git of the resolver's own would run the user's hooks, and may."""

OpenShop = Callable[[History], Workshop]


@pytest.fixture(params=["rebase", "merge", "squash"])
def strategy(request) -> str:
    return str(request.param)


def statuses(queue: MergeQueue) -> list[str]:
    return [item.status for item in sorted(queue.items, key=lambda item: int(item.task))]


def merge_into(shop: Workshop, branch: str) -> MergeQueue:
    """As a run with `--into` does."""
    wanted = MergeQueue(team=TEAM, branch=branch, folder=str(shop.folder), strategy=shop.history.strategy)
    begin_queue(shop.room, wanted)
    return shop.merge()


# What would run, or refuse.


@pytest.mark.parametrize("by", ["hooks", "core.hooksPath"])
def test_hooks_that_refuse_everything_neither_run_nor_stop_it(open_shop: OpenShop, place: Path, strategy: str, by: str):
    shop = open_shop(replace(CONFLICTING, strategy=strategy, is_checked=True))
    folder = shop.folder / ".git" / "hooks" if by == "hooks" else place / "elsewhere"
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {place}/ran\nexit 1\n")
        (folder / name).chmod(0o755)
    if by != "hooks":
        (place / "home" / ".gitconfig").write_text(f"[core]\n\thooksPath = {folder}\n")
    shop.room.policy.command = BOTH
    assert statuses(merge_into(shop, "main")) == [MERGED] * 3
    assert (shop.folder / "a.txt").read_text() == "both\n"
    assert not (place / "ran").exists()


def test_nothing_is_signed_where_signing_fails(open_shop: OpenShop, place: Path, strategy: str):
    (place / "home" / ".gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = /bin/false\n")
    shop = open_shop(replace(CONFLICTING, strategy=strategy))
    shop.room.policy.command = BOTH
    queue = shop.merge()
    assert statuses(queue) == [MERGED] * 3
    shop.check(queue)


SETTINGS = """\
[color]
\tui = always
[status]
\tbranch = true
\tshort = true
\tshowUntrackedFiles = no
[merge]
\tconflictStyle = diff3
\tverifySignatures = true
\tff = false
\tautoStash = true
\tlog = true
[diff]
\tnoprefix = true
\trenames = copies
\tmnemonicPrefix = true
[log]
\tshowSignature = true
\tdate = relative
[format]
\tpretty = oneline
[user]
\tuseConfigOnly = true
[core]
\tabbrev = 4
\tquotePath = false
[column]
\tui = always
"""


def test_settings_of_the_user_change_nothing_of_what_is_merged(open_shop: OpenShop, place: Path, strategy: str):
    (place / "home" / ".gitconfig").write_text(SETTINGS)
    shop = open_shop(replace(CONFLICTING, strategy=strategy))
    shop.room.policy.command = BOTH
    assert statuses(merge_into(shop, "main")) == [MERGED] * 3
    assert (shop.folder / "a.txt").read_text() == "both\n"
    assert git(shop.folder, "status", "--porcelain") == ""


PROGRAMS = ("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.command", "diff.x.textconv")


def test_no_program_that_the_repository_names_is_run(open_shop: OpenShop, place: Path, strategy: str, monkeypatch):
    monkeypatch.setitem(POOL, ".gitattributes", ("100644", b"* filter=x diff=x merge=x\n"))
    history = replace(CONFLICTING, base=("a.txt", "b.txt", ".gitattributes"), strategy=strategy, is_checked=True)
    shop = open_shop(history)
    for key in (*PROGRAMS, "merge.x.driver", "diff.external", "core.fsmonitor", "core.editor", "merge.tool"):
        git(shop.folder, "config", key, f"touch {place}/ran; cat")
    git(shop.folder, "config", "filter.x.required", "true")
    (shop.folder / "mine").write_text("only so that the index is looked at")
    queue = merge_into(shop, "main")
    assert statuses(queue) == [MERGED, CONFLICT, MERGED]
    assert git(shop.folder, "cat-file", "blob", "main:new.txt") == "three"
    assert not (place / "ran").exists()


def test_pointers_of_lfs_are_merged_as_they_are(open_shop: OpenShop, place: Path, strategy: str, monkeypatch):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 5\n"
    monkeypatch.setitem(POOL, ".gitattributes", ("100644", b"picture filter=lfs diff=lfs merge=lfs -text\n"))
    monkeypatch.setitem(POOL, "picture", ("100644", pointer % (b"1" * 64)))
    jobs = (Job((Edit("line", "picture", 1, "oid sha256:" + "2" * 64),)), ELSEWHERE)
    shop = open_shop(History(("picture", ".gitattributes"), jobs, strategy=strategy, is_checked=True))
    for verb in ("clean", "smudge"):
        git(shop.folder, "config", f"filter.lfs.{verb}", f"git-lfs {verb} -- %f")
    git(shop.folder, "config", "filter.lfs.required", "true")
    before = shop.users()
    assert statuses(shop.merge()) == [MERGED, MERGED]
    assert "oid sha256:2222" in git(shop.folder, "cat-file", "blob", f"{shop.branch}:picture")
    assert shop.users() == before


# Conflicts that come again.


def test_a_conflict_that_comes_again_is_resolved_from_memory_and_rerere_stays_off(open_shop: OpenShop, strategy: str):
    shop = open_shop(replace(CONFLICTING, strategy=strategy))
    shop.room.policy.command = BOTH
    assert statuses(shop.merge()) == [MERGED] * 3
    shop.room.policy.command = ""
    assert statuses(merge_into(shop, "elsewhere")) == [MERGED] * 3
    assert git(shop.folder, "cat-file", "blob", "elsewhere:a.txt") == "both"
    assert not (shop.folder / ".git" / "rr-cache").exists()


# Where it is merged into.


def test_files_of_a_branch_that_is_checked_out_and_clean_move_with_it(open_shop: OpenShop, strategy: str):
    shop = open_shop(History(("a.txt", "b.txt"), (ONE, ELSEWHERE), strategy=strategy))
    assert statuses(merge_into(shop, "main")) == [MERGED, MERGED]
    assert (shop.folder / "new.txt").read_text() == "three\n"
    assert git(shop.folder, "status", "--porcelain") == ""
    assert git(shop.folder, "symbolic-ref", "HEAD") == "refs/heads/main"


def test_a_branch_that_is_checked_out_and_dirty_is_not_touched(open_shop: OpenShop, strategy: str):
    shop = open_shop(History(("a.txt", "b.txt"), (ONE, ELSEWHERE), strategy=strategy))
    (shop.folder / "b.txt").write_text("not committed\n")
    before = shop.users()
    queue = merge_into(shop, "main")
    assert statuses(queue) == [FAILED, FAILED]
    assert all(item.needs_human and "with changes that are not committed" in item.reason for item in queue.items)
    assert all(item.salvage for item in queue.items)
    assert shop.users() == before


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_file_of_the_users_in_the_way_is_not_overwritten(open_shop: OpenShop, is_ignored: bool):
    shop = open_shop(History(("a.txt", "b.txt"), (ELSEWHERE,)))
    (shop.folder / "new.txt").write_text("the user's own\n")
    if is_ignored:
        (shop.folder / ".git" / "info" / "exclude").write_text("new.txt\n")
    before = shop.users()
    queue = merge_into(shop, "main")
    assert statuses(queue) == [FAILED]
    assert "git cannot move it on" in queue.items[0].reason
    assert (shop.folder / "new.txt").read_text() == "the user's own\n"
    assert shop.users() == before


@pytest.mark.parametrize("other", ["atm/result", "atm/result/crew/x"])
def test_a_branch_in_the_way_of_the_target_is_named_with_a_way_out(open_shop: OpenShop, other: str):
    shop = open_shop(History(("a.txt",), (ONE,)))
    git(shop.folder, "branch", other)
    with pytest.raises(RequestError) as refused:
        shop.merge()
    assert f"'{other}' is in the way of 'atm/result/crew'" in str(refused.value)
    assert f"git branch -m {other}" in refused.value.remedy


@pytest.mark.parametrize("name", ["a..b", "-x", "HEAD", "x.lock", "a b", "@{", "a/", ""])
def test_what_is_no_name_of_a_branch_is_no_target(open_shop: OpenShop, name: str):
    shop = open_shop(History(("a.txt",), (ONE,)))
    before = shop.users()
    with pytest.raises(RequestError) as refused:
        merge_into(shop, name)
    assert f"{name!r} is no name for a branch" in str(refused.value)
    assert shop.users() == before


MANY = 200 if LONG else 20
"""More than are tried at once, and some that wait."""


@pytest.mark.campaign
@pytest.mark.parametrize("at_once", [1, 16] if LONG else [16])
def test_many_tasks_are_merged_in_one_go(open_shop: OpenShop, at_once: int):
    jobs = tuple(Job((Edit("add", f"file {number}", 0, "one"),)) for number in range(MANY))
    shop = open_shop(History(("a.txt", "b.txt"), jobs, at_once=at_once))
    queue = shop.merge()
    assert statuses(queue) == [MERGED] * MANY
    shop.check(queue)


# A queue that somebody altered.


def test_a_queue_that_was_altered_by_hand_is_refused(open_shop: OpenShop, place: Path):
    shop = open_shop(CONFLICTING)
    queue = shop.merge()
    (path,) = (place / "home").rglob("merges.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "branch": "main"}))
    before, tip = shop.users(), shop.tip()
    with pytest.raises(NotTrusted) as refused:
        shop.merge()
    assert refused.value.code == "not-trusted"
    assert (shop.users(), shop.tip()) == (before, tip)
    path.unlink()
    assert statuses(shop.merge()) == statuses(queue), "it is made anew from the board"
