"""`atm daemon …`: what each verb says and returns, with a daemon, without one, and when something is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.daemon.adapters.client import stop
from atm.daemon.adapters.seat import RunningDaemon, Seat, find_running, take_seat
from atm.files.adapters import disk
from atm.files.formats.times import from_iso

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="unix sockets and POSIX signals"),
]

SECONDS = 60
IN_A_HURRY = {"PYTHONPATH": ""}
"""With the program's own bounds, where a test is about a daemon that does not answer within them."""


@pytest.fixture(autouse=True)
def nothing_left(atm, layout) -> Iterator[None]:
    """Whatever a test started is ended with it."""
    yield
    end = time.monotonic() + SECONDS  # for one that is just starting, or just finding out that another one runs
    while (left := processes_of(atm.home)) and time.monotonic() < end:
        running = find_running(layout)
        if running is not None and running.pid in left:
            stop(layout, 15.0)
            if running.socket.startswith(f"{tempfile.gettempdir()}/atm-"):
                shutil.rmtree(os.path.dirname(running.socket), ignore_errors=True)
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert left == []


def processes_of(home: Path) -> list[int]:
    """Every process that works in this sandbox."""
    mark, found = f"ATM_HOME={home}".encode(), []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        try:
            if name.isdecimal() and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


def the_one(layout: Any) -> RunningDaemon:
    """The daemon of this home; there must be one."""
    running = find_running(layout)
    assert running is not None
    return running


@pytest.fixture
def started(crew) -> Any:
    """The program beside a daemon that runs."""
    crew("daemon", "start")
    return crew


