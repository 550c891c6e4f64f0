"""
Which lines of the watched modules run in a test, in whatever process.

A copy of this file lies beside the Python of each copy of the project and is loaded when a process starts there, so
that also `atm` started by a test is followed, whatever was left of its environment. Each line is written down the
moment it first runs: tests kill processes, and what those ran counts too. It imports no more than it must, because
everything that a process under test imports could change what the test sees.
"""

from __future__ import annotations

import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any

    Tracer = Callable[[FrameType, str, Any], Any]

NOTES = os.path.join(sys.prefix, "notes")
WATCHED = os.path.join(NOTES, "watched")
"""The absolute paths of the modules, one in each line."""
CURRENT = os.path.join(NOTES, "current")
"""The path to which the lines of the present test go. Not there: nobody wants to know."""

OF_A_FUNCTION = 0x1
"""`inspect.CO_OPTIMIZED`: what runs at import, of modules and classes, is not mutated and would reach everything."""

_open, _write, _close = os.open, os.write, os.close  # tests put other functions at their places


def follow_current() -> None:
    """Write each line that first runs from now on as `module:line`, the module as its number in the list."""
    try:
        notes = _read(CURRENT)
        numbers = {name: number for number, name in enumerate(_read(WATCHED).splitlines())}
    except OSError:
        stop_following()
        return
    unseen: dict[CodeType, set[int]] = {}

    def on_call(frame: FrameType, event: str, argument: object) -> Tracer | None:
        code = frame.f_code
        number = numbers.get(code.co_filename)
        if number is None or not code.co_flags & OF_A_FUNCTION:
            return None
        if code not in unseen:
            unseen[code] = {line for _, _, line in code.co_lines() if line}
            _note(notes, number, code.co_firstlineno, unseen[code])
        # Generated tests call a function thousands of times: one that was seen whole is not looked at any more.
        return _on_line(notes, number, unseen[code]) if unseen[code] else None

    threading.settrace(on_call)
    sys.settrace(on_call)


def stop_following() -> None:
    sys.settrace(None)
    threading.settrace(None)


def _on_line(notes: str, number: int, rest: set[int]) -> Tracer:
    def on_line(frame: FrameType, event: str, argument: object) -> Tracer:
        if event == "line" and frame.f_lineno in rest:
            _note(notes, number, frame.f_lineno, rest)
        return on_line

    return on_line


def _note(notes: str, number: int, line: int, rest: set[int]) -> None:
    """Opened for each line: of a file that stays open, a test may close the number, and somebody else get it."""
    rest.discard(line)
    try:
        fd = _open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        _write(fd, b"%d:%d\n" % (number, line))
        _close(fd)
    except OSError:
        pass  # a test took all descriptors away, or our process's right to files


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def follow_from_the_start() -> None:
    """What a starting process does. A server that forks for one test after another follows each one's own."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow_current)
    follow_current()
