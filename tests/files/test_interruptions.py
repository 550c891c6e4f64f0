"""Signals are noticed where a process waits. Each test is a process of its own: handlers are a process's one set."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

HEAD = """
import os, signal, sys, threading, time
from atm.files.adapters import machine
from atm.files.adapters.machine import RealClock, interruptions

def strike(number=signal.SIGTERM):
    os.kill(os.getpid(), number)

interruptions.listen()
"""


def said(program: str, prepare: Callable[[], object] | None = None) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=prepare,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_work_is_finished_and_the_next_wait_is_interrupted(name):
    program = f"""
strike(signal.{name})
print("done", interruptions.caught)
try:
    RealClock().sleep(300)
except KeyboardInterrupt as error:
    print("interrupted", *error.args, interruptions.caught)
RealClock().sleep(0)
print("once")
"""
    number = int(getattr(signal, name))
    assert said(program) == [f"done {number}", f"interrupted {number} 0", "once"]


def test_who_waits_is_interrupted_at_once():
    program = """
threading.Timer(0.05, strike).start()
try:
    RealClock().sleep(300)
except KeyboardInterrupt as error:
    print("interrupted", *error.args)
"""
    assert said(program) == ["interrupted 15"]


def test_what_neither_ends_nor_waits_is_interrupted_after_a_grace():
    program = """
machine.GRACE = 0.05
strike()
try:
    while True:
        pass
except KeyboardInterrupt as error:
    print("interrupted", *error.args)
"""
    assert said(program) == ["interrupted 15"]


def test_whoever_is_about_to_end_is_not_interrupted_any_more():
    program = """
machine.GRACE = 0.05
strike()
print(interruptions.forget(), interruptions.forget())
with interruptions:
    time.sleep(0.2)
print("to the end")
"""
    assert said(program) == ["15 0", "to the end"]


def test_a_limit_of_the_programs_own_is_left_as_it_is():
    program = """
signal.signal(signal.SIGALRM, lambda *_: print("its own"))
signal.setitimer(signal.ITIMER_REAL, 0.2)
machine.GRACE = 0.01
strike()
signal.pause()
"""
    assert said(program) == ["its own"]


def test_who_only_carries_is_interrupted_anywhere():
    program = """
interruptions.always()
try:
    strike()
    print("not here")
except KeyboardInterrupt as error:
    print("interrupted", *error.args)
"""
    assert said(program) == ["interrupted 15"]


def test_other_threads_wait_to_their_end():
    program = """
def wait():
    RealClock().sleep(0.05)
    print("waited")

strike()
thread = threading.Thread(target=wait)
thread.start()
thread.join()
"""
    assert said(program) == ["waited"]


def test_an_interruption_that_a_library_made_its_own_keeps_its_number():
    program = """
try:
    with interruptions:
        try:
            strike()
            time.sleep(300)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
except KeyboardInterrupt as error:
    print("interrupted", *error.args)
"""
    assert said(program) == ["interrupted 15"]


def test_what_is_ignored_stays_ignored():
    program = "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, signal.getsignal(signal.SIGTERM) == 0)"
    assert said(program, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) == ["True False"]


def test_nothing_is_changed_for_whoever_does_not_listen():
    program = HEAD.replace("interruptions.listen()", "RealClock().sleep(0)\nprint(signal.getsignal(signal.SIGTERM))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{signal.SIG_DFL!s}\n"


def test_a_signal_that_does_not_wake_the_system_call_ends_a_wait_for_input():
    """One that came just before the call; here another thread takes it, which wakes the sleeper just as little."""
    program = """
mine, theirs = os.pipe()

def take():
    time.sleep(0.05)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=take).start()
try:
    interruptions.until_readable(open(mine))
except KeyboardInterrupt as error:
    print("interrupted", *error.args)
"""
    assert said(program) == ["interrupted 15"]


def test_a_wait_for_input_ends_with_the_input_whatever_else_signals():
    program = """
mine, theirs = os.pipe()
signal.signal(signal.SIGUSR1, lambda *_: print("noticed", flush=True))

def write():
    time.sleep(0.05)
    strike(signal.SIGUSR1)
    time.sleep(0.05)
    os.write(theirs, b"x")

threading.Thread(target=write).start()
interruptions.until_readable(open(mine))
print("read")
"""
    assert said(program) == ["noticed", "read"]
