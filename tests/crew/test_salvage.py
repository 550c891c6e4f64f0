"""Salvage: whatever an agent left in its worktree comes back, byte for byte; and `atm salvage`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.conftest import Atm
from tests.crew.repositories import Bench, Users, alone, git, new_repository, reachable

from atm.core.errors import RequestError
from atm.crew.adapters.restoring import put_into
from atm.crew.formats.salvage_note import SalvageNote, decode_note, encode_note
from atm.crew.ports.worktrees import Saved, Worktree
from atm.files.adapters.disk import RealDisk
from atm.git.adapters.plain_files import escaped, quoted, unescaped
from atm.git.adapters.salvage import TreeFile


@pytest.fixture
def user(tmp_path, home, monkeypatch) -> Path:
    alone(monkeypatch, home)
    return new_repository(tmp_path / "r")


@pytest.fixture
def bench(user, layout) -> Bench:
    return Bench(user, layout)


@pytest.fixture
def worktree(bench) -> Worktree:
    made: Worktree = bench.make()
    return made


@pytest.fixture
def folder(worktree) -> Path:
    return Path(worktree.path)


def save(bench: Bench, worktree: Worktree, why: str = "the end") -> Saved:
    found = bench.worktrees.save(worktree, "crew", "1", why)
    assert found is not None
    return found


def remove(bench: Bench, worktree: Worktree) -> Saved:
    """With its branch: all that is left is what was saved."""
    bench.worktrees.remove(worktree, branch=True)
    (found,) = bench.worktrees.saved(worktree.common)
    return found


# What is kept.


def test_every_kind_of_file_comes_back_byte_for_byte(user, bench, worktree, folder, tmp_path):
    (folder / ".gitattributes").write_text("*.txt text eol=crlf\n*.dat -text\n")
    contents = {
        "a.txt": b"changed\r\nwith both\nkinds of ends\r\n",
        "new/deep/er.txt": b"\xff\xfe\0binary",
        "empty": b"",
        "no newline": b"x",
        "new\nline": b"odd",
        'quote"d\\t': b"odd",
        " lead and trail ": b"odd",
        "back\\slash": b"odd",
        ".GIT/config": b"not git's",
        ".git.atm-saved": b"called like ours",
        "sub/.git.atm-saved/x": b"called like ours",
        "é": b"composed",
        "-dash": b"dash",
        os.fsdecode(b"\xff\xfe.bin"): b"no text at all",
    }
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("/nowhere/at/all")
    (folder / "to-folder").symlink_to("src")
    (folder / ".gitmodules").symlink_to("a.txt")
    (folder / "src" / "b.txt").unlink()
    saved = remove(bench, worktree)
    assert (saved.dirty, set(saved.untracked) >= {"new\nline", "link", ".GIT/config"}) == (["a.txt", "src/b.txt"], True)
    files = bench.saved_files(saved.commit, tmp_path / "out")
    assert {name: files[name] for name in contents} == contents
    assert "src/b.txt" not in files
    assert files["link"] == b"/nowhere/at/all"
    assert (tmp_path / "out" / "to-folder").is_symlink()
    assert (tmp_path / "out" / ".gitmodules").is_symlink()
    assert os.access(tmp_path / "out" / "run", os.X_OK)
    assert not os.access(tmp_path / "out" / "empty", os.X_OK)


def test_files_that_git_ignores_are_left_out(bench, worktree, folder):
    (folder / "x.log").write_text("ignored")
    assert bench.worktrees.save(worktree, "crew", "1", "nothing") is None
    (folder / "x.txt").write_text("not ignored")
    assert save(bench, worktree).untracked == ["x.txt"]


def test_a_large_file_is_kept_too(bench, worktree, folder, tmp_path):
    with open(folder / "large", "wb") as file:
        file.truncate(51 << 20)
    saved = remove(bench, worktree)
    assert len(bench.saved_files(saved.commit, tmp_path / "out")["large"]) == 51 << 20


def test_pipes_and_sockets_are_no_content(bench, worktree, folder):
    os.mkfifo(folder / "pipe")
    assert bench.worktrees.save(worktree, "crew", "1", "nothing") is None
    bench.worktrees.remove(worktree, branch=True)
    assert not folder.exists()


def test_a_change_of_the_same_length_in_the_same_moment_is_seen(bench):
    """An index that was copied is younger than the file: git would not look into it."""
    for number in range(12 if LONG else 4):
        worktree = bench.make(task=str(number))
        path = Path(worktree.path) / "a.txt"
        facts = path.stat()
        path.write_text("one and a hulf\n")
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        for _ in range(2):
            assert save(bench, worktree).dirty == ["a.txt"], number
        bench.worktrees.remove(worktree, branch=True)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flag_hides_nothing(bench, worktree, folder, flag):
    git(folder, "update-index", flag, "a.txt")
    (folder / "a.txt").write_text("hidden\n")
    assert git(folder, "status", "--porcelain") == ""
    assert save(bench, worktree).dirty == ["a.txt"]
    assert git(folder, "status", "--porcelain") == ""


def test_what_is_staged_and_differs_from_the_file_is_kept_as_well(bench, worktree, folder, user):
    (folder / "a.txt").write_text("staged and precious\n")
    git(folder, "add", "a.txt")
    (folder / "a.txt").write_text("written later\n")
    index = git(folder, "ls-files", "-s")
    saved = save(bench, worktree)
    assert git(folder, "ls-files", "-s") == index
    bench.worktrees.remove(worktree, branch=True)
    assert bench.file(saved.commit, "a.txt") == "written later"
    assert b"staged and precious" in reachable(user)
    assert len(bench.worktrees.saved(worktree.common)) == 1


def test_a_merge_in_the_middle_is_kept_with_the_other_side(bench, worktree, folder, user):
    git(folder, "checkout", "-q", "--detach", "HEAD~1")
    (folder / "a.txt").write_text("their precious side\n")
    git(folder, "commit", "-q", "-a", "-m", "theirs")
    theirs = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "-q", worktree.branch)
    git(folder, "merge", "-q", theirs, check=False)
    saved = remove(bench, worktree)
    assert saved.dirty == ["a.txt"]
    assert "<<<<<<<" in bench.file(saved.commit, "a.txt")
    assert b"their precious side" in reachable(user)


def commit_aside(folder: Path) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", "precious and aside")
    return git(folder, "rev-parse", "HEAD")


def reset_away(folder: Path, branch: str) -> str:
    commit = commit_aside(folder)
    git(folder, "reset", "-q", "--hard", "HEAD~1")
    return commit


def detached(folder: Path, branch: str) -> str:
    git(folder, "checkout", "-q", "--detach")
    return commit_aside(folder)


def detached_and_left(folder: Path, branch: str) -> str:
    commit = detached(folder, branch)
    git(folder, "checkout", "-q", branch)
    return commit


def amended(folder: Path, branch: str) -> str:
    commit = commit_aside(folder)
    git(folder, "commit", "-q", "--amend", "--allow-empty", "-m", "another")
    return commit


def bisected(folder: Path, branch: str) -> str:
    commit = reset_away(folder, branch)
    git(folder, "update-ref", "refs/worktree/mark", commit)
    git(folder, "reflog", "expire", "--expire=now", "--all")
    return commit


@pytest.mark.parametrize("way", [reset_away, detached, detached_and_left, amended, bisected])
@pytest.mark.parametrize("keeps_branch", [True, False])
def test_commits_that_nothing_else_leads_to_are_kept(bench, worktree, folder, user, way, keeps_branch):
    commit = way(folder, worktree.branch)
    bench.worktrees.remove(worktree, branch=not keeps_branch)
    git(user, "reflog", "expire", "--expire=now", "--all")
    git(user, "gc", "-q", "--prune=now")
    assert b"precious and aside" in reachable(user), commit
    assert len(bench.worktrees.saved(worktree.common)) == 1


def test_the_stash_of_an_agent_is_the_repository_s_and_stays(bench, worktree, folder, user):
    (folder / "a.txt").write_text("precious and stashed\n")
    git(folder, "stash", "push", "-q")
    bench.worktrees.remove(worktree, branch=True)
    assert b"precious and stashed" in reachable(user)
    git(user, "stash", "drop", "-q")


def test_a_repository_inside_comes_back_with_its_history(bench, worktree, folder, tmp_path):
    inner = folder / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / ".gitignore").write_text("*.log\n")
    (inner / "x.txt").write_text("committed\n")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "inner commit")
    git(inner, "pack-refs", "--all")
    (inner / "x.txt").write_text("changed\n")
    (inner / "x.log").write_text("ignored there")
    deeper = inner / "deeper"
    deeper.mkdir()
    git(deeper, "init", "-q")
    (deeper / "y.txt").write_text("deeper\n")
    saved = remove(bench, worktree)
    assert saved.untracked == ["inner/"]
    files = bench.saved_files(saved.commit, tmp_path / "out")
    assert (files["inner/x.txt"], files["inner/deeper/y.txt"]) == (b"changed\n", b"deeper\n")
    assert "inner/x.log" not in files
    assert git(tmp_path / "out" / "inner", "log", "--format=%s") == "inner commit"
    assert git(tmp_path / "out" / "inner", "status", "--porcelain") == "M x.txt\n?? deeper/".replace("M", " M")
    assert git(tmp_path / "out" / "inner" / "deeper", "status", "--porcelain") == "?? y.txt"


def test_another_repository_in_the_place_of_ours_is_kept_whole(bench, worktree, folder, tmp_path):
    (folder / ".git").unlink()
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "begun anew")
    (folder / "a.txt").write_text("changed\n")
    saved = remove(bench, worktree)
    assert bench.saved_files(saved.commit, tmp_path / "out")["a.txt"] == b"changed\n"
    assert git(tmp_path / "out", "log", "--format=%s") == "begun anew"


def test_saving_touches_nothing_of_the_worktree_or_the_user(bench, user, worktree, folder):
    (folder / "a.txt").write_text("dirty\n")
    (folder / "new.txt").write_text("new\n")
    git(folder, "add", "new.txt")
    hooks = user / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "reference-transaction").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "reference-transaction").chmod(0o755)
    before = (Users(user).look(), git(folder, "--no-optional-locks", "status", "--porcelain=v2", "--branch"))
    index = Path(worktree.common, "worktrees", "1-ann", "index").read_bytes()
    save(bench, worktree)
    assert before == (Users(user).look(), git(folder, "--no-optional-locks", "status", "--porcelain=v2", "--branch"))
    assert Path(worktree.common, "worktrees", "1-ann", "index").read_bytes() == index


def test_nothing_of_ours_is_left_beside(bench, layout, worktree, folder):
    (folder / "new.txt").write_text("new\n")
    save(bench, worktree)
    bench.worktrees.remove(worktree, branch=True)
    left = [path for path in Path(layout.worktrees).rglob("*") if path.name != ".repository"]
    assert [path for path in left if path.parent != Path(layout.worktrees)] == []


def test_two_in_one_moment_have_refs_of_their_own(bench, worktree, folder, monkeypatch):
    monkeypatch.setattr("atm.files.adapters.machine.RealClock.now", lambda _: 1_800_000_000.0)
    refs = set()
    for text in ("1", "2", "3"):
        (folder / "a.txt").write_text(text)
        refs.add(save(bench, worktree).ref)
    assert refs == {f"refs/atm/salvage/crew/1/20270115T08000000{number}Z" for number in range(3)}


def test_where_it_cannot_be_saved_it_is_not_removed(bench, worktree, folder, user):
    (folder / "new.txt").write_text("new\n")
    (user / ".git" / "refs" / "atm").write_text("in the way\n")
    with pytest.raises(Exception, match="cannot be made"):
        bench.worktrees.remove(worktree, branch=True)
    assert (folder / "new.txt").read_text() == "new\n"
    (user / ".git" / "refs" / "atm").unlink()


def test_refs_of_others_are_passed_over(bench, user, worktree, folder):
    (folder / "new.txt").write_text("new\n")
    saved = save(bench, worktree)
    blob = git(user, "rev-parse", "HEAD:a.txt")
    for name, target in {"crew/1/blob": blob, "odd": "HEAD", "crew/1/x/y": "HEAD", "%/1/x": "HEAD"}.items():
        git(user, "update-ref", f"refs/atm/salvage/{name}", target)
    found = bench.worktrees.saved(worktree.common)
    assert saved.ref in [one.ref for one in found]
    assert [one.why for one in found if one.ref.endswith("/odd")] == ["second"]
    assert all(one.ref != "refs/atm/salvage/crew/1/blob" for one in found)


# Names and notes.


@pytest.mark.parametrize(
    "path",
    [".git", ".GIT/x", "a/.Git/b", ".git.atm-saved", "a/.git.atm-saved.atm-saved/x", ".gitmodules", "x.atm-saved"],
)
def test_names_that_git_refuses_come_back(path):
    for mode in ("100644", "120000"):
        told = escaped(path, mode)
        assert ".git" not in told.lower().split("/")
        assert unescaped(told) == path


def test_a_path_for_git_is_one_line_of_plain_letters():
    assert quoted('a "b"\\c\nd\udcff') == '"a \\042b\\042\\134c\\012d\\377"'


def test_a_note_comes_back_whatever_the_paths_are():
    note = SalvageNote(why='two\nlines: "x"', base="4f", dirty=["a\nDirty: b", "\udcff"], untracked=["é", ""])
    back = decode_note(encode_note(note))
    assert (back.why, back.base, back.dirty, back.untracked) == (note.why, note.base, note.dirty, note.untracked)


@pytest.mark.parametrize("message", ["", "\n", "title", "title\n\nDirty: nonsense\nWhy: 7\n", 'Why: "x'])
def test_a_message_of_another_form_gives_what_it_has(message):
    back = decode_note(message)
    assert (back.why, back.base, back.dirty) == (message.partition("\n")[0], "", [])


# Restoring.


def test_nothing_is_written_outside_of_the_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    files = [TreeFile(path, "100644", b"evil") for path in ("../x", "/x", "a/../../x", "", ".", "a//b", "x\0y")]
    files.append(TreeFile("link", "120000", os.fsencode(outside)))
    files.append(TreeFile("link/x", "100644", b"through a link"))
    files.append(TreeFile("fine", "100644", b"fine"))
    assert put_into(RealDisk(), str(tmp_path / "out"), files) == ["link", "fine"]
    assert list(outside.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"out", "outside"}


@pytest.mark.parametrize("what", ["file", "folder with a file", "link to a file"])
def test_nothing_is_written_over(bench, worktree, folder, tmp_path, what):
    (folder / "new.txt").write_text("new\n")
    saved = save(bench, worktree)
    target = tmp_path / "out"
    if what == "folder with a file":
        target.mkdir()
        (target / ".hidden").write_text("mine")
    else:
        (tmp_path / "file").write_text("mine")
        target.symlink_to(tmp_path / "file") if "link" in what else (tmp_path / "file").rename(target)
    with pytest.raises(RequestError, match="not empty"):
        bench.worktrees.restore(saved, str(target))
    assert (target / ".hidden" if target.is_dir() else target).read_text() == "mine"


# `atm salvage`.


@pytest.fixture
def cli(atm: Atm, bench, worktree, folder) -> Atm:
    """In the user's repository, with two items for `crew` and one for `other`."""
    atm.folder = bench.folder
    for key in ("GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"):
        atm.environment[key] = os.environ[key]
    (folder / "a.txt").write_text("changed\n")
    save(bench, worktree, "first")
    (folder / "new\x1b[31m.txt").write_text("new\n")
    save(bench, worktree, "second \x1b[31mred")
    other = bench.make(team="other", task="9")
    (Path(other.path) / "x").write_text("x\n")
    assert bench.worktrees.save(other, "other", "9", "theirs") is not None
    return atm


