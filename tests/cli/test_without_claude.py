"""Mail, teams and the board are files: no `claude` is asked for any of it, not even when it lies in the PATH."""

from __future__ import annotations

import os

import pytest
from tests.proving import proves

SESSION = (
    ("teams", "create", "dock"),
    ("teams", "add-member", "dock", "eve"),
    ("teams", "list"),
    ("members", "crew"),
    ("status", "crew"),
    ("send", "ann", "hello", "--from", "bob"),
    ("broadcast", "all", "--team", "crew"),
    ("inbox",),
    ("read", "ann", "--mark"),
    ("spool", "list"),
    ("cleanup", "--yes"),
    ("tasks", "add", "Write the parser", "--team", "crew"),
    ("tasks", "claim", "1", "--as", "ann", "--team", "crew"),
    ("tasks", "complete", "1", "--as", "ann", "--team", "crew"),
    ("tasks", "list", "--team", "crew"),
    ("sync", "status", "--team", "crew"),
    ("session", "list"),
    ("snapshot", "--team", "crew"),
)
"""What is done all day. `config` asks once for the version; `up` starts a program that the user names."""


@pytest.fixture
def calls(tmp_path):
    """Where a `claude` that comes first in the PATH would leave its words."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    (folder / "claude").write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    (folder / "claude").chmod(0o755)
    return calls


@proves("R001-2.3-01")
def test_nothing_that_is_done_all_day_calls_claude(crew, calls):
    path = f"{calls.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    crew("config", "set", "core.default_team", "crew", env={"PATH": path})
    for words in SESSION:
        crew(*words, env={"PATH": path})
    assert not calls.exists(), calls.read_text()


def test_a_claude_in_the_path_would_have_been_noticed(crew, calls):
    crew("config", env={"PATH": f"{calls.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    assert calls.read_text() == "--version\n"
