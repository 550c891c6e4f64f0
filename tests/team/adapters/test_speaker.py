"""Who speaks under a shared server, or in a teammate's pane: with real processes that look like the vendors' own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system does not tell of processes")

ASK = """
import json, os, sys
sys.path.insert(0, os.environ["SOURCE"])
from atm.team.adapters.speaker import environment_of_speaker
found = environment_of_speaker(os.environ, os.getpid())
print(json.dumps({name: value for name, value in found.items() if name.startswith(("ATM_", "TMUX"))}))
"""
WAIT = "import sys; sys.stdin.read()"
SERVE = "import os, subprocess, sys; subprocess.run([os.environ['REAL'], 'ask.py'])"
"""A program whose hook asks."""


class Stage:
    """A folder with programs in it that run under the names of others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: list[subprocess.Popen[bytes]] = []
        for name, text in {"app-server": SERVE, "session": SERVE, "ask.py": ASK, "begin": WAIT}.items():
            (folder / name).write_text(text)
        self._common = {
            "HOME": str(folder),
            "REAL": sys.executable,
            "SOURCE": str(Path(__file__).parents[3] / "src"),
            "PATH": os.defpath,
        }

    def start(self, words: list[str], **more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            executable=sys.executable,
            cwd=self.folder,
            env={**self._common, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def terminal(self, **more: str) -> None:
        """Somebody sits before Codex."""
        made = self.start(["codex", "begin"], **more)
        self.waiting.append(made)
        while not Path(f"/proc/{made.pid}/cmdline").read_bytes().startswith(b"codex\0"):
            time.sleep(0.01)

    def says(self, words: list[str], **more: str) -> dict[str, str]:
        out, _ = self.start(words, **more).communicate(timeout=240)
        found: dict[str, str] = json.loads(out)
        return found

    def close(self) -> None:
        for one in self.waiting:
            one.communicate(timeout=240)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


SHARED = ["codex", "app-server", "--listen", "unix://"]
BOB = {"ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
ANN = {"ATM_TEAM": "crew", "ATM_IDENTITY": "ann", "TMUX_PANE": "%3", "TMUX": "/t"}


def test_a_program_of_its_own_has_its_own_environment(stage):
    assert stage.says(["codex", "session"], **BOB) == BOB
    assert stage.says(["codex", "app-server"], **BOB) == BOB


def test_on_a_shared_server_the_only_terminal_speaks(stage):
    stage.terminal(**ANN)
    assert stage.says(SHARED, **BOB) == ANN


def test_on_a_shared_server_two_members_are_nobody(stage):
    stage.terminal(**ANN)
    stage.terminal(**BOB)
    assert stage.says(SHARED, **BOB) == {"ATM_NOBODY": "codex"}


def test_terminals_of_another_home_have_another_server(stage):
    stage.terminal(**ANN)
    stage.terminal(**BOB, HOME="/somewhere/else")
    assert stage.says(SHARED, **BOB) == ANN


def test_a_teammate_in_a_pane_is_not_its_lead(stage):
    words = ["claude", "session", "--agent-id", "scout@session-1a2b3c4d", "--agent-name", "scout"]
    assert stage.says(words, **BOB) == {"ATM_TEAM": "session-1a2b3c4d", "ATM_IDENTITY": "scout"}