def test_the_list_is_in_the_contract_s_words(cli):
    result = cli("salvage", "list", "--json").json
    assert result["action"] == "salvage list"
    assert [item["why"] for item in result["items"]] == ["theirs", "second \x1b[31mred", "first"]
    item = result["items"][1]
    assert set(item) == {"id", "ref", "commit", "why", "dirty", "untracked"}
    assert (item["dirty"], item["untracked"]) == (["a.txt"], ["new\x1b[31m.txt"])
    assert item["commit"].startswith(item["id"])
    assert item["ref"].startswith("refs/atm/salvage/crew/1/20")
    assert cli("salvage", "--json").json == result


def test_a_team_narrows_it_and_none_has_an_exit_code(cli):
    assert [item["why"] for item in cli("salvage", "list", "--team", "other", "--json").json["items"]] == ["theirs"]
    assert len(cli("salvage", "--team", "crew", "--json").json["items"]) == 2
    empty = cli("salvage", "list", "--team", "nobody", "--json", code=3)
    assert empty.json == {"action": "salvage list", "items": []}
    assert cli("salvage", "--team", "nobody", code=3).out == "Nothing was saved in this repository.\n"


def test_what_agents_wrote_does_not_reach_the_terminal(cli):
    assert "\x1b" not in cli("salvage").out
    id = cli("salvage", "--json").json["items"][1]["id"]
    told = cli("salvage", "show", id).out
    assert "\x1b" not in told
    assert "+changed" in told


