"""Facts, transcripts and the lead's working tree, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.crew.repositories import alone, git

from atm.board.adapters.programs import RealPrograms
from atm.board.rules.acceptance import Ran
from atm.core.work_errors import GitTrouble
from atm.files.adapters.disk import RealDisk
from atm.sessions.adapters.fact_sums import FactSums
from atm.sessions.adapters.member_files import CheckpointFiles
from atm.sessions.adapters.working_tree import LeadsTree
from atm.sessions.ports.surroundings import FactSource
from atm.vendors.transcripts import TranscriptFiles
from atm.wiring.files import find_layout


@pytest.fixture
def layout(tmp_path: Path) -> Any:
    return find_layout({"HOME": str(tmp_path / "home")})


@pytest.fixture
def programs(layout: Any) -> RealPrograms:
    return RealPrograms(layout)


# Facts.


def test_a_file_a_glob_and_a_command_have_sums_that_change_with_what_they_say(tmp_path, programs):
    sums, folder = FactSums(programs), str(tmp_path)
    (tmp_path / "a.json").write_text("1")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.json").write_text("2")
    sources = [
        FactSource(name="one", paths=("a.json",)),
        FactSource(name="all", paths=("**/*.json",)),
        FactSource(name="said", command="cat a.json"),
    ]
    before = [sums.checksum(folder, source) for source in sources]
    assert before == [sums.checksum(folder, source) for source in sources]
    (tmp_path / "a.json").write_text("other")
    after = [sums.checksum(folder, source) for source in sources]
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_what_is_not_there_or_fails_is_said(tmp_path, programs):
    sums = FactSums(programs)
    assert sums.checksum(str(tmp_path), FactSource(name="x", paths=("no.json",))) == "missing"
    assert sums.checksum(str(tmp_path), FactSource(name="x", command="exit 3")) == "failed"


# Transcripts.


@pytest.mark.parametrize(
    ("vendor", "path"),
    [
        ("claude", ".claude/projects/-r/0b7e-1.jsonl"),
        ("codex", ".codex/sessions/2026/11/16/rollout-2026-0b7e-1.jsonl"),
        ("gemini", ".gemini/tmp/r/chats/session-2026-11-16-0b7e-1.json"),
        ("opencode", ".local/share/opencode/storage/session/p/0b7e-1.json"),
    ],
)
def test_a_conversation_is_there_when_its_file_is(tmp_path, vendor, path):
    transcripts = TranscriptFiles({"HOME": str(tmp_path)})
    assert transcripts.is_there(vendor, "0b7e-1") is False
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("{}")
    assert transcripts.is_there(vendor, "0b7e-1") is True
    assert transcripts.is_there(vendor, "1111-2") is False


@pytest.mark.parametrize("session", ["", "../../x", "*", "a/b", "[a-z]"])
def test_a_name_that_could_mean_another_file_is_not_looked_for(tmp_path, session):
    assert TranscriptFiles({"HOME": str(tmp_path)}).is_there("claude", session) is None
    assert TranscriptFiles({"HOME": str(tmp_path)}).is_there("aider", "abc") is None


# Members' own checkpoints.


def test_checkpoints_of_members_are_files_of_the_teams_folder(layout):
    files = CheckpointFiles(RealDisk(), layout)
    Path(layout.team("t")).mkdir(parents=True)
    assert files.read("t", "bob") is None
    files.write("t", "bob", b"{}\n")
    assert files.all("t") == {"bob_checkpoint.json": b"{}\n"}
    assert files.all("nobody") == {}


# The working tree.


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Any) -> tuple[LeadsTree, Path]:
    alone(monkeypatch, tmp_path)
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Uma")
    git(root, "config", "user.email", "uma@example.org")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return LeadsTree(programs), root


def test_what_is_staged_changed_and_new_is_told_apart(tree):
    leads, root = tree
    (root / "a.txt").write_text("two\n")
    (root / "s.txt").write_text("s\n")
    (root / "n.txt").write_text("n\n")
    git(root, "add", "s.txt")
    found = leads.status(str(root))
    assert (found.staged, found.unstaged, found.untracked, found.branch) == (["s.txt"], ["a.txt"], ["n.txt"], "main")
    assert leads.status(str(root.parent)) is None
    assert leads.status(str(root / "gone")) is None


def test_all_of_it_is_committed_and_reachable(tree):
    leads, root = tree
    (root / "n.txt").write_text("n\n")
    leads.stage_all(str(root))
    commit = leads.commit(str(root), "work\n\n-- not an option")
    assert git(root, "rev-parse", "main").strip() == commit
    assert leads.status(str(root)).is_clean


def test_an_index_goes_back_to_what_it_was_and_no_file_changes(tree):
    leads, root = tree
    (root / "a.txt").write_text("two\n")
    before = leads.index(str(root))
    leads.stage_all(str(root))
    leads.restore_index(str(root), before)
    found = leads.status(str(root))
    assert (found.staged, found.unstaged, (root / "a.txt").read_text()) == ([], ["a.txt"], "two\n")


def test_the_users_own_hook_is_asked_and_not_run_again_by_the_commit(tree):
    leads, root = tree
    assert leads.hooks(str(root), 30.0).code == 0
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no; exit 1\n")
    hook.chmod(0o755)
    ran: Ran = leads.hooks(str(root), 30.0)
    assert (ran.code, ran.output.strip()) == (1, "no")
    (root / "n.txt").write_text("n\n")
    leads.stage_all(str(root))
    assert leads.commit(str(root), "m")


def test_a_merge_that_waits_is_said(tree):
    leads, root = tree
    git(root, "checkout", "-qb", "other")
    (root / "a.txt").write_text("other\n")
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("mine\n")
    git(root, "commit", "-qam", "mine")
    git(root, "merge", "other", check=False)
    assert leads.status(str(root)).is_half_done == "merge"


def test_what_a_filter_should_have_encrypted_is_not_committed_as_it_is(tree):
    leads, root = tree
    git(root, "config", "filter.secret.clean", "tr a-z n-za-m")
    (root / ".gitattributes").write_text("*.key filter=secret\n")
    (root / "x.key").write_text("secret\n")
    with pytest.raises(GitTrouble, match="filters that atm does not run: secret"):
        leads.stage_all(str(root))


def test_a_push_arrives_and_one_that_fails_says_why(tree, tmp_path):
    leads, root = tree
    git(tmp_path, "init", "-q", "--bare", "there.git")
    git(root, "remote", "add", "origin", str(tmp_path / "there.git"))
    assert leads.push(str(root), "origin").code == 0
    assert git(tmp_path / "there.git", "rev-parse", "main") == git(root, "rev-parse", "main")
    failed = leads.push(str(root), "nowhere; touch x")
    assert failed.code != 0
    assert not (root / "x").exists()
