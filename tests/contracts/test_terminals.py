"""One suite for panes: the twin, and real tmux with a scripted agent in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.optional import skip_without

from atm.delivery.adapters.tmux import TmuxTerminals
from atm.delivery.ports.terminals import PaneAddress, Terminals
from atm.delivery.services.pane_delivery import PROVEN, Expected, paste_line
from atm.files.adapters.machine import RealClock
from atm.files.ports.clock import Clock
from atm.testing import FakeClock
from atm.testing.delivery import DIALOG as DIALOG_ROWS
from atm.testing.delivery import MemoryTerminals
from atm.vendors.panes import DEAD, DIALOG, MODE, READY, SHELL, SYNCHRONIZED, composer_holds, front_of, shows

TAG = "atm:3f0c1f4e"
LINE = f"[{TAG} from bob] the parser is done; see $(touch x), `ls`, 日本語"


class MemoryStage:
    """Panes in memory."""

    def __init__(self) -> None:
        self.terminals: Terminals = MemoryTerminals()
        self.clock: Clock = FakeClock()

    @property
    def _twin(self) -> MemoryTerminals:
        assert isinstance(self.terminals, MemoryTerminals)
        return self.terminals

    def agent(self, *, suggestion: str = "", asks: bool = False) -> PaneAddress:
        at = PaneAddress("/tmp/twin", f"%{len(self._twin.panes)}")
        opened = self._twin.open(at, "python")
        opened.suggestion = suggestion
        opened.dialog = DIALOG_ROWS if asks else ()
        return at

    def shell(self) -> PaneAddress:
        at = PaneAddress("/tmp/twin", f"%{len(self._twin.panes)}")
        self._twin.open(at, "bash")
        return at

    def end(self, at: PaneAddress) -> None:
        self._twin.panes[at].is_dead = True

    def scroll(self, at: PaneAddress) -> None:
        self._twin.panes[at].in_mode = True

    def synchronize(self, at: PaneAddress) -> None:
        self._twin.panes[at].is_synchronized = True

    def submitted(self, at: PaneAddress) -> list[str]:
        return self._twin.panes[at].submitted

    def close(self) -> None:
        self._twin.panes.clear()


class SlowClock(RealClock):
    """Time passes ten times slower: whoever watches a pane waits half a minute before giving up on a busy machine."""

    def monotonic(self) -> float:
        return super().monotonic() / 10


class TmuxStage:
    """A tmux server of its own; scripted agents in its panes."""

    def __init__(self, folder: Path, eventually: Callable[..., None]) -> None:
        self.terminals: Terminals = TmuxTerminals(30.0)
        self.clock: Clock = SlowClock()
        self._folder = folder
        self._eventually = eventually
        self._name = f"atm-test-{uuid.uuid4().hex[:12]}"
        self._socket = ""
        self._logs: dict[PaneAddress, Path] = {}

    def tmux(self, *words: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30, check=False).stdout

    def open(self, *words: str) -> PaneAddress:
        verb = ("new-window",) if self._socket else ("new-session", "-x", "100", "-y", "30")
        said = self.tmux(*verb, "-d", "-P", "-F", "#{socket_path} #{pane_id}", "--", *words)
        self._socket, _, pane = said.strip().rpartition(" ")
        self.tmux("set-option", "-w", "-t", pane, "remain-on-exit", "on")
        return PaneAddress(self._socket, pane)

    def agent(self, *, suggestion: str = "", asks: bool = False) -> PaneAddress:
        options = ["--suggestion", suggestion, *(["--dialog"] if asks else [])]
        log = self._folder / f"{uuid.uuid4().hex}.jsonl"
        at = self.open(sys.executable, "-m", "atm.testing.scripted_agent", "--log", str(log), *options)
        self._logs[at] = log
        last = "2. No" if asks else "? for shortcuts"  # its last row: all is drawn
        self._eventually(lambda: last in (self.terminals.screen(at) or ""))
        return at

    def shell(self) -> PaneAddress:
        at = self.open("sh")
        self._eventually(lambda: "$" in (seen := self.terminals.screen(at) or "") or "#" in seen)
        return at

    def end(self, at: PaneAddress) -> None:
        self.tmux("send-keys", "-t", at.pane, "C-c")
        self._eventually(lambda: (pane := self.terminals.pane(at)) is not None and pane.is_dead)

    def scroll(self, at: PaneAddress) -> None:
        self.tmux("copy-mode", "-t", at.pane)

    def synchronize(self, at: PaneAddress) -> None:
        self.tmux("set-option", "-w", "-t", at.pane, "synchronize-panes", "on")

    def submitted(self, at: PaneAddress) -> list[str]:
        lines = self._logs[at].read_text().splitlines()
        return [seen["text"] for seen in map(json.loads, lines) if seen["kind"] == "prompt"]

    def close(self) -> None:
        if not self._socket:
            return
        self.tmux("kill-server")
        Path(self._socket).unlink(missing_ok=True)  # tmux leaves it


Stage = MemoryStage | TmuxStage


@pytest.fixture(params=["memory", "tmux"])
def stage(request, tmp_path, eventually) -> Iterator[Stage]:
    if request.param == "tmux":
        skip_without("tmux")
    made = MemoryStage() if request.param == "memory" else TmuxStage(tmp_path, eventually)
    yield made
    made.close()


def front(stage: Stage, at: PaneAddress) -> str:
    pane = stage.terminals.pane(at)
    assert pane is not None
    return front_of(pane, stage.terminals.screen(at) or "", stage.terminals.written(at))


def test_a_pane_says_what_is_in_it(stage):
    at = stage.agent()
    pane = stage.terminals.pane(at)
    assert pane.id == at.pane
    assert pane.pid > 0
    assert pane.command.startswith("python")
    assert pane.width > 20
    assert [pane.is_dead, pane.in_mode, pane.is_synchronized, pane.is_locked] == [False] * 4
    assert front(stage, at) == READY


@pytest.mark.parametrize("pane", ["%99", "%", "0", "", "%0;kill-server", "%0;", "=x", "-h", "%٣"])
def test_a_pane_that_is_not_there_is_nothing(stage, pane):
    beside = stage.agent()
    at = PaneAddress(beside.server, pane)
    assert stage.terminals.pane(at) is None
    assert stage.terminals.screen(at) is stage.terminals.written(at) is stage.terminals.history(at) is None
    assert stage.terminals.paste(at, LINE) is False
    assert stage.terminals.press_enter(at) is False
    assert stage.terminals.pane(beside) is not None
    assert stage.submitted(beside) == []


@pytest.mark.parametrize("server", ["/nowhere/socket", "/etc/passwd", "/nul\0", "relative"])
def test_a_server_that_is_not_there_has_no_panes(stage, server):
    at = PaneAddress(server, "%0")
    assert stage.terminals.pane(at) is stage.terminals.screen(at) is stage.terminals.history(at) is None
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False


def test_a_server_that_vanished_has_no_panes(stage):
    at = stage.agent()
    stage.close()
    assert stage.terminals.pane(at) is stage.terminals.screen(at) is stage.terminals.written(at) is None
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False


def test_a_paste_is_seen_in_the_composer_and_nothing_is_submitted(stage, eventually):
    at = stage.agent()
    assert stage.terminals.paste(at, LINE)
    eventually(lambda: composer_holds(stage.terminals.screen(at) or "", TAG))
    assert stage.submitted(at) == []


def test_enter_submits_it(stage, eventually):
    at = stage.agent()
    stage.terminals.paste(at, LINE)
    eventually(lambda: composer_holds(stage.terminals.screen(at) or "", TAG))
    assert stage.terminals.press_enter(at)
    eventually(lambda: stage.submitted(at) == [LINE])
    eventually(lambda: not composer_holds(stage.terminals.screen(at) or "", TAG))
    assert shows(stage.terminals.history(at) or "", TAG)


def test_a_suggestion_is_seen_but_not_written(stage):
    at = stage.agent(suggestion="yes, commit it")
    assert "yes, commit it" in (stage.terminals.screen(at) or "")
    assert "commit" not in (stage.terminals.written(at) or "")
    assert front(stage, at) == READY


def test_a_dialog_is_seen(stage):
    assert front(stage, stage.agent(asks=True)) == DIALOG


def test_a_shell_takes_nothing(stage):
    at = stage.shell()
    before = stage.terminals.screen(at)
    assert front(stage, at) == SHELL
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False
    assert stage.terminals.screen(at) == before


def test_a_dead_pane_takes_nothing(stage):
    at = stage.agent()
    stage.end(at)
    assert front(stage, at) == DEAD
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False
    assert stage.terminals.pane(at) is not None


def test_a_pane_in_copy_mode_takes_nothing(stage):
    at = stage.agent()
    stage.scroll(at)
    assert front(stage, at) == MODE
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False
    pane = stage.terminals.pane(at)
    assert pane is not None
    assert pane.in_mode


def test_a_pane_that_shares_its_keys_takes_nothing(stage):
    at = stage.agent()
    stage.synchronize(at)
    assert front(stage, at) == SYNCHRONIZED
    assert stage.terminals.paste(at, LINE) is stage.terminals.press_enter(at) is False


def test_a_line_is_delivered_once_and_proven(stage, eventually):
    at = stage.agent(suggestion="try this")
    pane = stage.terminals.pane(at)
    for _ in range(2):
        pasted = paste_line(stage.terminals, stage.clock, at, Expected(pane.pid, pane.command), LINE, TAG)
        assert pasted.outcome == PROVEN, pasted
    eventually(lambda: stage.submitted(at) == [LINE])  # the agent shows it first and notes it then
