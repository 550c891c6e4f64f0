"""
Checkpoints in real repositories, in whatever state their users left them.

A look at everything that lies in the repository, byte for byte, says that nothing changed but objects and the branch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.crew.repositories import GIT, alone, git, new_repository
from tests.in_memory import in_memory

from atm.core.errors import AtmError, WriteRefused
from atm.core.work_errors import GitTrouble
from atm.crew.rules.refs import checkpoint_branch
from atm.files.adapters.machine import RealClock
from atm.git.adapters import asking, running
from atm.sessions.adapters.git_checkpoints import CheckpointBranches
from atm.testing.time_and_chance import FakeClock

FILES = {"state.json": b'{"a": 1}\n', "mailbox.log": b"one\ntwo\n", "tasks.jsonl": b""}
OURS = "refs/heads/atm/checkpoints"
MINUTE = 60.0


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    yield from in_memory(tmp_path)


@pytest.fixture(autouse=True)
def _alone(monkeypatch, home) -> None:
    alone(monkeypatch, home)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "r")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def checkpoints(clock) -> CheckpointBranches:
    return CheckpointBranches(clock)


def everything(folder: Path) -> dict[str, bytes | str]:
    """Every file of the user's and of git's; objects, and what lies on our branch, do not count."""
    seen: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or not path.is_file() or f"/{OURS}/" in f"/{name}" or "objects/" in name:
            continue
        seen[name] = path.read_bytes()
    refs = git(folder, "for-each-ref", "--format=%(refname) %(objectname)", check=False)
    seen["refs"] = "\n".join(line for line in refs.split("\n") if not line.startswith(f"{OURS}/"))
    seen["status"] = git(folder, "--no-optional-locks", "status", "--porcelain", "--branch", "--ignored", check=False)
    seen["stash"] = git(folder, "stash", "list", check=False)
    return seen


def texts(checkpoints: CheckpointBranches, common: str, team: str = "crew") -> list[str]:
    return [each.text for each in checkpoints.commits(common, team, 99)]


def make(checkpoints: CheckpointBranches, clock: FakeClock, common: str, count: int) -> list[str]:
    made = []
    for number in range(count):
        clock.pass_time(MINUTE)
        made.append(checkpoints.commit(common, "crew", {"state.json": b"%d" % number}, f"number {number}"))
    return made


# In every state of a repository. Each gives the folder in which the lead works.


def in_the_middle_of_a_merge(folder: Path) -> Path:
    _two_sides(folder)
    git(folder, "merge", "other", check=False)
    assert (folder / ".git/MERGE_HEAD").exists()
    return folder


def in_the_middle_of_a_rebase(folder: Path) -> Path:
    _two_sides(folder)
    git(folder, "rebase", "other", check=False)
    assert (folder / ".git/rebase-merge").exists()
    return folder


def _two_sides(folder: Path) -> None:
    git(folder, "branch", "other")
    for branch, text in (("main", "ours\n"), ("other", "theirs\n")):
        git(folder, "switch", "-q", branch)
        (folder / "a.txt").write_text(text)
        git(folder, "commit", "-q", "-a", "-m", text)
    git(folder, "switch", "-q", "main")


def with_staged_dirty_untracked_and_stashed_files(folder: Path) -> Path:
    (folder / "a.txt").write_text("stashed\n")
    git(folder, "stash")
    (folder / "a.txt").write_text("staged\n")
    git(folder, "add", "a.txt")
    (folder / "a.txt").write_text("dirty\n")
    (folder / "new.txt").write_text("untracked\n")
    (folder / ".claude/teams/crew").mkdir(parents=True)
    (folder / ".claude/teams/crew/state.json").write_text("the user's own\n")
    return folder / "src"


def without_a_branch(folder: Path) -> Path:
    git(folder, "checkout", "-q", "HEAD~1")
    return folder


def on_a_branch_without_a_commit(folder: Path) -> Path:
    git(folder, "switch", "-q", "--orphan", "new")
    return folder


def without_any_commit(folder: Path) -> Path:
    return _another(folder, "init", "-q", "another")


def bare(folder: Path) -> Path:
    return _another(folder, "clone", "-q", "--bare", ".", "another")


def shallow(folder: Path) -> Path:
    return _another(folder, "clone", "-q", "--depth=1", f"file://{folder}", "another")


def with_names_of_another_kind(folder: Path) -> Path:
    return _another(folder, "init", "-q", "--object-format=sha256", "another")


def _another(folder: Path, *words: str) -> Path:
    git(folder, *words)
    return (folder / "another").rename(folder.parent / "another")


def with_a_sub_module(folder: Path) -> Path:
    git(folder, "submodule", "add", "-q", str(folder), "inner")
    (folder / "inner/a.txt").write_text("dirty inside\n")
    return folder


def in_a_linked_worktree(folder: Path) -> Path:
    git(folder, "worktree", "add", "-q", "-b", "linked", "linked")
    (folder / "linked/a.txt").write_text("dirty there\n")
    return folder / "linked"


def with_a_signature_that_cannot_be_made(folder: Path) -> Path:
    for key, value in (("commit.gpgSign", "true"), ("gpg.program", "/bin/false"), ("user.useConfigOnly", "true")):
        git(folder, "config", "--global", key, value)
    return folder


def with_hooks_that_refuse_everything(folder: Path) -> Path:
    return _hooks_in(folder / ".git/hooks", folder)


def with_hooks_that_its_settings_name(folder: Path) -> Path:
    git(folder, "config", "core.hooksPath", ".hooks")
    return _hooks_in(folder / ".hooks", folder)


def _hooks_in(hooks: Path, folder: Path) -> Path:
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
    ):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/a.txt\nexit 1\n")
        (hooks / name).chmod(0o755)
    return folder


def while_another_git_holds_the_index_and_head(folder: Path) -> Path:
    (folder / ".git/HEAD").chmod(0o444)
    for name in ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"):
        (folder / ".git" / name).touch()
    return folder


def with_a_log_of_every_branch_and_packed_refs(folder: Path) -> Path:
    git(folder, "config", "core.logAllRefUpdates", "always")
    git(folder, "pack-refs", "--all")
    return folder


STATES = [
    in_the_middle_of_a_merge,
    in_the_middle_of_a_rebase,
    with_staged_dirty_untracked_and_stashed_files,
    without_a_branch,
    on_a_branch_without_a_commit,
    without_any_commit,
    bare,
    shallow,
    with_names_of_another_kind,
    with_a_sub_module,
    in_a_linked_worktree,
    with_a_signature_that_cannot_be_made,
    with_hooks_that_refuse_everything,
    with_hooks_that_its_settings_name,
    while_another_git_holds_the_index_and_head,
    with_a_log_of_every_branch_and_packed_refs,
]


@pytest.mark.parametrize("state", STATES)
def test_a_checkpoint_is_made_and_nothing_else_changes(folder, clock, checkpoints, state: Callable[[Path], Path]):
    place = state(folder)
    outer = folder if place.is_relative_to(folder) else place
    common = checkpoints.repository(str(place))
    before = everything(outer)
    commits = make(checkpoints, clock, common, 2)
    assert checkpoints.thin(common, "crew", lambda known: known[:1]) == 1
    last = checkpoints.commit(common, "crew", FILES, "the last")
    assert checkpoints.latest(common, "crew") == FILES
    assert everything(outer) == before
    assert texts(checkpoints, common) == ["the last", "number 1"]
    assert last not in commits
    assert not any("error" in line for line in git(common, "fsck", "--no-dangling", check=False).split("\n"))


# What is written.


def test_the_commit_is_ours_and_its_files_lie_in_the_folder_of_the_team(folder, clock, checkpoints):
    checkpoints.commit(checkpoints.repository(str(folder)), "a..b", FILES, "first\n\nand more")
    branch = "atm/checkpoints/a%2E.b"
    said = git(folder, "log", "--format=%an <%ae> %cn <%ce> %at %ct %G?%n%B", branch)
    assert said.split("\n") == [
        f"atm <atm@localhost> atm <atm@localhost> {clock.now():.0f} {clock.now():.0f} N",
        *("first", "", "and more"),
    ]
    assert git(folder, "ls-tree", "-r", "--format=%(objectmode) %(path)", branch).split("\n") == [
        f"100644 .claude/teams/a..b/{name}" for name in sorted(FILES)
    ]
    git(folder, "worktree", "add", "-q", "look", branch)
    assert (folder / "look/.claude/teams/a..b/state.json").read_bytes() == FILES["state.json"]


def test_a_checkpoint_takes_four_processes_of_git_and_the_same_again_two(folder, checkpoints, monkeypatch):
    common = checkpoints.repository(str(folder))
    checkpoints.commit(common, "crew", {}, "the first one asks once more")
    started: list[str] = []
    real = asking.start_git

    def counted(*words, **options):
        started.append(words[2] if words[1].startswith("--git-dir") else words[1])
        return real(*words, **options)

    monkeypatch.setattr(running, "start_git", counted)
    many = {**FILES, **{f"m{number}_checkpoint.json": b"%d" % number for number in range(100)}}
    for files in (many, many):
        checkpoints.commit(common, "crew", files, "many")
    assert started == ["config", "for-each-ref", "unpack-objects", "update-ref", "config", "for-each-ref"]
    assert checkpoints.latest(common, "crew") == many


def test_large_files_and_those_of_every_size_arrive_as_they_are(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    sizes = (0, 1, 15, 16, 2047, 2048, 70_000, 3_000_000)
    files = {str(size): os.urandom(size) for size in sizes}
    checkpoints.commit(common, "crew", files, "all sizes")
    assert checkpoints.latest(common, "crew") == files


def test_links_and_folders_that_somebody_put_there_are_passed_over(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    checkpoints.commit(common, "crew", FILES, "first")
    git(folder, "worktree", "add", "-q", "look", "atm/checkpoints/crew")
    inside = folder / "look/.claude/teams/crew"
    (inside / "link").symlink_to("/etc/passwd")
    (inside / "sub").mkdir()
    (inside / "sub/file").touch()
    git(folder / "look", "add", ".")
    git(folder / "look", "commit", "-q", "-m", "theirs")
    assert checkpoints.latest(common, "crew") == FILES


# What is in the way.


@pytest.mark.parametrize("other", ["atm", "atm/checkpoints", "atm/checkpoints/crew/x"])
def test_a_branch_that_is_in_the_way_is_named(folder, checkpoints, other):
    git(folder, "branch", other)
    common, before = checkpoints.repository(str(folder)), everything(folder)
    with pytest.raises(GitTrouble, match=f"'{other}' is in the way") as told:
        checkpoints.commit(common, "crew", FILES, "first")
    assert told.value.remedy == f"rename it: git branch -m {other} NEW-NAME"
    assert (told.value.path, everything(folder)) == (common, before)
    assert checkpoints.latest(common, "crew") is None


@pytest.mark.parametrize("place", ["main", "linked", "unborn"])
def test_a_branch_that_somebody_has_checked_out_stays_where_it_is(folder, clock, checkpoints, place):
    common = checkpoints.repository(str(folder))
    branch, there = checkpoint_branch("crew"), folder / "linked" if place == "linked" else folder
    made = [] if place == "unborn" else make(checkpoints, clock, common, 3)
    if place == "linked":
        git(folder, "worktree", "add", "-q", "linked", branch)
    else:
        git(folder, "switch", "-q", *(["--orphan"] if place == "unborn" else []), branch)
    before = everything(folder)
    for write in (
        lambda: checkpoints.commit(common, "crew", FILES, "more"),
        lambda: checkpoints.thin(common, "crew", lambda known: known[:1]) or pytest.fail("nothing to thin"),
    )[: 1 if place == "unborn" else 2]:
        with pytest.raises(GitTrouble, match=f"{branch} is checked out in {there}") as told:
            write()
        assert "git switch" in told.value.remedy
    assert everything(folder) == before
    assert [each.commit for each in checkpoints.commits(common, "crew", 9)] == made[::-1]


def test_a_branch_that_is_another_name_of_the_users_moves_neither(folder, checkpoints):
    git(folder, "symbolic-ref", f"{OURS}/crew", "refs/heads/main")
    git(folder, "switch", "-q", "--detach")
    common, before = checkpoints.repository(str(folder)), everything(folder)
    with pytest.raises(GitTrouble, match="another name of refs/heads/main"):
        checkpoints.commit(common, "crew", FILES, "first")
    assert everything(folder) == before


def test_a_lock_that_nobody_takes_away_is_named(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    lock = Path(f"{common}/{OURS}/crew.lock")
    lock.parent.mkdir(parents=True)
    lock.touch()
    git(folder, "config", "core.filesRefLockTimeout", "0")  # git's own patience, beside ours
    with pytest.raises(GitTrouble, match=r"crew\.lock") as told:
        checkpoints.commit(common, "crew", FILES, "first")
    assert "remove the lock" in told.value.remedy


def test_a_branch_whose_objects_are_gone_is_trouble_and_stays(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    commit = checkpoints.commit(common, "crew", FILES, "first")
    Path(f"{common}/objects/{commit[:2]}/{commit[2:]}").unlink()
    for ask in (checkpoints.latest, lambda *where: checkpoints.commit(*where, {"a": b""}, "second")):
        with pytest.raises(GitTrouble, match=commit):
            ask(common, "crew")
    assert Path(f"{common}/{OURS}/crew").read_text().strip() == commit


# The disk.


def test_a_full_disk_is_told_and_changes_nothing(tmp_path, checkpoints, tiny_disk):
    folder = new_repository(tiny_disk(tmp_path / "disk", "1m") / "r")
    common = checkpoints.repository(str(folder))
    checkpoints.commit(common, "crew", FILES, "first")
    before = everything(folder)
    with pytest.raises(WriteRefused, match="No space left") as told:
        checkpoints.commit(common, "crew", {"mailbox.log": os.urandom(3 << 20)}, "second")
    assert (told.value.path, everything(folder)) == (common, before)
    assert (texts(checkpoints, common), checkpoints.latest(common, "crew")) == (["first"], FILES)
    assert checkpoints.commit(common, "crew", {"a": b"small"}, "it goes on")


def test_a_disk_that_cannot_be_written_is_told_and_changes_nothing(tmp_path, checkpoints, tiny_disk):
    disk = tiny_disk(tmp_path / "disk", "4m")
    folder = new_repository(disk / "r")
    common = checkpoints.repository(str(folder))
    checkpoints.commit(common, "crew", FILES, "first")
    before = everything(folder)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(WriteRefused, match=r"[Rr]ead-only|permission"):
        checkpoints.commit(common, "crew", {"a": b""}, "second")
    assert (everything(folder), texts(checkpoints, common)) == (before, ["first"])


# Killed.

WRAPPER = """#!/bin/sh
case "$*" in *" {step} "*) kill -9 $PPID; exit 1;; esac
exec {git} "$@"
"""

WORK = """
import sys
from atm.files.adapters.machine import RealClock
from atm.sessions.adapters.git_checkpoints import CheckpointBranches

