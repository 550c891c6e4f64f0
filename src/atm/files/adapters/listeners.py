"""
Whose is a server of this machine? By the sockets that the system says are open, where it does (Linux).

An address alone proves nothing: OpenCode names port 4096 also where it does not listen, and another agent may listen
there, which knows the same sessions, because they lie in one folder.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = b"0A"


def listener_among(pids: Iterable[int], url: str) -> int | None:
    """The first of these processes that listens at the port of this address; None if none is seen to."""
    sockets = _listening_at(_port_of(url))
    return next((pid for pid in pids if sockets & _sockets_of(pid)), None) if sockets else None


def _port_of(url: str) -> int:
    import urllib.parse

    try:
        return urllib.parse.urlsplit(url).port or 80
    except ValueError:
        return 0


def _listening_at(port: int) -> set[str]:
    """The sockets, as the links in a process's folder name them."""
    wanted, found = f":{port:04X}".encode(), set()
    for table in _TABLES:
        try:
            with open(table, "rb") as file:
                rows = [row.split() for row in file.readlines()[1:]]
        except OSError:
            continue
        found |= {
            f"socket:[{row[9].decode()}]"
            for row in rows
            if len(row) > 9 and row[3] == _LISTENING and row[1].endswith(wanted)
        }
    return found


def _sockets_of(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    try:
        return {_link(f"{folder}/{name}") for name in os.listdir(folder)}
    except OSError:
        return set()  # it has ended, or is another user's


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
