"""What is forked is what Python would have started: its words, environment, folder, streams, signals and exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Atm
from tests.teamd.forked import Forked, Process, start, stop_and_wait

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def forked(atm: Atm, *words: str, **environment: str) -> Process:
    made = start(
        atm.command(*words),
        env={**atm.environment, **environment},
        cwd=atm.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert isinstance(made, Forked)
    return made


def said_by(process: Process, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write(stdin)
        process.stdin.close()
        out, err = process.stdout.read(), process.stderr.read()
    return process.wait(60), out, err


def test_it_says_and_ends_as_one_that_was_started(atm: Atm) -> None:
    atm.team()
    for words in (("teams", "list", "--json"), ("teams", "show", "nobody")):
        done = subprocess.run(
            atm.command(*words), env=atm.environment, cwd=atm.folder, capture_output=True, check=False
        )
        assert said_by(forked(atm, *words)) == (done.returncode, done.stdout, done.stderr)


def test_it_reads_what_it_is_given_in_its_own_environment_and_folder(atm: Atm) -> None:
    atm.team()
    code, _, err = said_by(forked(atm, "send", "bob", "-", ATM_IDENTITY="ann"), b"through a pipe")
    assert (code, err) == (0, b"")
    assert [(row["from"], row["text"]) for row in atm.rows("bob")] == [("ann", "through a pipe")]
    (Path(atm.folder) / ".atm.toml").write_text("[core\n")
    assert b".atm.toml" in said_by(forked(atm, "send", "bob", "hello", ATM_IDENTITY="ann"))[2]


def test_a_signal_stops_and_ends_it(atm: Atm) -> None:
    process = forked(atm, "mcp", ATM_DAEMON_AUTOSTART="0")
    stop_and_wait(process)
    assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.kill()
    assert said_by(process)[0] == -signal.SIGKILL == process.returncode
    process.send_signal(signal.SIGTERM)  # nobody is hit who has its number now


def test_what_python_would_start_otherwise_is_started(atm: Atm) -> None:
    for command, environment in ((atm.command("version"), {"PYTHONPATH": "/nowhere"}), (["true"], {})):
        process = start(command, env={**atm.environment, **environment}, cwd=atm.folder)
        assert isinstance(process, subprocess.Popen)
        assert process.wait(60) == 0


def test_it_holds_nothing_of_the_others_open(atm: Atm) -> None:
    first, second = (forked(atm, "mcp", ATM_DAEMON_AUTOSTART="0") for _ in range(2))
    assert said_by(first)[0] == 0  # its input ends although another was forked after it
    assert {"0", "1", "2"} <= {*os.listdir(f"/proc/{second.pid}/fd")}
    assert said_by(second)[0] == 0
