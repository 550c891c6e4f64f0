"""Real tmux, real agents (scripted ones): hostile text, shells, dialogs, panes that are not what they were."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs
from tests.proving import proves

from atm.delivery.adapters.tmux import TmuxTerminals, _foreground_by_ps, pane_of, without_faint
from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.services.pane_delivery import PROVEN, REFUSED, UNPROVEN, Expected, Pasted, paste_line
from atm.files.adapters.machine import RealClock
from atm.files.adapters.processes import began
from atm.vendors.panes import composer_holds, shows

pytestmark = needs("tmux")

TAG = "atm:3f0c1f4e"
PATIENT = 30.0
"""Seconds for one run of tmux on a machine that has a lot to do."""


class SlowClock(RealClock):
    """Time passes ten times slower: whoever watches a pane waits half a minute before giving up on a busy machine."""

    def monotonic(self) -> float:
        return super().monotonic() / 10


class FastClock(RealClock):
    """Time passes ten times faster: for those who wait for what will never come."""

    def monotonic(self) -> float:
        return super().monotonic() * 10


class Server:
    """A tmux server of its own, and what a person would do at it."""

    def __init__(self, folder: Path, eventually: Callable[..., None]) -> None:
        self.folder = folder
        self.terminals = TmuxTerminals(PATIENT)
        self.socket = ""
        self._eventually = eventually
        self._name = f"atm-test-{uuid.uuid4().hex[:12]}"

    def tmux(self, *words: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
        command = ["tmux", "-u", "-L", self._name, "-f", "/dev/null", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=self.folder, timeout=30, check=False
        )
        return done.stdout

    def open(self, *words: str, size: tuple[int, int] = (100, 30)) -> PaneAddress:
        verb = ("new-window",) if self.socket else ("new-session", "-x", str(size[0]), "-y", str(size[1]))
        said = self.tmux(*verb, "-d", "-P", "-F", "#{socket_path} #{pane_id}", "--", *words)
        self.socket, _, pane = said.strip().rpartition(" ")
        return PaneAddress(self.socket, pane)

    @property
    def log(self) -> Path:
        return self.folder / "seen.jsonl"

    def agent_words(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "atm.testing.scripted_agent", "--log", str(self.log), *options]

    def agent(self, *options: str, size: tuple[int, int] = (100, 30)) -> PaneAddress:
        at = self.open(*self.agent_words(*options), size=size)
        self.until_shown(at, "2. No" if "--dialog" in options else "? for shortcuts")  # its last row: all is drawn
        return at

    def shell(self) -> PaneAddress:
        """A prompt that looks just like a composer."""
        at = self.open("env", "PS1=> ", "HISTFILE=", "bash", "--norc", "--noprofile", "-i")
        self.until_shown(at, ">")
        return at

    def until_shown(self, at: PaneAddress, text: str) -> None:
        self._eventually(lambda: text in (self.terminals.screen(at) or ""))

    def type(self, at: PaneAddress, text: str) -> None:
        self.tmux("send-keys", "-t", at.pane, "-l", text)
        self.tmux("send-keys", "-t", at.pane, "Enter")

    def seen(self, kind: str = "prompt") -> list[str]:
        rows: list[dict[str, Any]] = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [row.get("text", "") for row in rows if row["kind"] == kind]

    def until_seen(self, *prompts: str) -> None:
        """The agent shows a prompt first and notes it then, so what was proven may not be noted yet."""
        self._eventually(lambda: self.seen() == [*prompts])

    def expected(self, at: PaneAddress) -> Expected:
        pane = self.terminals.pane(at)
        assert pane is not None
        return Expected(pane.pid, pane.command)

    def deliver(self, at: PaneAddress, line: str, expected: Expected | None = None, tag: str = TAG) -> Pasted:
        return paste_line(self.terminals, SlowClock(), at, expected or self.expected(at), line, tag)

    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pid}"))

    def close(self) -> None:
        self.tmux("kill-server")
        if self.socket:
            Path(self.socket).unlink(missing_ok=True)  # tmux leaves it


@pytest.fixture
def server(tmp_path, eventually) -> Iterator[Server]:
    made = Server(tmp_path, eventually)
    yield made
    made.close()


HOSTILE = [
    "$(touch pwned) `touch pwned` ${IFS}",
    "; touch pwned; rm -rf . && touch pwned | tee pwned > pwned",
    "!history !! !$ ^a^b",
    "'single' \"double\" \\back\\slash \\n \\x1b[31m %s %d #{pane_id} #(touch pwned)",
    "日本語 ñ é 🎉 👩‍👩‍👧 ﷽ \u200b\u202e end",
    "C-c Enter Escape \\; kill-server",
    "{braces} #[fg=red] ~tilde *glob* ? [y/n] (y/n) Do you want to proceed? ❯ 1. Yes",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_arrives_to_the_letter_as_one_prompt(server, text):
    line = f"[{TAG} from mallory] {text} [{TAG}]"
    at = server.agent()
    pasted = server.deliver(at, line)
    assert pasted.outcome == PROVEN, pasted
    server.until_seen(line)
    assert not (server.folder / "pwned").exists()
    assert server.tmux("list-buffers") == ""


def test_four_thousand_characters_arrive_as_one_prompt(server):
    line = f"[{TAG}] " + "word and word, " * 270
    line = f"{line[:4000]} [{TAG}]"
    at = server.agent(size=(120, 50))
    assert server.deliver(at, line).outcome == PROVEN
    server.until_seen(line)


def test_a_composer_too_small_for_the_line_is_no_obstacle(server):
    line = "(" + "word and word, " * 60 + TAG
    at = server.agent(size=(40, 12))
    assert server.deliver(at, line).outcome == PROVEN
    server.until_seen(line)


@pytest.mark.parametrize("width", [20, 33, 80])
def test_the_mark_is_found_however_narrow_the_pane_is(server, width):
    line = f"[{TAG} from bob] the parser is done"
    at = server.agent(size=(width, 30))
    assert server.deliver(at, line).outcome == PROVEN
    server.until_seen(line)


@pytest.mark.parametrize("vendor", ["claude", "codex", "gemini"])
def test_every_vendors_look_is_recognised(server, vendor):
    at = server.agent("--vendor", vendor, "--atm", "false", "--suggestion", "yes, go on")
    assert server.deliver(at, f"[{TAG}] hello").outcome == PROVEN
    server.until_seen(f"[{TAG}] hello")


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x1b[201~", "\x1b", "\x9b", "\x00", "\x7f", "\u2028", "\ud83d"])
def test_text_that_is_more_than_text_is_refused(server, sign):
    at = server.agent()
    assert server.deliver(at, f"[{TAG}] a{sign}b").outcome == REFUSED
    assert not shows(server.terminals.screen(at) or "", TAG)
    assert server.seen() == []


def test_half_a_character_cannot_be_pasted_at_all(server):
    assert server.terminals.paste(server.agent(), "a\ud83d") is False


def test_an_agent_at_work_gets_the_line_as_its_next_prompt(server, eventually):
    at = server.agent("--think", "0.05")
    server.type(at, "/busy 20")
    eventually(lambda: server.seen() == ["/busy 20"])
    assert server.deliver(at, f"[{TAG}] hello").outcome == PROVEN
    eventually(lambda: server.seen() == ["/busy 20", f"[{TAG}] hello"])


def test_a_shell_in_front_refuses_whatever_it_looks_like(server):
    at = server.shell()
    before = server.terminals.screen(at)
    for expected in (Expected(), Expected(command="bash"), server.expected(at)):
        pasted = server.deliver(at, f"[{TAG}] touch pwned", expected)
        assert pasted.outcome == REFUSED
        assert "shell" in pasted.evidence
    assert server.terminals.screen(at) == before


def test_an_agent_that_exited_back_to_its_shell_refuses(server, eventually):
    at = server.shell()
    server.type(at, " ".join(server.agent_words()))
    server.until_shown(at, "? for shortcuts")
    expected = server.expected(at)
    assert expected.command.startswith("python")
    assert server.deliver(at, f"[{TAG}] one", expected).outcome == PROVEN
    server.type(at, "/exit")
    eventually(lambda: server.expected(at).command == "bash")
    eventually(lambda: (server.terminals.screen(at) or "").rstrip().endswith("\n>"))  # in front before it says so
    before = server.terminals.screen(at)
    pasted = server.deliver(at, "[atm:00000002] two", expected, "atm:00000002")
    assert pasted.outcome == REFUSED
    assert server.terminals.screen(at) == before
    assert server.seen() == [f"[{TAG}] one"]


def test_another_program_in_the_pane_refuses(server, eventually):
    at = server.open("cat")
    eventually(lambda: server.expected(at).command == "cat")  # until then it is tmux itself
    pasted = server.deliver(at, f"[{TAG}] one", Expected(None, "python"))
    assert pasted.outcome == REFUSED
    assert "'cat'" in pasted.evidence


def test_a_console_of_an_interpreter_is_a_shell(server):
    at = server.open(sys.executable, "-i", "-q")
    server.until_shown(at, ">>>")
    pasted = server.deliver(at, f"[{TAG}] one")
    assert pasted.outcome == REFUSED
    assert "runs what is typed" in pasted.evidence


def test_a_pane_id_that_is_used_again_refuses(server, eventually):
    at = server.agent()
    expected = server.expected(at)
    pid = server.pid()
    server.tmux("kill-server")
    eventually(lambda: began(pid) == "")  # one that is still ending would take the new session in
    assert server.terminals.pane(at) is None
    server.socket = ""
    again = server.agent()
    assert again == at
    pasted = server.deliver(again, f"[{TAG}] one", expected)
    assert pasted.outcome == REFUSED
    assert "another process" in pasted.evidence
    assert server.seen() == []


def test_a_pane_that_was_respawned_refuses(server, eventually):
    at = server.agent()
    expected = server.expected(at)
    server.tmux("respawn-pane", "-k", "-t", at.pane, "--", *server.agent_words())
    eventually(lambda: server.expected(at).pid != expected.pid)
    assert server.deliver(at, f"[{TAG}] one", expected).outcome == REFUSED


def test_a_dialog_refuses_and_nothing_is_typed_into_it(server, eventually):
    at = server.agent("--dialog")
    pasted = server.deliver(at, f"[{TAG}] one")
    assert pasted.outcome == REFUSED
    assert "dialog" in pasted.evidence
    server.type(at, "1")
    eventually(lambda: server.seen("answered") == [""])
    assert server.seen("eaten") == server.seen() == []
    server.until_shown(at, "? for shortcuts")  # drawn after it was noted
    assert server.deliver(at, f"[{TAG}] one").outcome == PROVEN


def test_a_dialog_that_opens_during_work_refuses(server, eventually):
    at = server.agent()
    server.type(at, "/dialog")
    eventually(lambda: server.seen("dialog") == [""])
    server.until_shown(at, "2. No")
    assert server.deliver(at, f"[{TAG}] one").outcome == REFUSED


def test_a_draft_is_left_to_whoever_writes_it(server, eventually):
    at = server.agent()
    server.tmux("send-keys", "-t", at.pane, "-l", "please also")
    server.until_shown(at, "please also")
    assert server.deliver(at, f"[{TAG}] one").outcome == REFUSED
    server.type(at, " this")
    eventually(lambda: server.seen() == ["please also this"])


def test_copy_mode_is_left_alone(server):
    at = server.agent()
    server.tmux("copy-mode", "-t", at.pane)
    pasted = server.deliver(at, f"[{TAG}] one")
    assert pasted.outcome == REFUSED
    assert "copy mode" in pasted.evidence
    assert server.tmux("display-message", "-p", "-t", at.pane, "#{pane_mode}").strip() == "copy-mode"
    server.tmux("send-keys", "-t", at.pane, "-X", "cancel")
    assert server.deliver(at, f"[{TAG}] one").outcome == PROVEN


def test_a_dead_pane_refuses_and_the_server_survives(server, eventually):
    at = server.agent()
    expected = server.expected(at)
    server.tmux("set-option", "-w", "remain-on-exit", "on")
    server.type(at, "/exit")
    eventually(lambda: (pane := server.terminals.pane(at)) is not None and pane.is_dead)
    pasted = server.deliver(at, f"[{TAG}] one", expected)
    assert pasted.outcome == REFUSED
    assert "dead" in pasted.evidence
    assert server.terminals.paste(at, "x") is server.terminals.press_enter(at) is False
    assert server.terminals.pane(at) is not None
    assert server.tmux("list-buffers") == ""


def test_keys_that_would_reach_other_panes_too_are_not_pressed(server):
    at = server.agent()
    beside = server.tmux("split-window", "-d", "-t", at.pane, "-P", "-F", "#{pane_id}", "--", "cat").strip()
    server.tmux("set-option", "-w", "synchronize-panes", "on")
    assert "synchronize" in server.deliver(at, f"[{TAG}] one").evidence
    assert server.terminals.press_enter(at) is False
    server.tmux("set-option", "-w", "synchronize-panes", "off")
    assert server.deliver(at, f"[{TAG}] one").outcome == PROVEN
    assert (server.terminals.screen(PaneAddress(at.server, beside)) or "").strip() == ""


def test_a_pane_whose_input_is_off_refuses(server):
    at = server.agent()
    server.tmux("select-pane", "-d", "-t", at.pane)
    assert "switched off" in server.deliver(at, f"[{TAG}] one").evidence


def test_the_users_own_buffers_stay_as_they_are(server):
    at = server.agent()
    server.tmux("set-buffer", "mine")
    server.deliver(at, f"[{TAG}] one")
    assert server.tmux("show-buffer").strip() == "mine"


def test_a_line_pasted_by_somebody_who_was_killed_is_submitted_once(server, eventually):
    at = server.agent()
    line = f"[{TAG}] one"
    server.terminals.paste(at, line)
    eventually(lambda: composer_holds(server.terminals.screen(at) or "", TAG))
    pasted = server.deliver(at, line)
    assert pasted.outcome == PROVEN
    assert "pasted before" in pasted.evidence
    assert "before" in server.deliver(at, line).evidence
    eventually(lambda: server.seen() == [line])


def test_what_was_submitted_is_found_after_it_has_scrolled_away(server, eventually):
    at = server.agent(size=(80, 12))
    line = f"[{TAG}] one"
    assert server.deliver(at, line).outcome == PROVEN
    for number in range(12):
        server.type(at, f"later {number}")
    eventually(lambda: len(server.seen("turn-end")) == 13)
    eventually(lambda: not shows(server.terminals.screen(at) or "", TAG))
    again = server.deliver(at, line)
    assert again.outcome == PROVEN
    assert "history" in again.evidence
    assert server.seen().count(line) == 1


RAW = """
import os, sys, tty
tty.setraw(0)
print("\\x1b[?2004h>", flush=True)
data = os.read(0, 999)
while not data.endswith(b"\\x1b[201~"):  # it may come in pieces
    data += os.read(0, 999)