class Lines:
    """What a program says, line by line as it comes: a wait for the next one has a bound."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def next(self, seconds: float = SECONDS) -> bytes:
        """Empty at the end."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            self.kill()
            raise AssertionError("it said nothing more") from None

    def kill(self) -> None:
        """And wait for our thread: whoever closes the pipe while it reads makes it fail."""
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Its exit code, when it has ended by itself."""
        code = self.process.wait(SECONDS)
        self._thread.join(SECONDS)
        return code


# Without one.


@pytest.mark.parametrize("words", [["daemon", "status"], ["daemon"], ["daemon", "stop"], ["daemon", "events"]])
def test_without_a_daemon_every_question_says_so_and_ends_with_three(crew, words):
    done = crew(*words, code=3)
    assert "no daemon runs for this home" in done.out + done.err


def test_without_a_daemon_programs_are_told_the_same(crew):
    assert crew("daemon", "status", "--json", code=3).json == {"action": "daemon status", "running": False}
    assert crew("daemon", "stop", "--json", code=3).json == {"action": "daemon stop", "outcome": "not running"}


@pytest.mark.parametrize("words", [["daemon", "logs"], ["logs"]])
def test_without_a_log_that_is_said_and_ends_with_three(crew, words):
    assert "the daemon has not run here" in crew(*words, code=3).err


def test_to_restart_what_does_not_run_starts_it(crew):
    assert crew("daemon", "restart", "--json").json["already"] is False
    crew("daemon", "status")


@pytest.mark.parametrize(
    "words", [["dance"], ["start", "now"], ["stop", "--seconds", "soon"], ["stop", "--seconds", "-1"], ["run", "--x"]]
)
def test_what_it_does_not_know_is_refused_without_starting_anything(crew, layout, words):
    assert crew("daemon", *words, code=1).err.startswith("error:")
    assert find_running(layout) is None


# With one.


def test_starting_says_who_runs_and_starting_again_says_that_it_did(crew, layout):
    first = crew("daemon", "start")
    pid = the_one(layout).pid
    assert first.out == f"the daemon runs: process {pid}\n"
    assert crew("daemon", "start").out == f"the daemon runs already: process {pid}\n"


@proves("R001-5.3-13")
def test_several_starts_at_once_make_one_daemon_and_all_say_which(crew, layout, eventually):
    starts = [crew.start("daemon", "start", "--json") for _ in range(8)]
    outs = [process.communicate(timeout=SECONDS) for process in starts]
    assert [process.returncode for process in starts] == [0] * 8, outs
    assert {json.loads(out)["pid"] for out, _ in outs} == {the_one(layout).pid}
    eventually(lambda: len(processes_of(crew.home)) == 1, SECONDS)


def test_its_status_shows_every_loop_to_people_and_to_programs(started, eventually):
    facts = started("daemon", "status", "--json").json
    names = [loop["name"] for loop in facts["loops"]]
    shown = started("daemon", "status").out
    assert {"spool", "reconcile", "retention", "silence", "escalation", "delivery"} <= set(names)
    assert all(name in shown for name in names)
    assert f"process {facts['pid']}" in shown
    assert (facts["action"], facts["running"], facts["answers"]) == ("daemon status", True, True)
    if Path("/proc/self/statm").exists():
        assert facts["memory"] > 1e6
    else:
        assert facts["memory"] is None


def test_stopping_ends_it_and_says_so(started, layout):
    pid = the_one(layout).pid
    assert started("daemon", "stop", "--json").json == {"action": "daemon stop", "outcome": "stopped"}
    assert processes_of(started.home) == []
    assert not os.path.exists(f"/proc/{pid}/cwd")


def test_one_that_does_not_react_is_killed_after_the_time_that_was_given(started, layout):
    pid = the_one(layout).pid
    os.kill(pid, signal.SIGSTOP)
    done = started("daemon", "stop", "--seconds", "0.2", "--json")
    assert done.json["outcome"] == "killed"
    assert find_running(layout) is None


def test_one_that_does_not_react_is_shown_as_one_that_does_not_answer(started, layout):
    pid = the_one(layout).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        shown = started("daemon", "status", code=1, env=IN_A_HURRY)
        assert f"process {pid}" in shown.out
        assert "does not answer" in shown.out
        facts = started("daemon", "status", "--json", code=1, env=IN_A_HURRY).json
        assert (facts["running"], facts["answers"], facts["pid"]) == (True, False, pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_mail_works_beside_one_that_does_not_react(started, layout):
    pid = the_one(layout).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        started("send", "ann", "hello", "--team", "crew", "--require-ack", env=IN_A_HURRY)
        assert len(started.rows("ann")) == 1
    finally:
        os.kill(pid, signal.SIGCONT)


def test_its_log_is_shown_to_people_and_to_programs(started):
    assert "started" in started("daemon", "logs").out
    lines = started("daemon", "logs", "--json", "--source", "daemon").json["lines"]
    assert lines[0]["text"] == "started"
    assert started("daemon", "logs", "--level", "error").out == ""


def test_the_log_can_be_followed(started):
    following = Lines(started.start("daemon", "logs", "--follow", "--json", "--for", "600"))
    assert json.loads(following.next())["text"] == "started"
    started("daemon", "restart")
    texts: list[str] = []
    while "stopped; left: nothing" not in texts:
        texts.append(json.loads(following.next())["text"])
    following.kill()


def test_events_are_told_one_by_one_as_they_happen_until_the_daemon_ends(started):
    listening = Lines(started.start("daemon", "events", "--kind", "message", "--team", "crew", "--json"))
    assert json.loads(listening.next()) == {"kind": "listening"}
    started("send", "ann", "hello", "--team", "crew")
    event = json.loads(listening.next())
    assert (event["kind"], event["team"], event["subject"]) == ("message.written", "crew", "ann")
    started("daemon", "stop")
    assert listening.next() == b""
    assert listening.end() == 0


WRITTEN = r"message\.written[^\n]*\n"
"""The whole line: a terminal may show its beginning first."""


def test_events_for_people_are_lines_that_do_nothing_to_a_terminal(started, on_terminal):
    terminal = on_terminal("daemon", "events", "--kind", "message")
    end = time.monotonic() + SECONDS
    while not re.search(WRITTEN, terminal.text):
        assert time.monotonic() < end
        started("send", "ann", "\x1b[31mred\x07", "--team", "crew", "--summary", "\x1b[31mred")
        _look(terminal)
    line = next(line for line in terminal.text.splitlines() if "message.written" in line)
    assert "ann@crew" in line
    assert "\x07" not in line
    assert "\x1b[31m" not in line


def _look(terminal: Any) -> None:
    """At what it shows by now."""
    end = time.monotonic() + 0.5
    try:
        terminal.read_until(lambda text: re.search(WRITTEN, text) or time.monotonic() > end, 1.0)
    except AssertionError:
        return


def test_whoever_interrupts_the_events_gets_the_code_of_an_interrupt(started, on_terminal):
    terminal = on_terminal("daemon", "events", "--json")
    terminal.read_until(lambda text: "listening" in text)
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until(lambda _: False)
    assert terminal.process.wait(SECONDS) == 130
    assert "Traceback" not in terminal.text


def test_events_of_a_daemon_whose_socket_is_gone_are_a_clear_error(started, layout):
    running = the_one(layout)
    os.kill(running.pid, signal.SIGSTOP)  # or it would make it again
    os.unlink(running.socket)
    done = started("daemon", "events", code=1)
    os.kill(running.pid, signal.SIGCONT)
    assert done.err.startswith("error:")
    assert "daemon" in done.err


# On a terminal, and without one.


def test_it_outlives_the_terminal_that_started_it(crew, on_terminal, layout):
    on_terminal("daemon", "start").read_until(lambda text: "process" in text)
    running = find_running(layout)
    assert running is not None
    assert os.getsid(running.pid) == running.pid
    on_terminal("daemon", "status").read_until(lambda text: "delivery" in text)


def test_in_the_foreground_it_says_that_it_runs_and_ends_on_control_c(crew, on_terminal, layout, eventually):
    terminal = on_terminal("daemon", "run")
    eventually(lambda: find_running(layout) is not None, SECONDS)
    terminal.process.send_signal(signal.SIGINT)
    eventually(lambda: find_running(layout) is None, SECONDS)
    terminal.read_until(lambda _: False)
    assert "Traceback" not in terminal.text
    assert terminal.process.wait(SECONDS) == 0


def test_it_starts_from_a_folder_that_is_gone(crew, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "$@"', "sh", *crew.command("daemon", "start")]
    done = subprocess.run(command, env=crew.environment, capture_output=True, timeout=SECONDS, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    crew("daemon", "status")


# What lies there from before.

STALE = {
    "of a process that is gone": {"pid": 2**22 + 7, "began": "1", "since": "now", "socket": "/nowhere", "version": "1"},
    "of another process with that number": {"pid": os.getpid(), "began": "1", "since": "now", "socket": "/nowhere"},
    "of the first process": {"pid": 1, "began": "0", "since": "\x1b[31m", "socket": "/nowhere"},
    "of nobody": {"pid": -1, "began": "", "socket": ""},
    "of a number that is none": {"pid": 10**30, "began": "1"},
}


@pytest.mark.parametrize("facts", STALE.values(), ids=STALE.keys())
def test_a_process_file_that_is_stale_is_nobody_and_is_taken_over(crew, layout, facts):
    folder = Path(layout.daemon)
    folder.mkdir(parents=True)
    (folder / "pid.json").write_text(json.dumps(facts))
    crew("daemon", "status", code=3)
    crew("daemon", "stop", code=3)
    crew("daemon", "start")
    crew("daemon", "status")


def test_a_folder_in_place_of_the_socket_is_a_clear_error(crew, layout, tmp_path, monkeypatch):
    socket_path = _socket_of(layout)
    Path(socket_path).mkdir(parents=True)
    try:
        done = crew("daemon", "start", code=1)
        assert "did not start" in done.err
        assert "Traceback" not in done.err
        assert "bug in atm" not in done.err
    finally:
        shutil.rmtree(os.path.dirname(socket_path))


def _socket_of(layout: Any) -> str:
    seat = take_seat(layout)
    assert isinstance(seat, Seat)
    seat.leave()
    return seat.socket


def test_a_file_in_place_of_the_state_folder_is_a_clear_error_for_every_verb(crew, layout):
    folder = Path(layout.daemon)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    for verb in ("start", "run", "restart"):
        done = crew("daemon", verb, code=1)
        assert str(folder) in done.err
        assert "bug in atm" not in done.err
    crew("daemon", "status", code=3)
    crew("daemon", "stop", code=3)
    crew("daemon", "logs", code=3)


def test_a_state_folder_that_may_not_be_read_is_a_clear_error(crew, layout, immutable):
    folder = Path(layout.daemon)
    folder.mkdir(parents=True)
    immutable(folder)
    done = crew("daemon", "start", code=1)
    assert "fix:" in done.err
    assert "bug in atm" not in done.err
    crew("daemon", "status", code=3)


def test_links_in_the_state_folder_are_not_followed(crew, layout, tmp_path):
    folder, target = Path(layout.daemon), tmp_path / "precious"
    folder.mkdir(parents=True)
    target.write_text("precious")
    for name in ("start.log", "lock", "pid.json.new", "log.jsonl"):
        (folder / name).symlink_to(target)
    for verb in ("start", "run"):
        crew("daemon", verb, code=None)
    assert target.read_text() == "precious"


def fill(path: Path) -> None:
    """Until the disk is full."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass


