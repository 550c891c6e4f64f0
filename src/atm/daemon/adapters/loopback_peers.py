"""
Which user of this machine is at the other end of a TCP connection? The system's table of sockets says so (Linux).

Elsewhere there is no table, and all users of the machine have one address.
"""

from __future__ import annotations

import os
import socket
import sys

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = b"01"
_TRIES = 2
"""The table is not read at one moment: a row can be missed while others come and go."""

Address = tuple[str, int]


def has_table() -> bool:
    return os.path.exists(_TABLES[0])


def user_at(peer: Address, here: Address) -> int | None:
    """The user whose process has the socket at `peer`; None if it is closed already, or the system does not tell."""
    for _ in range(_TRIES):
        for table in _TABLES:
            found = user_in(_read(table), peer, here)
            if found is not None:
                return found
    return None


def user_in(table: bytes, peer: Address, here: Address) -> int | None:
    """
    By the row of the peer's own socket. A socket that its process has closed belongs to user 0 in the table, so that
    number counts only while the connection is open.
    """
    for wide in (False, True):
        try:
            row = b" %b %b " % (_spelled(peer, wide=wide), _spelled(here, wide=wide))
        except OSError:
            return None
        at = table.find(row)  # not line by line: the table has a row for each socket of the machine
        words = table[at + len(row) :].partition(b"\n")[0].split() if at >= 0 else []
        if len(words) > 4 and words[4].isdigit() and (words[0] == _ESTABLISHED or int(words[4])):
            return int(words[4])
    return None


def _spelled(address: Address, *, wide: bool) -> bytes:
    """As the table spells it: the number as this machine stores it. `wide`: as an address of version 6."""
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    mapped = int.from_bytes(b"\0\0\xff\xff", sys.byteorder)
    prefix = f"{0:016X}{mapped:08X}" if wide else ""
    return f"{prefix}{number:08X}:{address[1]:04X}".encode()


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
