"""The screen in a real terminal: keys sent, the screen read; and the windows of real agents side by side."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from tests.conftest import Atm
from tests.optional import needs

pytest.importorskip("textual")

pytestmark = needs("tmux")

BOUND = 60.0


class Terminal:
    """One pane of a tmux server of its own."""

    def __init__(self, server: str, atm: Atm) -> None:
        self._server = server
        self._atm = atm

    def start(self, *words: str, columns: int = 80, lines: int = 24) -> None:
        facts = [f"{key}={value}" for key, value in self._atm.environment.items()]
        command = ["env", *facts, sys.executable, "-m", "atm", *words]
        size = ("-x", str(columns), "-y", str(lines))
        self.tmux("new-session", "-d", *size, "-c", str(self._atm.folder), *command)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._server, "-f", "/dev/null", *words], capture_output=True, check=False
        )
        return done.stdout.decode("utf-8", "replace")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", key)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def sees(self, said: str) -> str:
        return self.until(lambda screen: said in screen, said)

    def until(self, is_so: Callable[[str], bool], what: str) -> str:
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            screen = self.screen()
            if is_so(screen):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{what!r} in\n{self.screen()}")


@pytest.fixture
def terminal(crew: Atm, tmp_path) -> Iterator[Terminal]:
    made = Terminal(f"t-{abs(hash(str(tmp_path))) % 10**8}", crew)
    yield made
    made.tmux("kill-server")


def test_a_person_answers_a_question_and_sends_a_message_with_keys_alone(terminal: Terminal, crew: Atm):
    terminal.start("top")
    terminal.sees("which colour?")
    terminal.press("r")
    terminal.sees("enter send")
    terminal.press("b", "l", "u", "e", "Enter")
    terminal.sees("Needs you  nobody")
    terminal.press("/", "a", ":", "k", "i", "Enter", "m")
    terminal.sees("write to kite")
    terminal.press("日", "本", "Enter")
    terminal.sees("sent")
    terminal.press("q")
    terminal.until(lambda screen: "Needs you" not in screen, "the screen is gone")
    assert "日本" in crew("read", "--as", "kite").out


def test_it_is_pasted_into_with_several_lines_and_nothing_is_sent_before_enter(terminal: Terminal, crew: Atm):
    terminal.start("top")
    terminal.sees("kite")
    terminal.press("/", "a", ":", "k", "i", "Enter", "m")
    terminal.sees("write to kite")
    terminal.tmux("set-buffer", "one\ntwo q D D\nthree")
    terminal.tmux("paste-buffer", "-p")
    terminal.sees("three")
    assert crew("read", "--as", "kite", "--json", code=None).json["messages"] == []
    terminal.press("Enter")
    terminal.sees("sent")
    assert "one\ntwo q D D\nthree" in crew("read", "--as", "kite", "--json").json["messages"][0]["text"]


def test_it_is_resized_and_drawn_anew(terminal: Terminal):
    terminal.start("top")
    terminal.sees("Needs you  1")
    terminal.tmux("resize-window", "-x", "120", "-y", "30")
    terminal.sees("│")
    terminal.tmux("resize-window", "-x", "40", "-y", "10")
    terminal.until(lambda screen: "enter open" in screen and "│" not in screen, "the small screen")


def test_without_the_extra_it_says_the_command_that_brings_it(terminal: Terminal, crew: Atm, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['textual'] = None\n")
    crew.environment["PYTHONPATH"] = str(tmp_path)
    terminal.tmux("set-option", "-g", "remain-on-exit", "on")
    facts = [f"{key}={value}" for key, value in crew.environment.items()]
    terminal.tmux("new-session", "-d", "-x", "160", "-c", str(crew.folder), "sleep", "60")
    terminal.tmux("set-option", "-g", "remain-on-exit", "on")
    terminal.tmux("respawn-pane", "-k", "env", *facts, sys.executable, "-m", "atm", "top")
    terminal.sees("[tui]'")