open(sys.argv[1], "wb").write(data)
"""


def test_the_line_arrives_as_a_paste_and_not_as_keys(server, eventually):
    got = server.folder / "got"
    at = server.open(sys.executable, "-c", RAW, str(got))
    server.until_shown(at, ">")
    assert server.terminals.paste(at, "one ü")
    eventually(lambda: got.exists() and got.read_bytes() == "\x1b[200~one ü\x1b[201~".encode())


DEAF = "import time, tty; tty.setraw(0); print('─' * 40 + '\\r\\n> \\r\\n' + '─' * 40, flush=True); time.sleep(600)"


def test_an_agent_that_hangs_proves_nothing(server, eventually):
    at = server.open(sys.executable, "-c", DEAF)
    eventually(lambda: (server.terminals.screen(at) or "").count("─" * 40) == 2)
    pasted = paste_line(server.terminals, FastClock(), at, server.expected(at), f"[{TAG}] one", TAG)
    assert pasted.outcome == UNPROVEN
    assert "not seen" in pasted.evidence


def test_a_server_that_hangs_is_refused_in_time(server):
    at = server.agent()
    pid = server.pid()
    quick = TmuxTerminals(seconds=0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert quick.pane(at) is None
        assert quick.screen(at) is None
        assert paste_line(quick, RealClock(), at, Expected(), f"[{TAG}] one", TAG).outcome == REFUSED
        assert quick.paste(at, "nobody can tell") is True
    finally:
        os.kill(pid, signal.SIGCONT)


def test_of_several_at_once_none_is_submitted_twice_or_proven_wrongly(server, eventually):
    """The caller lets one at a time at a pane. If several come all the same, lines may meet, but nobody lies."""
    at = server.agent()
    expected = server.expected(at)
    lines = {f"atm:0000000{number}": f"[atm:0000000{number}] line {number}" for number in range(4)}
    outcomes: dict[str, Pasted] = {}

    def deliver(tag: str) -> None:
        outcomes[tag] = paste_line(TmuxTerminals(PATIENT), SlowClock(), at, expected, lines[tag], tag)

    threads = [threading.Thread(target=deliver, args=(tag,)) for tag in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) == set(lines)
    for tag, pasted in outcomes.items():
        if pasted.outcome == PROVEN:
            eventually(lambda tag=tag: tag in " ".join(server.seen()))
        assert " ".join(server.seen()).count(tag) <= 1, pasted


def test_a_machine_that_speaks_ascii_changes_nothing(server, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TMUX", "/elsewhere,1,0")
    line = f"[{TAG}] 日本語 é"
    at = server.agent()
    assert server.deliver(at, line).outcome == PROVEN
    server.until_seen(line)
    assert "日本語" in (server.terminals.screen(at) or "")


def test_the_default_server_is_not_the_one_that_we_happen_to_run_in(server, monkeypatch):
    at = server.agent()
    monkeypatch.setenv("TMUX", f"{at.server},1,0")
    monkeypatch.setenv("TMUX_TMPDIR", str(server.folder))
    assert server.terminals.pane(PaneAddress("", at.pane)) is None
    assert server.terminals.paste(PaneAddress("", at.pane), "x") is False


@proves("R000-headless-01")
def test_without_tmux_there_are_no_panes(server, monkeypatch):
    at = server.agent()
    monkeypatch.setenv("PATH", "/nowhere")
    terminals = TmuxTerminals()
    assert terminals.pane(at) is None
    assert terminals.screen(at) is terminals.written(at) is terminals.history(at) is None
    assert terminals.paste(at, "x") is terminals.press_enter(at) is False
    assert paste_line(terminals, RealClock(), at, Expected(), f"[{TAG}] one", TAG).outcome == REFUSED


class TestProcessesInFront:
    def test_the_leader_comes_first(self, server, eventually):
        at = server.open("sh", "-c", "sleep 60 | sleep 61")
        eventually(lambda: len((server.terminals.pane(at)).foreground) == 3)
        assert server.terminals.pane(at).foreground[0].startswith("sh -c")

    def test_a_job_of_a_shell_is_in_front_of_it(self, server, eventually):
        at = server.shell()
        assert [line.split()[0] for line in server.terminals.pane(at).foreground] == ["bash"]
        server.type(at, "sleep 60")
        eventually(lambda: server.terminals.pane(at).foreground == ("sleep 60",))

    @needs("ps")
    def test_ps_tells_the_same_as_proc(self, server):
        at = server.agent()
        tty = server.tmux("display-message", "-p", "-t", at.pane, "#{pane_tty}").strip()
        assert _foreground_by_ps(tty) == server.terminals.pane(at).foreground
        assert _foreground_by_ps("/dev/nowhere") == ()


class TestWhereAmI:
    def test_the_environment_of_a_pane_names_it(self, server, eventually):
        at = server.open("sh", "-c", f"cd {server.folder}; env > half; mv half env; exec cat")
        eventually((server.folder / "env").exists)
        pairs = re.findall(r"^(\w+)=(.*)$", (server.folder / "env").read_text(), re.MULTILINE)
        assert pane_of(dict(pairs)) == at

    @pytest.mark.parametrize(
        ("tmux", "pane"),
        [
            ("", "%1"),
            ("/tmp/s,1,0", ""),
            ("relative,1,0", "%1"),
            ("/tmp/s,1,0", "1"),
            ("/tmp/s,1,0", "%1;kill-server"),
            ("/tmp/s,1,0", "%١"),
            ("/tmp/\x1b[31m,1,0", "%1"),
            ("/tmp/a\nb,1,0", "%1"),
        ],
    )
    def test_anything_odd_is_no_pane(self, tmux, pane):
        assert pane_of({"TMUX": tmux, "TMUX_PANE": pane}) is None
        assert pane_of({}) is None

    def test_a_comma_in_the_path_stays_in_the_path(self):
        assert pane_of({"TMUX": "/tmp/a,b/s,12,0", "TMUX_PANE": "%3"}) == PaneAddress("/tmp/a,b/s", "%3")


class TestFaintText:
    @pytest.mark.parametrize(
        "drawn",
        [
            "\x1b[2mfaint\x1b[0m",
            "\x1b[1;2mfaint\x1b[22m",
            "\x1b[90mfaint\x1b[39m",
            "\x1b[38;5;244mfaint\x1b[m",
            "\x1b[38;2;120;120;122mfaint\x1b[0m",
            "\x1b[38:2:120:120:120mfaint\x1b[0m",
            "\x1b[7mf\x1b[27m\x1b[2maint\x1b[0m",
        ],
    )
    def test_what_is_faint_becomes_blank_and_keeps_its_place(self, drawn):
        assert without_faint(f"> {drawn}!\n") == "> " + " " * 5 + "!\n"

    @pytest.mark.parametrize(
        "drawn",
        [
            "\x1b[1mplain\x1b[0m",
            "\x1b[31mplain\x1b[39m",
            "\x1b[38;5;2mplain\x1b[0m",
            "\x1b[38;2;255;255;255mplain\x1b[0m",
            "\x1b[48;5;244mplain\x1b[49m",
            "\x1b[48;2;120;120;120mplain\x1b[49m",
            "\x1b[2m\x1b[0mplain",
            "\x1b]8;;http://a\x1b\\plain\x1b]8;;\x1b\\",
            "\x1b]8;;http://a\x07plain",
            "\x0eplain\x0f",
            "plain\x1b",
            "plain\x1b[",
            "plain\x1b[38",
            "plain\x1b[38;5m",
        ],
    )
    def test_everything_else_stays(self, drawn):
        assert without_faint(drawn) == "plain"
