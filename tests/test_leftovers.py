"""The check on what tests leave behind: it fails who leaves something, names it, and lets everybody else be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.leftovers import HAS_PROC

if not HAS_PROC:
    pytest.skip("children and sockets are looked for in /proc", allow_module_level=True)

REPOSITORY = Path(__file__).resolve().parents[1]

HEAD = """
import os, signal, socket, subprocess, tempfile, threading
import pytest, tests.leftovers

tests.leftovers.PATIENCE = 0.5
kept = []
"""

LEAVING = {
    "a_process": 'kept.append(subprocess.Popen(["sleep", "60"]))',
    "a_process_that_is_nobodys_child": 'os.system("sleep 60 >/dev/null 2>&1 &")',
    "a_process_of_a_shell": 'subprocess.run(["sh", "-c", "sleep 60 >/dev/null 2>&1 &"], check=True)',
    "a_fork": "os.fork() or os.execvp('sleep', ['sleep', '60'])",
    "a_child_that_nobody_waited_for": "os.fork() or os._exit(0)",
    "a_thread": "threading.Thread(target=threading.Event().wait, daemon=True, name='lingers').start()",
    "a_socket": "kept.append(socket.socket())",
    "a_temporary_folder": "tempfile.mkdtemp(prefix='stays-')",
    "a_variable": "os.environ['LEFT'] = '1'",
    "a_folder": "os.chdir('/')",
    "a_handler": "signal.signal(signal.SIGHUP, signal.SIG_IGN)",
}
"""By its name, what a test does and does not undo."""

SAID = {
    "a_process": r"process \d+: sleep 60",
    "a_process_that_is_nobodys_child": r"process \d+: sleep 60",
    "a_process_of_a_shell": r"process \d+: sleep 60",
    "a_fork": r"process \d+: sleep 60",
    "a_child_that_nobody_waited_for": r"child \d+, ended or not, was not waited for",
    "a_thread": "thread lingers",
    "a_socket": r"an open socket:\[\d+\]",
    "a_temporary_folder": r"/stays-\w+",
    "a_variable": "the environment is another",
    "a_folder": "the folder is another",
    "a_handler": "the handler of a signal is another",
}


def ran(folder: Path, tests: str, *words: str) -> tuple[int, str]:
    """Exit code of pytest on these tests and what it says, started as `nohup` and a shell's `&` would."""
    (folder / "test_some.py").write_text(HEAD + tests)
    plain = ("-p", "tests.leftovers", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder), "-q")
    with open(folder / "out", "w") as out:  # no pipe, which what is left would keep open
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plain, *words, str(folder / "test_some.py")],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(REPOSITORY)},
            stdout=out,
            stderr=out,
            preexec_fn=_ignore_what_a_background_ignores,
            check=False,
        )
    return done.returncode, (folder / "out").read_text()


def _ignore_what_a_background_ignores() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def test_whoever_leaves_something_behind_fails_and_it_is_named(tmp_path: Path) -> None:
    code, said = ran(tmp_path, "".join(f"def test_{name}():\n    {does}\n" for name, does in LEAVING.items()))
    for pid in re.findall(r"process (\d+): sleep 60", said):
        os.kill(int(pid), signal.SIGKILL)

    assert code == pytest.ExitCode.TESTS_FAILED
    told = dict(re.findall(r"_ ERROR at teardown of test_(\w+) _+\n([^_]*(?:_(?!_)[^_]*)*)", said))
    assert told.keys() == LEAVING.keys(), said
    for name, words in SAID.items():
        assert re.search(words, told[name]), f"{name}: {told[name]}"


def test_what_a_test_clears_away_is_no_trace_nor_what_a_wider_fixture_shares(tmp_path: Path) -> None:
    code, said = ran(
        tmp_path,
        """
@pytest.fixture(scope="module")
def shared():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()

def test_first(shared): assert shared.poll() is None
def test_second(shared): assert shared.poll() is None
def test_own_process(): subprocess.run(["true"], check=True)
def test_own_folder():
    with tempfile.TemporaryDirectory(): pass
def test_slow_to_end():
    thread = threading.Timer(0.1, lambda: None)
    thread.start()
""",
    )

    assert code == 0, said
    assert "5 passed" in said


def test_a_signal_that_the_background_ignores_is_a_persons_again(tmp_path: Path) -> None:
    code, said = ran(
        tmp_path,
        """
def test_here(): assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
def test_in_children():
    with subprocess.Popen(["sleep", "60"]) as child:
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == -signal.SIGINT
""",
    )

    assert code == 0, said
    assert "2 passed" in said


@pytest.mark.parametrize("runners", [0, 2])
def test_what_a_shared_fixture_leaves_for_good_is_told_at_the_end(tmp_path: Path, runners: int) -> None:
    code, said = ran(
        tmp_path,
        """
@pytest.fixture(scope="session")
def shared(): return tempfile.mkdtemp(prefix="for-good-")

def test_it(shared): assert os.path.isdir(shared)
""",
        f"-n{runners}",
    )

    assert code == pytest.ExitCode.TESTS_FAILED
    assert re.search(r"left in the temporary folder when all tests were over: for-good-\w+\n", said)
