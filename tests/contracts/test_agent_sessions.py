"""One suite for what agents note about their sessions: the twin, and Claude Code's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atm.delivery.ports.agent_sessions import AgentSessions
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.processes import began
from atm.testing.delivery import MemorySessions
from atm.vendors.claude.sessions import MOST_SESSIONS, ClaudeSessions


class MemoryNotes:
    def __init__(self) -> None:
        self._twin = MemorySessions()
        self.sessions: AgentSessions = self._twin
        self.note = self._twin.note
        self.end = self._twin.end

    def close(self) -> None: ...


class FolderNotes:
    """Each session is a real process, with the file that Claude Code would write for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "sessions"
        self.sessions: AgentSessions = ClaudeSessions(RealDisk(()), str(self.folder))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def note(self, session: str, status: str) -> None:
        if session not in self._processes:
            words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
            self._processes[session] = subprocess.Popen(words, stdin=subprocess.PIPE)
        process = self._processes[session]
        self.write(process.pid, sessionId=session, status=status, procStart=began(process.pid))

    def write(self, pid: int, **fields: Any) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / f"{pid}.json").write_text(json.dumps({"pid": pid, "version": "2.1.197", **fields}))

    def end(self, session: str) -> None:
        """As after a crash: its file stays."""
        process = self._processes.pop(session)
        process.communicate()

    def close(self) -> None:
        for session in list(self._processes):
            self.end(session)


@pytest.fixture(params=["memory", "folder"])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryNotes | FolderNotes]:
    made = MemoryNotes() if request.param == "memory" else FolderNotes(tmp_path)
    yield made
    made.close()


def test_nobody_has_noted_anything(notes):
    assert notes.sessions.statuses() == {}


def test_a_session_is_as_it_says_last(notes):
    notes.note("s-1", "busy")
    assert notes.sessions.statuses() == {"s-1": "busy"}
    notes.note("s-1", "idle")
    assert notes.sessions.statuses() == {"s-1": "idle"}


def test_a_session_that_has_ended_says_nothing(notes):
    notes.note("s-1", "idle")
    notes.end("s-1")
    assert notes.sessions.statuses() == {}


@pytest.fixture
def folder(tmp_path: Path) -> FolderNotes:
    return FolderNotes(tmp_path)


def test_a_number_that_another_process_has_now_says_nothing(folder):
    folder.write(os.getpid(), sessionId="s-1", status="idle", procStart="1")
    assert folder.sessions.statuses() == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"pid": "7", "sessionId": "s"}',
        b'{"pid": true, "sessionId": "s"}',
        b'{"pid": 1e400, "sessionId": "s"}',
        b'{"sessionId": ["s"]}',
        b"[" * 60_000,
        b'{"x": "' + b"y" * 70_000 + b'"}',
    ],
)
def test_garbage_is_passed_over(folder, content):
    folder.write(os.getpid(), sessionId="s-1", status="idle")
    for name in ("999.json", "0.json", "x.json", "12.txt"):
        (folder.folder / name).write_bytes(content)
    assert folder.sessions.statuses() == {"s-1": "idle"}


def test_a_status_that_is_no_word_is_no_status(folder):
    folder.write(os.getpid(), sessionId="s-1", status={"a": 1})
    assert folder.sessions.statuses() == {"s-1": ""}


def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_passed_over(folder):
    folder.write(os.getpid(), sessionId="s-1", status="idle")
    (folder.folder / "5.json").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder.folder / "6.json")
    assert folder.sessions.statuses() == {"s-1": "idle"}


def test_not_more_files_are_looked_at_than_a_round_has_time_for(folder, monkeypatch):
    for number in range(MOST_SESSIONS + 50):
        folder.write(1_000_000_000 + number, sessionId="s")
    opened: list[str] = []
    look = RealDisk.open_read

    def noted(self: RealDisk, path: str) -> int:
        opened.append(path)
        return look(self, path)

    monkeypatch.setattr(RealDisk, "open_read", noted)
    assert folder.sessions.statuses() == {}
    assert len(opened) == MOST_SESSIONS