def test_a_full_disk_is_a_clear_error(crew, layout, tiny_disk):
    small = tiny_disk(Path(layout.state_root), "64k")
    fill(small / "full")
    try:
        refused = crew("daemon", "run", code=1)
        assert "No space" in refused.err
        assert "bug in atm" not in crew("daemon", "start", code=1).err
    finally:
        (small / "full").unlink()
    crew("daemon", "start")
    crew("daemon", "stop")


class Impostor:
    """Somebody who sits on the daemon's seat and answers everything with the same words."""

    def __init__(self, layout: Any, answer: bytes) -> None:
        seat = take_seat(layout)
        assert isinstance(seat, Seat)
        self._seat = seat
        self._answer = answer
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.bind(seat.socket)
        self._line.listen()
        seat.announce("99.0", "2026-11-15T09:00:00.000Z")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._line.accept()
            except OSError:
                return
            with client:
                client.recv(65_536)
                with contextlib.suppress(OSError):  # whoever asked has heard enough
                    client.sendall(self._answer)

    def close(self) -> None:
        self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self._thread.join(SECONDS)
        self._seat.leave()


ANSWERS = {
    "another version": b'{"v": 9, "id": "1", "ok": false, "error": {"code": "other", "message": "I speak 9"}}\n',
    "too slow": b'{"v": 1, "id": "1", "ok": false, "error": {"code": "too-slow", "message": "no answer"}}\n',
    "no JSON": b"hello\n",
    "no answer": b'{"v": 1}\n',
    "no object": b'{"v": 1, "id": "1", "ok": true, "result": 7}\n',
    "half of it": b'{"v": 1, "id": "1", "ok": true, "result": {}}\n',
    "nothing": b"",
    "a line without an end": b"x" * (2 << 20),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("verb", ["status", "events"])
def test_a_daemon_that_answers_strangely_is_an_error_in_words(crew, layout, answer, verb):
    impostor = Impostor(layout, answer)
    try:
        done = crew("daemon", verb, code=None)
    finally:
        impostor.close()
    assert done.code in ((0, 1, 3) if verb == "events" else (0, 1))
    assert "bug in atm" not in done.err, done.err


def test_a_refusal_of_the_daemon_is_told_with_its_reason(crew, layout):
    impostor = Impostor(layout, ANSWERS["another version"])
    try:
        done = crew("daemon", "status", code=1)
    finally:
        impostor.close()
    assert "I speak 9" in done.out + done.err


# As a service.


def test_the_unit_is_shown_and_not_written(crew):
    shown = crew("daemon", "install", "--dry-run")
    facts = crew("daemon", "install", "--dry-run", "--json").json
    assert (facts["action"], facts["dry_run"]) == ("daemon install", True)
    assert facts["text"].strip() in shown.out
    assert ("<string>run</string>" if sys.platform == "darwin" else "daemon run") in facts["text"]
    assert str(crew.home) in facts["text"]
    assert not Path(facts["path"]).exists()


# Started by whoever needs it.


@proves("R001-6.2-27")
def test_a_feature_that_needs_it_starts_it(crew, layout, eventually):
    crew("send", "ann", "hello", "--team", "crew", "--require-ack")
    eventually(lambda: find_running(layout) is not None, SECONDS)
    assert len(crew.rows("ann")) == 1


@proves("R001-6.2-27")
def test_ten_at_once_that_need_it_start_one(crew, layout, eventually):
    sends = [crew.start("send", "ann", f"{n}", "--team", "crew", "--require-ack") for n in range(10)]
    for process in sends:
        _, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, err
    eventually(lambda: find_running(layout) is not None, SECONDS)
    running = the_one(layout)
    eventually(lambda: processes_of(crew.home) == [running.pid], SECONDS)
    assert len(crew.rows("ann")) == 10
    assert from_iso(running.since) is not None


@pytest.mark.parametrize("how", ["variable", "setting", "dry run", "wrong", "plain"])
def test_it_is_not_started_where_that_is_forbidden_or_nobody_needs_it(crew, configure, layout, how):
    if how == "setting":
        configure(daemon={"autostart": False})
    words = ["send", "nobody" if how == "wrong" else "ann", "hello", "--team", "crew"]
    words += ["--dry-run"] if how == "dry run" else []
    words += ["--require-ack"] if how != "plain" else []
    crew(*words, code=1 if how == "wrong" else 0, env={"ATM_DAEMON_AUTOSTART": "0"} if how == "variable" else None)
    assert find_running(layout) is None
    assert processes_of(crew.home) == []


def test_mail_goes_out_although_the_daemon_cannot_be_started(crew, layout):
    folder = Path(layout.daemon)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    done = crew("send", "ann", "hello", "--team", "crew", "--require-ack")
    assert "the daemon could not be started" in done.err
    assert len(crew.rows("ann")) == 1


def test_whoever_started_it_leaves_it_neither_a_locked_file_nor_an_open_pipe(crew, layout, eventually):
    """A script that reads all that a send says must not wait for the daemon's end."""
    process = crew.start("send", "ann", "hello", "--team", "crew", "--require-ack")
    out, _ = process.communicate(timeout=SECONDS)
    assert out
    eventually(lambda: find_running(layout) is not None, SECONDS)
    with open(f"{layout.daemon}/lock", "rb+") as file:
        assert not disk.try_lock(file.fileno())


@pytest.fixture
def held(crew, layout, tmp_path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A start whose daemon is held back where it imports: it has no seat yet, and no file says that it runs."""
    gate, come = tmp_path / "gate", tmp_path / "come"
    gate.mkdir()
    os.mkfifo(gate / "open")
    (gate / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.argv[-2:] == ['daemon', 'run'] or sys.orig_argv[-2:] == ['daemon', 'run']:\n"
        f"    open({str(come)!r}, 'w').close()\n"
        f"    open({str(gate / 'open')!r}).read()\n"
    )
    starter = crew.start("daemon", "start", env={"PYTHONPATH": str(gate), "ATM_DAEMON_AUTOSTART": "1"})
    end = time.monotonic() + SECONDS
    while not come.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert find_running(layout) is None
    yield starter, gate / "open"
    starter.send_signal(signal.SIGCONT)
    starter.communicate(timeout=SECONDS)


def test_stopping_waits_for_one_that_is_just_starting(crew, held):
    starter, gate = held
    stopper = crew.start("daemon", "stop", "--json")
    with pytest.raises(subprocess.TimeoutExpired):
        stopper.wait(1)
    with open(gate, "w"):
        pass  # it goes on
    out, err = stopper.communicate(timeout=SECONDS)
    assert json.loads(out)["outcome"] == "stopped", err
    assert {*processes_of(crew.home)} <= {starter.pid}  # the command that started it may still be ending


def test_a_start_whose_daemon_is_stopped_meanwhile_says_so(crew, held):
    """The command that starts it is held, too, so that it finds the daemon gone and has never heard an answer."""
    starter, gate = held
    starter.send_signal(signal.SIGSTOP)
    stopper = crew.start("daemon", "stop", "--json")
    with open(gate, "w"):
        pass
    assert json.loads(stopper.communicate(timeout=SECONDS)[0])["outcome"] == "stopped"
    starter.send_signal(signal.SIGCONT)
    _, err = starter.communicate(timeout=SECONDS)
    assert starter.returncode == 1
    said = " ".join(err.decode().split())
    assert "the daemon did not start: it was stopped while it started, by `atm daemon stop`" in said
    assert "without a word" not in said
    crew("daemon", "start")


def test_a_note_of_a_start_that_was_killed_keeps_nobody_waiting(crew, layout):
    Path(layout.daemon).mkdir(parents=True)
    for text in ("", "0", "-1", "x", "1" * 30, str(2**22 + 1)):
        (Path(layout.daemon) / "starting").write_text(text)
        assert crew("daemon", "stop", "--json", code=3).json["outcome"] == "not running"