checkpoints = CheckpointBranches(RealClock())
if sys.argv[2] == "thin":
    checkpoints.thin(sys.argv[1], "crew", lambda known: known[:1])
else:
    checkpoints.commit(sys.argv[1], "crew", {"a": b"new"}, "second")
"""


@pytest.mark.parametrize(
    ("step", "verb"), [("unpack-objects", "commit"), ("update-ref", "commit"), ("update-ref", "thin")]
)
def test_whoever_is_killed_leaves_the_branch_as_it_was(tmp_path, folder, clock, checkpoints, step, verb):
    common = checkpoints.repository(str(folder))
    made = make(checkpoints, clock, common, 3)
    before = everything(folder)
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(step=step, git=GIT))
    wrapper.chmod(0o755)
    surroundings = {**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", WORK, common, verb], env=surroundings, check=False)
    assert done.returncode == -signal.SIGKILL
    assert everything(folder) == before
    assert [each.commit for each in checkpoints.commits(common, "crew", 9)] == made[::-1]
    assert checkpoints.commit(common, "crew", {"a": b"new"}, "second")
    assert git(folder, "fsck", "--no-dangling") == ""


# Others who write.


class RivalClock(FakeClock):
    """Whoever asks for the time finds that somebody was quicker, so many times."""

    def __init__(self, common: str, times: int) -> None:
        super().__init__()
        self.common, self.times = common, times

    def now(self) -> float:
        if self.times:
            self.times -= 1
            CheckpointBranches(FakeClock()).commit(self.common, "crew", {"n": b"%d" % self.times}, "rival")
        return super().now()


def test_whoever_was_slower_twice_gets_in_behind_the_others(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    assert CheckpointBranches(RivalClock(common, 2)).commit(common, "crew", FILES, "mine")
    assert texts(checkpoints, common) == ["mine", "rival", "rival"]


def test_whoever_was_slower_three_times_is_told(folder, checkpoints):
    common = checkpoints.repository(str(folder))
    with pytest.raises(GitTrouble, match="3 times in a row"):
        CheckpointBranches(RivalClock(common, 3)).commit(common, "crew", FILES, "mine")
    assert texts(checkpoints, common) == ["rival"] * 3


def test_of_writers_at_one_time_each_gets_in_or_is_told(folder):
    checkpoints = CheckpointBranches(RealClock())
    common = checkpoints.repository(str(folder))
    made, told = list[str](), list[AtmError]()

    def write(who: int) -> None:
        for number in range(4):
            try:
                made.append(checkpoints.commit(common, "crew", {"n": b"%d %d" % (who, number)}, "x"))
            except GitTrouble as error:
                told.append(error)

    threads = [Thread(target=write, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(each.commit for each in checkpoints.commits(common, "crew", 99)) == sorted(made)
    assert len(made) + len(told) == 8
    assert all("in a row" in str(error) for error in told)


# Thinning, and remotes.


def test_thinned_commits_keep_tree_times_author_and_message(folder, clock, checkpoints):
    common = checkpoints.repository(str(folder))
    make(checkpoints, clock, common, 3)
    git(folder, "worktree", "add", "-q", "look", checkpoint_branch("crew"))
    git(folder / "look", "merge", "-q", "--no-commit", "--allow-unrelated-histories", "main")
    who = ("-c", "user.name=Zoë", "-c", "user.email=zoe@example.org")
    git(folder / "look", *who, "commit", "-q", "--date=@1700000000 +0530", "-m", "by hand\n\nwith a body")
    git(folder, "worktree", "remove", "--force", "look")
    make(checkpoints, clock, common, 2)
    told = ("log", "--first-parent", "--format=%T %an %ae %ad %cn %ce %cd%n%B", "--date=raw")
    before = git(folder, *told, checkpoint_branch("crew")).split("\n\n")
    assert checkpoints.thin(common, "crew", lambda known: [known[2], known[4]]) == 3
    kept = git(folder, *told, checkpoint_branch("crew")).split("\n\n")
    assert kept == [before[0], before[2], *before[3:4], before[5]]  # the third one's body is a block of its own


def test_nothing_leads_to_what_was_thinned_out_any_more(folder, clock, checkpoints):
    common = checkpoints.repository(str(folder))
    made = make(checkpoints, clock, common, 4)
    checkpoints.thin(common, "crew", lambda known: [known[2]])
    assert not {*made} & {*git(folder, "rev-list", "--all", "--reflog").split("\n")}
    git(folder, "gc", "-q", "--prune=now")
    assert git(folder, "cat-file", "-t", made[-1], check=False) == ""
    assert checkpoints.latest(common, "crew") == {"state.json": b"3"}


def test_what_somebody_put_in_the_place_of_a_commit_is_not_what_is_written_anew(folder, clock, checkpoints):
    common = checkpoints.repository(str(folder))
    made = make(checkpoints, clock, common, 3)
    git(folder, "replace", made[1], "main")
    assert texts(checkpoints, common) == ["number 2", "number 1", "number 0"]
    assert checkpoints.thin(common, "crew", lambda known: known[:2]) == 1
    assert texts(checkpoints, common) == ["number 2", "number 1"]


def test_thinning_where_older_commits_were_never_fetched(folder, clock, checkpoints, tmp_path):
    make(checkpoints, clock, checkpoints.repository(str(folder)), 5)
    branch = checkpoint_branch("crew")
    git(tmp_path, "clone", "-q", "--depth=3", "--no-single-branch", f"file://{folder}", "clone")
    git(tmp_path / "clone", "branch", "-q", "--no-track", branch, f"origin/{branch}")
    common = checkpoints.repository(str(tmp_path / "clone"))
    assert checkpoints.on_remotes(common, "crew") == ["origin"]
    assert checkpoints.thin(common, "crew", lambda known: [known[0], known[-1]]) == 1
    assert texts(checkpoints, common) == ["number 4", "number 2"]
    assert git(common, "fsck", "--no-dangling") == ""


def test_a_branch_that_was_pushed_is_known_to_be_there_and_nothing_of_ours_pushes(folder, checkpoints, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "remote")
    git(folder, "remote", "add", "up/stream", str(tmp_path / "remote"))
    common = checkpoints.repository(str(folder))
    checkpoints.commit(common, "x.lock", FILES, "first")
    assert checkpoints.on_remotes(common, "x.lock") == []
    git(folder, "push", "-q", "up/stream", checkpoint_branch("x.lock"))
    checkpoints.commit(common, "x.lock", {"a": b""}, "second")
    assert checkpoints.on_remotes(common, "x.lock") == ["up/stream"]
    assert git(tmp_path / "remote", "log", "--format=%s", checkpoint_branch("x.lock")) == "first"
