"""The real clock, chance, and what we are on this machine."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.formats.files.layout import Layout


class RealClock:
    """The machine's time."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
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


def find_layout(environment: Mapping[str, str]) -> Layout:
    """
    The three roots. `ATM_HOME` moves all of them; otherwise Claude Code's folder and the XDG ones are used.

    Raises NoHome where the environment names no place at all.
    """
    from atm.formats.files.layout import Layout

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
        from atm.domain.errors import NoHome

        raise NoHome("HOME is not set, so there is no folder to keep mail in", "set HOME, or ATM_HOME to any folder")
    return _absolute(home)