def test_show_gives_the_patch(cli):
    item = cli("salvage", "--json").json["items"][2]
    shown = cli("salvage", "show", item["id"][:6], "--json").json
    assert (shown["action"], shown["item"]) == ("salvage show", item)
    assert "-one and a half\n+changed\n" in shown["patch"]


def test_restore_writes_the_files(cli, tmp_path):
    item = cli("salvage", "--json").json["items"][2]
    done = cli("salvage", "restore", item["commit"], "--to", "../out", "--json").json
    assert (done["action"], done["to"]) == ("salvage restore", str(tmp_path / "out"))
    assert sorted(done["paths"]) == [".gitignore", "a.txt", "src/b.txt"]
    assert (tmp_path / "out" / "a.txt").read_text() == "changed\n"
    again = cli("salvage", "restore", item["id"], "--to", "../out", "--json", code=1).json
    assert "not empty" in again["error"]["message"]
    assert cli("salvage", "restore", item["id"], "--json", code=1).json["error"]["code"] == "usage"


def test_drop_needs_a_yes(cli):
    item = cli("salvage", "--json").json["items"][0]
    assert cli("salvage", "drop", item["id"], "--json").json == {
        "action": "salvage drop",
        "dry_run": True,
        "item": item,
    }
    assert len(cli("salvage", "--json").json["items"]) == 3
    assert cli("salvage", "drop", item["id"], "--yes").out == f"dropped {item['id']}\n"
    assert len(cli("salvage", "--json").json["items"]) == 2
    assert cli("salvage", "drop", item["id"], "--yes", "--json", code=1).json["error"]["code"] == "no-such-salvage"


@pytest.mark.parametrize("verb", ["show", "drop"])
def test_an_id_that_is_not_there_is_said(cli, verb):
    assert cli("salvage", verb, "ffffffff", "--json", code=1).json["error"]["code"] == "no-such-salvage"
    assert cli("salvage", verb, "--json", code=1).json["error"]["code"] == "usage"


def test_a_folder_without_a_repository_is_said(cli, tmp_path):
    failed = cli("salvage", "--json", code=1, cwd=tmp_path)
    assert "no git repository" in failed.json["error"]["message"]


def test_it_works_from_inside_a_worktree_and_in_a_subfolder(cli, folder, bench):
    expected = cli("salvage", "--json").json
    for place in (folder, bench.folder / "src"):
        assert cli("salvage", "--json", cwd=place).json == expected


def test_git_itself_can_bring_it_back(cli, bench, user, tmp_path):
    ref = cli("salvage", "--json").json["items"][2]["ref"]
    git(user, "worktree", "add", "-q", "--detach", str(tmp_path / "byhand"), ref)
    assert (tmp_path / "byhand" / "a.txt").read_text() == "changed\n"
    subprocess.run(["git", "fsck", "--strict", "--no-dangling"], cwd=user, check=True, capture_output=True)
