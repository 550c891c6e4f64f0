"""What a newer version says differently is noticed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.lab import drift


def put(folder: Path, name: str, **said: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(said))


def test_new_events_new_fields_and_other_kinds_are_told_and_what_is_as_before_is_not(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    put(old, "claude-Stop.json", hook_event_name="Stop", session_id="a", effort="high")
    put(new, "claude-Stop-7.json", hook_event_name="Stop", session_id="b", effort={"level": "high"}, mood="fine")
    put(new, "claude-TeaBreak-8.json", hook_event_name="TeaBreak")
    assert drift.differences(new, old) == [
        "claude Stop: new field mood (str)",
        "claude Stop: effort was str and is dict",
        "claude TeaBreak: not in the corpus; it says hook_event_name",
    ]
    assert drift.differences(old, old) == []


def test_a_run_in_which_nothing_was_recorded_is_said(tmp_path, capsys):
    assert drift.main([str(tmp_path)]) == 1
    assert "no hook was told anything" in capsys.readouterr().out


def test_the_corpus_does_not_differ_from_itself():
    assert drift.differences(drift.CORPUS) == []


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
