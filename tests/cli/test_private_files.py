"""
A day with atm under an odd umask: afterwards everything of ours is for us alone, and what is shared is no wider than
docs/reference/files.md says. Every file and folder below the home is looked at, whoever made it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm

from atm.daemon.adapters.seat import LONGEST_ADDRESS
from atm.files.formats.layout import Layout

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")

SESSION = "session-1a2b3c4d"


@pytest.fixture(params=[0o000, 0o077], ids=oct)
def umask(request) -> Iterator[int]:
    """For this process and those that it starts from now on."""
    former = os.umask(request.param)
    yield request.param
    os.umask(former)


@pytest.fixture
def masked(atm, umask) -> Iterator[Atm]:
    """Every command has that umask."""
    yield atm
    atm("daemon", "stop", code=None)  # a hook starts one too


def mail(atm: Atm) -> None:
    atm("send", "ann", "hello", "--from", "bob")
    atm("read", "--as", "ann")
    note = atm.folder / "note.md"
    note.write_text("for ann")
    other = atm.folder.parent / "other"
    (other / ".git").mkdir(parents=True)
    atm("teams", "update-member", "crew", "ann", "--cwd", str(other))
    atm("send", "ann", "see", "--file", str(note), "--add-dir", str(note.parent), "--from", "bob")
    inbox = atm.inbox("ann")
    text = inbox.read_text()
    inbox.write_text("{")
    atm("send", "ann", "waits in the spool", "--from", "bob")
    assert atm.pending
    inbox.write_text(text)
    hook = json.dumps({"session_id": "s", "hook_event_name": "SessionStart", "cwd": str(atm.folder)})
    atm("hook", "claude", "SessionStart", stdin=hook, env={"ATM_IDENTITY": "ann", "ATM_TEAM": "crew"})


def board(atm: Atm) -> None:
    atm("tasks", "add", "Write the parser", "--as", "ann")
    atm("tasks", "add", "Test the parser", "--depends-on", "1", "--as", "ann")
    atm("tasks", "claim", "--as", "bob")
    atm("tasks", "list")
    agenda = atm("sync", "agenda", "--as", "bob", "--json").json
    words = ("--fingerprint", agenda["agendaFingerprint"], "--token", agenda["reportToken"])
    atm("sync", "report", "still_working", *words, "--as", "bob")


def settings(atm: Atm) -> None:
    atm("config", "set", "core.default_team", "crew")
    atm("plugins", "enable", "digest")
    (atm.folder / ".git").mkdir()
    atm("plugins", "enable", "digest", "--repo", ".")
    atm("mcp", "token", "new", "--team", "crew", "--as", "bob")
    atm("init", "--vendor", "claude")


def session_team(atm: Atm) -> None:
    """A team of Claude Code, which has other modes of its own."""
    folder = atm.home / ".claude/teams" / SESSION
    (folder / "inboxes").mkdir(parents=True)
    members = [{"agentId": f"{name}@{SESSION}", "name": name} for name in ("team-lead", "scout")]
    (folder / "config.json").write_text(json.dumps({"name": SESSION, "members": members}))
    atm("send", f"scout@{SESSION}", "hello", "--from", "team-lead")
    atm("tasks", "add", "Map it", "--team", SESSION, "--as", "team-lead")
    atm("tasks", "claim", "--team", SESSION, "--as", "scout")


def roster(atm: Atm) -> None:
    atm("teams", "add-member", "crew", "cat")
    atm("send", "cat", "bye", "--from", "bob")
    atm("teams", "remove-member", "crew", "cat", "--force")
    atm("teams", "backup", "crew")
    atm("teams", "create", "done")
    atm("teams", "archive", "done")
    atm("teams", "create", "gone")
    atm("teams", "add-member", "gone", "dan")
    atm("send", "dan@gone", "hello", "--from", "dan")
    atm("tasks", "add", "Once", "--team", "gone", "--as", "dan")
    atm("tasks", "claim", "--team", "gone", "--as", "dan")
    atm("teams", "delete", "gone", "--yes", "--force")
    atm("teams", "restore", "gone")


def modes(home: Path) -> dict[str, tuple[str, int]]:
    """Of everything below: its kind and its mode."""
    found = {}
    for path in home.rglob("*"):
        seen = path.lstat().st_mode
        kind = "folder" if stat.S_ISDIR(seen) else "socket" if stat.S_ISSOCK(seen) else "file"
        found[path.relative_to(home).as_posix()] = (kind, stat.S_IMODE(seen))
    return found


def is_ours(layout: Layout, path: str) -> bool:
    """In folders of ours; what is ours in shared ones; and parents that only we had a reason to make."""
    if layout.is_private(path) or path in layout.private_roots:
        return True
    if any(root.startswith(f"{path}/") for root in layout.private_roots):
        return True
    team = path.removeprefix(f"{layout.teams}/").partition("/")[0]
    return any(path == each or path.startswith(f"{each}/") for each in layout.private_in(team))


def too_wide(layout: Layout, found: dict[str, tuple[str, int]], umask: int) -> dict[str, str]:
    wrong = {}
    for name, (kind, mode) in found.items():
        if is_ours(layout, f"{layout.claude_root.rpartition('/')[0]}/{name}"):
            fits = mode == (0o700 if kind == "folder" else 0o600)
        else:
            most = 0o755 if kind == "folder" else 0o644
            fits = name.startswith(".claude") and not mode & ~(most & ~umask)
        if not fits:
            wrong[name] = f"{kind} {mode:o}"
    return wrong


def test_whatever_the_umask_all_of_ours_is_private_and_nothing_shared_is_wider_than_documented(
    masked: Atm, layout: Layout, umask: int
) -> None:
    masked.team()
    mail(masked)
    board(masked)
    settings(masked)
    made_by_claude = {".claude/teams/" + SESSION + end for end in ("", "/config.json", "/inboxes")}
    session_team(masked)
    roster(masked)
    masked("daemon", "start")
    running = modes(masked.home)
    loose = _loose(masked)
    masked("daemon", "stop")
    found = {**running, **modes(masked.home)}
    for name in made_by_claude:
        del found[name]
    assert too_wide(layout, found, umask) == {}
    assert loose == []
    expected = """
        .config/atm/config.toml .config/atm/spool/pending .config/atm/share/crew/note.md .config/atm/archive/crew/cat
        .config/atm/backups/crew .config/atm/daemon.toml .local/state/atm/locks .local/state/atm/mcp-tokens.json
        .local/state/atm/daemon/log.jsonl .local/state/atm/boards/crew.index
        .local/state/atm/vendor-files.json .claude/settings.json .claude/tasks/crew/1.json .claude/tasks/crew/.lock
        .claude/teams/crew/heartbeats/bob.json .claude/teams/crew/mailbox.log .claude/teams/crew/.member-work-sync
        .claude/teams/crew/inboxes/ann.json .claude/teams/crew/endpoints/ann.json .claude/teams/done/COMPLETED
        .claude/teams/gone/state.json .claude/teams/gone/mailbox.log
    """
    expected += f".local/state/atm/teams/{SESSION}/mailbox.log .local/state/atm/teams/{SESSION}/heartbeats"
    if len(f"{layout.daemon}/socket") <= LONGEST_ADDRESS:  # else it lies among temporary files
        expected += " .local/state/atm/daemon/socket"
    assert set(expected.split()) - set(found) == set(), "then this test sees less than it says"


@pytest.mark.parametrize("umask", [0o000], indirect=True, ids=oct)
def test_a_home_that_a_former_version_left_open_is_closed_by_use_or_by_doctor(
    masked: Atm, layout: Layout, umask: int
) -> None:
    masked.team()
    heartbeats = Path(layout.heartbeats("crew"))
    for path in (Path(layout.config_root), Path(layout.state_root), heartbeats):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
    found = [each["path"] for each in _loose(masked)]
    assert sorted(found) == sorted([layout.config_root, layout.state_root, layout.heartbeats("crew")])
    masked("teams", "add-member", "crew", "cat")
    assert [each["path"] for each in _loose(masked)] == [layout.config_root, layout.heartbeats("crew")]
    masked("doctor", "--fix", code=None)
    assert _loose(masked) == []
    assert stat.S_IMODE(heartbeats.stat().st_mode) == 0o700


def _loose(atm: Atm) -> list[dict[str, Any]]:
    found = atm("doctor", "--json", code=None).json["findings"]
    return [each for each in found if each["code"] == "wrong-permissions"]
