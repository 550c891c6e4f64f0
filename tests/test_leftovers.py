"""The check on what tests leave behind: it fails who leaves something, names it, and lets everybody else be."""

from __future__ import annotations

import contextlib
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
import os, signal, socket, subprocess, tempfile, threading, time
import pytest, tests.leftovers

kept = []
"""

LEFT = {
    "a_process": ('kept.append(subprocess.Popen(["sleep", "600"]))', r"process \d+: sleep 600"),
    "a_process_of_a_shell": (
        'subprocess.run(["sh", "-c", "sleep 600 &"], check=True)',
        r"process \d+: .*sleep 600",
    ),
    "a_process_of_the_system": ('os.system("sleep 600 &")', r"process \d+: .*sleep 600"),
    "a_spawned_process": ("os.posix_spawnp('sleep', ['sleep', '600'], os.environ)", r"process \d+: sleep 600"),
    "a_fork": ("os.fork() or (time.sleep(600), os._exit(0))", r"child \d+, ended or not, was not waited for"),
    "a_child_that_has_ended": ("os.fork() or os._exit(0)", r"child \d+, ended or not, was not waited for"),
    "a_thread": (
        "threading.Thread(target=threading.Event().wait, daemon=True, name='lingers').start()",
        "thread lingers",
    ),
    "a_socket": ("kept.append(socket.socket())", r"an open socket:\[\d+\]"),
    "a_temporary_folder": ("tempfile.mkdtemp(prefix='stays-')", r"/stays-\w+"),
    "a_variable": ("os.environ['LEFT'] = '1'", "the environment is another"),
    "a_folder": ("os.chdir('/')", "the folder is another"),
    "a_handler": ("signal.signal(signal.SIGHUP, signal.SIG_IGN)", "the handler of a signal is another"),
}
"""By its name, what a test does and does not undo, and what is said of it."""


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
    leaving = "".join(f"def test_{name}():\n    {does}\n" for name, (does, _) in LEFT.items())
    code, said = ran(tmp_path, f"tests.leftovers.PATIENCE = 0.5  # none of it ends by itself\n{leaving}")
    for pid in re.findall(r"(?:process|child) (\d+)", said):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)

    assert code == pytest.ExitCode.TESTS_FAILED
    _, *parts = re.split(r"_ ERROR at teardown of test_(\w+) _", said)
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    assert told.keys() == LEFT.keys(), said
    for name, (_, words) in LEFT.items():
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
