"""
Ending the process of a plugin together with everything that it started.

A plugin's process leads a group of its own, so what it forks dies with it. What has left the group is found, on
Linux, by the mark that it carries in its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess

MARK = "ATM_PLUGIN_INSTANCE"
"""The variable that every process of one run of a plugin inherits; its value is unique to that run."""


def ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the whole group."""
    _signal(process, signal.SIGTERM)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole group. While the leader is not reaped, its number is surely its own."""
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        return  # all of it has ended; some systems say so by refusing


def kill_strays(mark: str) -> list[int]:
    """Kill whatever still runs with this mark in its environment; the numbers of these processes. Linux only."""
    return [pid for pid in _processes() if mark and pid not in (1, os.getpid()) and _kill_if_it_carries(pid, mark)]


def _kill_if_it_carries(pid: int, mark: str) -> bool:
    """By a handle that is taken before the environment is read: the number may be used again at any moment."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False  # gone
    try:
        if not _carries(pid, mark):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _carries(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{MARK}={mark}".encode() in file.read().split(b"\0")
    except OSError:
        return False  # gone, or another user's
