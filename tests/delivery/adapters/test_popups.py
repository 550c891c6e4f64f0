"""Popups of a real tmux: shown to whoever sits there, answered in whole words, closed without harm."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.optional import needs

from atm.delivery.adapters.popups import TmuxPopups, popup_words

pytestmark = needs("tmux")


class Desk:
    """A person in tmux: one server for their work, one around it that shows what they see."""

    def __init__(self, home: Path) -> None:
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMUX_TMPDIR": str(home), "TERM": "xterm"}

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", *words], env=self.environment, capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout

    def sit_down(self) -> None:
        inner = shlex.join(["env", "-u", "TMUX", "tmux", "-f", os.devnull, "new-session", "cat"])
        self.tmux("-L", "around", "-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "30", inner)

    @property
    def screen(self) -> str:
        return self.tmux("-L", "around", "capture-pane", "-p")


@pytest.fixture
def desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="pop") as home:  # short: sockets lie in it
        made = Desk(Path(home))
        yield made
        made.tmux("kill-server")
        made.tmux("-L", "around", "kill-server")


def test_a_popup_is_shown_where_somebody_sits_and_nobody_waits_for_it(desk, eventually):
    popups = TmuxPopups(desk.environment)
    assert not popups.show("an agent asks", lambda _: False)  # nobody is there
    desk.sit_down()
    eventually(lambda: "attached" in desk.tmux("list-clients"))
    assert not popups.show("an agent asks", lambda _: True)  # an agent is not somebody
    popups._command = shlex.join(["sh", "-c", "echo what-is-asked; cat"])
    assert popups.show("an agent asks", lambda _: False)
    eventually(lambda: "what-is-asked" in desk.screen)
    assert popups.is_open()
    assert "an agent asks" in desk.screen
    desk.tmux("-L", "around", "send-keys", "C-d")
    eventually(lambda: not popups.is_open())
    assert "what-is-asked" not in desk.screen


def test_the_popup_runs_our_own_program_in_nobodys_name():
    words = popup_words([sys.executable, "-m", "atm"], {"HOME": "/home/ann", "ATM_IDENTITY": "bob", "ATM_HOME": "/h"})
    assert words[:7] == ["env", "-u", "ATM_IDENTITY", "-u", "ATM_TEAM", "-u", "ATM_AGENT"]
    assert {"ATM_HOME=/h", "HOME=/home/ann"} <= set(words)
    assert words[-4:] == ["-m", "atm", "approvals", "review"]
    assert "bob" not in " ".join(words)
