"""A completed team is immutable: every verb that writes is refused with `team-completed`, and changes no file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

WRITERS = {
    "send": ("send", "bob", "hello"),
    "broadcast": ("broadcast", "hello"),
    "request": ("request", "ann", "bob", "hello", "--timeout", "1"),
    "ack": ("ack", "ID"),
    "tasks add": ("tasks", "add", "more"),
    "tasks claim": ("tasks", "claim", "1", "--as", "bob"),
    "tasks complete": ("tasks", "complete", "1", "--as", "bob"),
    "tasks fail": ("tasks", "fail", "1", "--as", "bob", "--error", "x"),
    "tasks cancel": ("tasks", "cancel", "1"),
    "tasks edit": ("tasks", "edit", "1", "--title", "other"),
    "tasks start": ("tasks", "start", "1", "--as", "bob"),
    "tasks assign": ("tasks", "assign", "1", "--to", "bob"),
    "tasks split": ("tasks", "split", "1", "--into", "a", "b", "--as", "ann"),
    "tasks depend": ("tasks", "depend", "1", "--on", "2"),
    "tasks comment": ("tasks", "comment", "1", "a remark"),
    "tasks clarify": ("tasks", "clarify", "1", "--needs", "lead", "--question", "what?", "--as", "bob"),
    "tasks review": ("tasks", "review", "request", "1", "--reviewer", "ann", "--as", "bob"),
    "tasks plan": ("tasks", "plan", "submit", "1", "--file", "plan.md", "--as", "bob"),
    "tasks release": ("tasks", "release", "1"),
    "tasks reopen": ("tasks", "release", "1", "--reopen"),
    "tasks allow": ("tasks", "allow", "1"),
    "tasks import": ("tasks", "import", "PLAN"),
    "tasks beat": ("tasks", "beat", "--as", "bob"),
    "teams add-member": ("teams", "add-member", "crew", "cat"),
    "teams update-member": ("teams", "update-member", "crew", "bob", "--model", "m"),
    "teams remove-member": ("teams", "remove-member", "crew", "bob", "--force"),
    "teams join": ("teams", "join", "crew", "--as", "cat"),
    "teams leave": ("teams", "leave", "crew", "--as", "bob"),
    "teams cleanup": ("teams", "cleanup", "crew", "--force"),
    "teams state": ("teams", "state", "crew", "active"),
    "approvals ask": ("approvals", "ask", "--as", "bob", "--tool", "Bash", "--command", "rm x"),
    "up": ("up", "script:dan"),
    "spawn": ("spawn", "script:dan"),
    "run": ("run", "--plan", "PLAN", "--yes"),
    "run dry": ("run", "--plan", "PLAN", "--dry-run"),
    "run resume": ("run", "--resume"),
    "merge work": ("merge", "work"),
    "merge retry": ("merge", "retry", "1"),
    "merge skip": ("merge", "skip", "1", "--reason", "x"),
    "merge resolve": ("merge", "resolve", "1"),
    "sync report": ("sync", "report", "still_working", "--as", "bob", "--fingerprint", "f" * 64),
    "session resume": ("session", "resume", "crew"),
    "session consolidate": ("session", "consolidate", "crew"),
    "session checkpoint": ("session", "checkpoint", "crew"),
    "session reassign": ("session", "reassign", "1", "bob", "--team", "crew"),
}
NAMES_ITS_TEAM = {"teams", "session"}
READERS = [
    ("tasks", "list"),
    ("status",),
    ("members",),
    ("merge", "queue"),
    ("approvals", "list"),
    ("runs", "list"),
    ("inbox",),
    ("tasks", "history"),
]


@pytest.fixture
def completed(atm, tmp_path):
    repository = tmp_path / "repository"
    repository.mkdir()
    for git in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "begin")):
        named = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", repository, *named, *git], check=True, timeout=60)
    (repository / "plan.md").write_text("- [ ] One (run: true)\n")
    atm.folder = repository
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    for words in (
        ("teams", "create", "crew", "--lead", "ann"),
        ("teams", "add-member", "crew", "bob"),
        ("tasks", "add", "first", "--team", "crew", "--as", "ann"),
        ("send", "bob", "hi", "--team", "crew", "--as", "ann"),
        ("teams", "archive", "crew", "--force"),
    ):
        done = atm(*words, code=None)
        assert done.code == 0, (words, done.err, done.out)
    return atm


def every_file(home: Path) -> dict[str, bytes]:
    """What a completed team is: its folder and its tasks. Empty lock files and times of use are no change."""
    found = {}
    for folder in home.rglob("crew"):
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.endswith((".lock", ".seq")) and "locks" not in path.parts:
                found[str(path)] = path.read_bytes()
    return found


@pytest.mark.parametrize("verb", WRITERS)
def test_a_verb_that_writes_is_refused(completed, tmp_path, verb):
    words = [{"PLAN": "plan.md", "ID": "0" * 8}.get(word, word) for word in WRITERS[verb]]
    split = words.index("--") if "--" in words else len(words)
    team = [] if words[0] in NAMES_ITS_TEAM else ["--team", "crew"]
    before = every_file(tmp_path)
    done = completed(*words[:split], *team, "--json", *words[split:], code=None)
    assert done.code == (2 if verb == "session resume" else 1), done.out
    error = json.loads(done.out.splitlines()[-1])["error"]
    assert error["code"] == "team-completed", error
    assert "Traceback" not in done.err
    assert every_file(tmp_path) == before


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_verb_that_reads_works(completed, words):
    done = completed(*words, "--team", "crew", "--json", code=None)
    assert done.code in (0, 3), done.err
