"""Which processes a signal has stopped: told by the kernel on Linux, by `ps` elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from atm.files.adapters.processes import suspended_among

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen(["sleep", "600"])
    yield made
    made.kill()
    made.wait()


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # returns when it has stopped


@pytest.mark.parametrize("has_proc", [True, False])
def test_a_stopped_process_is_told_from_one_that_sleeps(sleeper, monkeypatch, has_proc: bool) -> None:
    if not has_proc:
        real = os.path.isdir
        monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc/self" and real(path))
    asked = [os.getpid(), sleeper.pid, 0, -1]
    assert suspended_among(asked) == set()
    stop(sleeper)
    assert suspended_among(asked) == {sleeper.pid}
    sleeper.send_signal(signal.SIGCONT)
    os.waitpid(sleeper.pid, os.WCONTINUED)
    assert suspended_among(asked) == set()


def test_what_cannot_be_told_is_no_suspension() -> None:
    assert suspended_among([]) == set()
    assert suspended_among([2**22 + 1]) == set()
