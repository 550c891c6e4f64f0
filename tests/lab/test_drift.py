"""What a newer version says differently is noticed."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.lab import drift, files


def put(folder: Path, name: str, **said: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(said))


def test_new_events_and_fields_missing_ones_and_other_kinds_are_told_and_what_is_as_before_is_not(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    put(old, "claude-Stop.json", hook_event_name="Stop", session_id="a", effort="high", cwd="/")
    put(new, "claude-Stop-7.json", hook_event_name="Stop", session_id="b", effort={"level": "high"}, mood="fine")
    put(new, "claude-TeaBreak-8.json", hook_event_name="TeaBreak")
    assert drift.differences(new, old) == [
        "claude Stop: new field mood (str)",
        "claude Stop: cwd is missing (it was str)",
        "claude Stop: effort was str and is dict",
        "claude TeaBreak: not in the corpus; it says hook_event_name",
    ]
    assert drift.differences(old, old) == []


def a_home(folder: Path, *, session: Mapping[str, object], member: Mapping[str, object], **files: str) -> Path:
    """What Claude Code keeps, in a home."""
    team = folder / ".claude/teams/session-0a1b2c3d"
    (folder / ".claude/sessions").mkdir(parents=True)
    (team / "inboxes").mkdir(parents=True)
    (folder / ".claude/sessions/4711.json").write_text(json.dumps(session))
    (team / "config.json").write_text(json.dumps({"name": "x", "members": [member]}))
    (team / "inboxes/lead.json").write_text(json.dumps([{"from": "a", "read": False}, {"from": "b", "read": True}]))
    for name, text in files.items():
        (folder / ".claude" / name).write_text(text)
    return folder


def kept(home: Path, folder: Path, version: str) -> Path:
    files.keep(files.shapes_in_home(home, "claude"), "claude", version, folder)
    return folder


def test_new_missing_and_changed_fields_of_files_and_new_and_missing_files_are_told(tmp_path):
    session = {"pid": 4711, "status": "idle", "sessionId": "a"}
    old = a_home(tmp_path / "a", session=session, member={"name": "bob", "isActive": True}, notes="x")
    newer = {"pid": "4712", "sessionId": "b", "mood": None}
    new = a_home(tmp_path / "b", session=newer, member={"name": "bob", "color": "red"}, history="x")
    before, after = kept(old, tmp_path / "before", "1.0"), kept(new, tmp_path / "after", "2.0")
    assert drift.differences_of_files(after, before) == [
        "claude 2.0; recorded: 1.0",
        "claude .claude/sessions/*.json: new field mood (null)",
        "claude .claude/sessions/*.json: status is missing (it was str)",
        "claude .claude/sessions/*.json: pid was number and is str",
        "claude .claude/teams/session-*/config.json: new field members[].color (str)",
        "claude .claude/teams/session-*/config.json: members[].isActive is missing (it was bool)",
        "claude names of its files: new field .claude/history (file)",
        "claude names of its files: .claude/notes is missing (it was file)",
    ]
    assert drift.differences_of_files(before, before) == []


def test_a_field_that_was_not_in_every_file_may_be_missing(tmp_path):
    sessions: list[dict[str, object]] = [{"pid": 1, "waitingFor": "x"}, {"pid": 2}]
    for number, session in enumerate(sessions):
        kept(a_home(tmp_path / f"{number}", session=session, member={"name": "b"}), tmp_path / "before", "1.0")
    now = kept(a_home(tmp_path / "now", session={"pid": 3}, member={"name": "b"}), tmp_path / "after", "1.0")
    assert drift.differences_of_files(now, tmp_path / "before") == []
    files.record(tmp_path / "before", tmp_path / "corpus")
    assert drift.differences_of_files(now, tmp_path / "corpus") == []
    assert files.recorded_in(tmp_path / "corpus") == files.recorded_in(tmp_path / "before")


def test_settings_databases_and_lines_have_shapes_too(tmp_path):
    (tmp_path / ".codex/sessions/2026/11/18").mkdir(parents=True)
    (tmp_path / ".codex/config.toml").write_text(
        'model = "x"\n[projects."/home/bob/project"]\ntrust_level = "trusted"\n'
    )
    lines = ['{"type": "event_msg", "payload": {"type": "begun"}}', '{"type": "meta", "id": 1}', '{"torn": ']
    (tmp_path / ".codex/sessions/2026/11/18/rollout-7.jsonl").write_text("\n".join(lines))
    codex = files.shapes_in_home(tmp_path, "codex")
    assert codex[".codex/config.toml"] == {"model": "str", "projects": "dict", "projects.*": "dict"}
    assert [*codex[".codex/sessions/*/*/*/rollout-*.jsonl"]] == [
        *("event_msg.begun", "event_msg.begun.payload", "event_msg.begun.type", "meta", "meta.id", "meta.type"),
    ]
    (tmp_path / ".local/share/opencode").mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db")) as base:
        base.execute("CREATE TABLE session (id TEXT, at INTEGER)")
    shape = files.shapes_in_home(tmp_path, "opencode")[".local/share/opencode/opencode.db"]
    assert shape == {"session.id": "TEXT", "session.at": "INTEGER"}


def test_a_run_in_which_nothing_was_recorded_is_said(tmp_path, capsys):
    assert drift.main([str(tmp_path)]) == 1
    assert "no hook was told anything" in capsys.readouterr().out


def test_the_corpus_does_not_differ_from_itself():
    assert drift.differences(drift.CORPUS) == []
    assert drift.differences_of_files(files.CORPUS) == []
    assert files.recorded_in(files.CORPUS).keys() == files.KEPT.keys()


def test_between_a_program_and_atm_every_payload_is_kept_and_handed_on(tmp_path):
    atm = tmp_path / "real-atm"
    atm.write_text('#!/bin/sh\nprintf "%s|" "$@"; [ $# -gt 3 ] || cat\n')
    atm.chmod(0o755)
    drift.record(tmp_path, str(atm), tmp_path / "kept")
    environment = {"PATH": f"{tmp_path}/bin:{os.defpath}"}
    done = subprocess.run(
        ["sh", "-c", "atm hook claude Stop"], input=b'{"a": 1}', capture_output=True, check=True, env=environment
    )
    assert done.stdout == b'hook|claude|Stop|{"a": 1}'
    notified = subprocess.run(
        [f"{tmp_path}/bin/atm", "hook", "codex", "notify", '{"b": 2}'],
        capture_output=True,
        check=True,
        env=environment,
    )
    assert notified.stdout == b'hook|codex|notify|{"b": 2}|'
    assert sorted(json.loads(path.read_text()).popitem() for path in (tmp_path / "kept").iterdir()) == [
        ("a", 1),
        ("b", 2),
    ]
