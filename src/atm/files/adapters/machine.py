"""The real clock, chance, who may interrupt us, and what we are on this machine."""

from __future__ import annotations

import os
import time
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from atm.files.formats.layout import Layout

    class Readable(Protocol):
        def fileno(self) -> int: ...


GRACE = 2.0
"""Seconds that work may go on after somebody asked us to end: a write takes milliseconds, and waiting none of them."""


class Interruptions:
    """
    Ctrl-C, SIGTERM and SIGHUP, noticed where this process waits and nowhere else (D27): `with interruptions: wait`.

    A signal in the middle of a write would leave a lock behind, and one between a change and its report a change that
    nobody heard of. So what was begun is finished first. Whoever waits, for a lock, for mail, or for somebody who reads
    what we print, is interrupted at once, and what neither ends nor waits after `GRACE` wherever it is. An interruption
    is a KeyboardInterrupt with the number of the signal. Nothing of this is so before somebody says `listen`.
    """

    __slots__ = ("_always", "_has_alarm", "_is_waiting", "_last", "_listener", "caught")

    def __init__(self) -> None:
        self.caught = 0
        """The signal that came while nobody waited; 0 for none."""
        self._listener = 0
        """The thread that is interrupted, which Python makes the main one."""
        self._is_waiting = self._always = self._has_alarm = False
        self._last = 0

    def listen(self) -> None:
        """From now on. What is ignored, as `nohup` and shells without job control want it, stays ignored."""
        import _signal  # type: ignore[import-not-found]  # `signal` builds enumerations for a millisecond

        if not hasattr(_signal, "setitimer"):
            return  # Windows: Ctrl-C raises KeyboardInterrupt wherever it comes
        self._listener = get_ident()
        for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, self.notice)

    def always(self) -> None:
        """For whoever does nothing but wait and carry."""
        self._is_waiting = self._always = True

    def forget(self) -> int:
        """The signal that came, which now counts as none: for whoever is about to end in good order, or to report."""
        number, self.caught = self.caught, 0
        self._calm()
        return number

    def __enter__(self) -> None:
        if self._listener == get_ident():
            self._is_waiting = True
            if self.caught:
                self._interrupt()

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._listener == get_ident():
            self._is_waiting = self._always
            if kind is KeyboardInterrupt and error is not None and not error.args:
                error.args = (self._last,)  # a library noticed ours, and raised its own

    def until_readable(self, file: Readable) -> None:
        """
        Until there is something to read, or a signal. A plain read sleeps through the signal that came just before it:
        Python looks for signals between its instructions, and the system wakes nobody who was not asleep yet.
        """
        with self:
            if self._listener != get_ident():
                return
            import _signal
            from select import select

            woken, waker = os.pipe()
            awaited: list[Readable | int] = [file, woken]
            try:
                os.set_blocking(waker, False)
                before = _signal.set_wakeup_fd(waker)
                try:
                    while file not in select(awaited, [], [])[0]:
                        os.read(woken, 4096)  # a signal that interrupts nobody
                finally:
                    _signal.set_wakeup_fd(before)
            finally:
                os.close(woken)
                os.close(waker)

    def notice(self, number: int, _frame: object = None) -> None:
        """A signal has come: the moment at which we wait is now, or comes."""
        import _signal

        self.caught = number
        if self._is_waiting:
            self._interrupt()
        elif not _signal.getitimer(_signal.ITIMER_REAL)[0]:  # a hook has a limit of its own
            self._has_alarm = True
            _signal.signal(_signal.SIGALRM, lambda *_: self._interrupt())
            _signal.setitimer(_signal.ITIMER_REAL, GRACE)

    def _interrupt(self) -> None:
        self._is_waiting, self._last = self._always, self.forget()
        raise KeyboardInterrupt(self._last)

    def _calm(self) -> None:
        if self._has_alarm:
            import _signal

            self._has_alarm = False
            _signal.setitimer(_signal.ITIMER_REAL, 0.0)


interruptions = Interruptions()
"""Of this process: there is one set of signals."""


class RealClock:
    """The machine's time."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        with interruptions:
            time.sleep(seconds)


class RealChance:
    """The system's randomness, without importing `uuid` or `random`."""

    __slots__ = ()

    def new_id(self) -> str:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40  # version 4, variant 1, as RFC 9562 has them
        raw[8] = raw[8] & 0x3F | 0x80
        digits = raw.hex()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def fraction(self) -> float:
        return int.from_bytes(os.urandom(4), "big") / 2**32


def host_name() -> str:
    """This machine's name, without importing `socket`."""
    uname = getattr(os, "uname", None)
    return uname().nodename if uname else os.environ.get("COMPUTERNAME", "localhost")


def login_name() -> str:
    """What this machine calls its user; empty if it does not know."""
    try:
        from pwd import getpwuid

        return getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return os.environ.get("USERNAME", "")


def find_layout(environment: Mapping[str, str]) -> Layout:
    """
    The three roots. `ATM_HOME` moves all of them; otherwise Claude Code's folder and the XDG ones are used.

    Raises NoHome where the environment names no place at all.
    """
    from atm.files.formats.layout import Layout

    sandbox = environment.get("ATM_HOME")
    if sandbox:
        root = _absolute(sandbox)
        return Layout(
            claude_root=f"{root}/.claude",
            config_root=f"{root}/.config/atm",
            state_root=f"{root}/.local/state/atm",
        )
    return Layout(
        claude_root=_absolute(environment.get("CLAUDE_CONFIG_DIR")) or f"{_home(environment)}/.claude",
        config_root=f"{_absolute(environment.get('XDG_CONFIG_HOME')) or _home(environment) + '/.config'}/atm",
        state_root=f"{_absolute(environment.get('XDG_STATE_HOME')) or _home(environment) + '/.local/state'}/atm",
    )


def _absolute(path: str | None) -> str:
    """An absolute path with forward slashes, which Windows understands too; empty stays empty."""
    return os.path.abspath(path).replace(os.sep, "/") if path else ""


def _home(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME") or environment.get("USERPROFILE")
    if not home:
        from atm.core.errors import NoHome

        raise NoHome("HOME is not set, so there is no folder to keep mail in", "set HOME, or ATM_HOME to any folder")
    return _absolute(home)


def program_on_path(name: str, path: str) -> str:
    """
    The real path of the program that a shell with this PATH starts under a name; empty if there is none. By hand: the
    permission hook asks, and `shutil` takes longer to import than this takes to look.
    """
    for folder in path.split(":"):
        found = f"{folder or '.'}/{name}"
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.realpath(found)
    return ""
