"""A completed team is immutable: every verb that writes is refused with `team-completed`, and changes no file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from atm.ui.cli.arguments import Command
from atm.ui.cli.catalog import COMMANDS, load

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
    "tasks review request": ("tasks", "review", "request", "1", "--reviewer", "ann", "--as", "bob"),
    "tasks plan submit": ("tasks", "plan", "submit", "1", "--file", "plan.md", "--as", "bob"),
    "tasks release": ("tasks", "release", "1"),
    "tasks release --reopen": ("tasks", "release", "1", "--reopen"),
    "tasks reopen": ("tasks", "reopen", "1"),
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
    "tasks review start": ("tasks", "review", "start", "1", "--as", "ann"),
    "tasks review approve": ("tasks", "review", "approve", "1", "--as", "ann"),
    "tasks review changes": ("tasks", "review", "changes", "1", "--note", "x", "--as", "ann"),
    "tasks plan approve": ("tasks", "plan", "approve", "1", "--as", "ann"),
    "tasks plan reject": ("tasks", "plan", "reject", "1", "--feedback", "x", "--as", "ann"),
    "teams restore": ("teams", "restore", "crew"),
    "teams rebind": ("teams", "rebind", "crew"),
    "approvals approve": ("approvals", "approve", "REQUEST"),
    "approvals deny": ("approvals", "deny", "REQUEST", "--reason", "x"),
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
    "session shutdown": ("session", "shutdown", "crew"),
    "session abort": ("session", "abort", "crew", "--yes"),
    "session takeover": ("session", "takeover", "crew"),
    "session probe": ("session", "probe", "crew"),
    "session resume": ("session", "resume", "crew"),
    "session consolidate": ("session", "consolidate", "crew"),
    "session checkpoint": ("session", "checkpoint", "crew"),
    "session reassign": ("session", "reassign", "1", "bob", "--team", "crew"),
}
SESSIONS = {"session probe", "session resume", "session takeover"}
"""What the specification of sessions gives an exit code of its own."""
NAMES_ITS_TEAM = {"teams", "session"}
READERS = {
    "tasks list": ("tasks", "list"),
    "tasks show": ("tasks", "show", "1"),
    "tasks graph": ("tasks", "graph"),
    "tasks history": ("tasks", "history"),
    "status": ("status",),
    "members": ("members",),
    "inbox": ("inbox",),
    "read": ("read", "--as", "bob"),
    "receipts": ("receipts",),
    "prime": ("prime", "--as", "bob"),
    "deliver": ("deliver",),
    "cleanup": ("cleanup",),
    "snapshot": ("snapshot",),
    "peek": ("peek",),
    "down": ("down",),
    "spool list": ("spool", "list"),
    "merge queue": ("merge", "queue"),
    "merge radar": ("merge", "radar"),
    "approvals list": ("approvals", "list", "--all"),
    "approvals show": ("approvals", "show", "REQUEST"),
    "approvals policy test": ("approvals", "policy", "test", "--tool", "Bash", "--command", "rm x"),
    "approvals policy explain": ("approvals", "policy", "explain", "REQUEST"),
    "runs list": ("runs", "list"),
    "sync status": ("sync", "status"),
    "sync agenda": ("sync", "agenda", "--as", "bob"),
    "sync diagnose": ("sync", "diagnose", "bob"),
    "sync metrics": ("sync", "metrics"),
    "sync nudge": ("sync", "nudge", "bob"),
    "teams list": ("teams", "list"),
    "teams show": ("teams", "show", "crew"),
    "session list": ("session", "list"),
    "session show": ("session", "show", "crew"),
    "session review": ("session", "review", "crew"),
    "session history": ("session", "history", "crew"),
    "doctor": ("doctor", "--fix"),
}
ELSEWHERE = {
    *("top", "web", "watch", "attach", "logs", "hook", "permit", "init", "trust", "completion", "version", "demo"),
    *("approvals review", "tasks watch", "sync watch", "runs show", "runs clean", "merge show"),
    *("kill", "stop", "teams create", "teams archive", "teams backup", "teams delete", "spool retry", "spool drop"),
}
"""Screens and streams; what a completed team without runs and agents has nothing for; and the end of a team."""
GROUPS_ELSEWHERE = {"runtimes", "salvage", "daemon", "plugins", "mcp", "config"}
"""Commands about a machine or a repository."""


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
        ("approvals", "ask", "--as", "bob", "--tool", "Bash", "--command", "rm x", "--team", "crew"),
        ("teams", "archive", "crew", "--force"),
    ):
        done = atm(*words, code=None)
        assert done.code == (3 if "ask" in words else 0), (words, done.err, done.out)
    return atm


def request_in(home: Path) -> Path:
    """Not the copy in the backup."""
    (found,) = home.rglob("teams/crew/approvals/*.json")
    return found


def filled(words: tuple[str, ...], home: Path) -> list[str]:
    known = {"PLAN": "plan.md", "ID": "0" * 8, "REQUEST": request_in(home).stem}
    return [known.get(word, word) for word in words]


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
    words = filled(WRITERS[verb], tmp_path)
    split = words.index("--") if "--" in words else len(words)
    team = [] if words[0] in NAMES_ITS_TEAM else ["--team", "crew"]
    before = every_file(tmp_path)
    done = completed(*words[:split], *team, "--json", *words[split:], code=None)
    assert done.code == (2 if verb in SESSIONS else 1), done.out
    error = json.loads(done.out.splitlines()[-1])["error"]
    assert error["code"] == "team-completed", error
    assert "Traceback" not in done.err
    assert every_file(tmp_path) == before


@pytest.mark.parametrize("verb", READERS)
def test_a_verb_that_reads_works_and_changes_no_file(completed, tmp_path, verb):
    words = filled(READERS[verb], tmp_path)
    team = [] if words[0] in NAMES_ITS_TEAM else ["--team", "crew"]
    before = every_file(tmp_path)
    done = completed(*words, *team, "--json", code=None)
    assert "Traceback" not in done.err
    assert '"error"' not in done.out, done.out
    assert every_file(tmp_path) == before


def test_a_request_that_expires_after_the_end_is_shown_as_expired_and_not_written(completed, tmp_path):
    request = request_in(tmp_path)
    record = json.loads(request.read_text())
    record["expires_at"] = record["asked_at"]
    request.write_text(json.dumps(record))
    before = every_file(tmp_path)
    listed = completed("approvals", "list", "--all", "--team", "crew", "--json").json["approvals"]
    assert [one["state"] for one in listed] == ["expired"]
    assert every_file(tmp_path) == before


def test_a_waiting_request_of_a_completed_team_asks_nobody(completed):
    assert completed("approvals", "list", "--team", "crew", "--json", code=3).json["approvals"] == []


def test_every_verb_is_known_to_write_to_read_or_to_have_no_business_with_a_completed_team():
    """A new verb belongs to one of these lists; a writer that is in none of them could change a completed team."""
    verbs = {verb for name in COMMANDS if name not in GROUPS_ELSEWHERE for verb in verbs_of(load(name)[0], name)}
    tried = {*WRITERS, *READERS, *ELSEWHERE}
    assert verbs - tried == set()


def verbs_of(command: Command, name: str) -> list[str]:
    if not command.subcommands:
        return [name]
    return [verb for one in command.subcommands for verb in verbs_of(one, f"{name} {one.word}")]
