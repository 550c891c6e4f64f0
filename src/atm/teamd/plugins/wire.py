"""
What the host and the process of a plugin say to each other: one JSON object a line, `t` says what it is.

The plugin's side of the line is its standard input and output as it was started with, moved away before any code of
the plugin runs: what a plugin prints goes to its log and never onto the wire.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

# From the host.
START, STOP, EVENT, MAIL, NOTED = "start", "stop", "event", "mail", "noted"
# From the plugin's process.
HELLO, READY, BEAT, LOG, TOOK, ENTER, STRIKE, END = (
    *("hello", "ready", "beat", "log", "took"),
    *("enter", "strike", "end"),
)

LEVELS = ("debug", "info", "warn", "error")
LONGEST_LINE = 4 * 1024 * 1024
CHUNK = 64 * 1024
WINDOW = 64
"""Events that may be on their way to a plugin; the next ones wait in the host until it has taken some."""


def encode_line(kind: str, fields: Mapping[str, object]) -> bytes:
    return to_bytes(encode({"t": kind, **fields}) + "\n")


def decode_line(line: bytes) -> tuple[str, dict[str, Plain]] | None:
    """What a line says; None for anything else, such as what was printed before the streams were moved."""
    try:
        fields = decode_object(to_text(line))
    except NotJson:
        return None
    kind = fields.pop("t", None)
    return (kind, fields) if isinstance(kind, str) else None


def read_lines(fd: int) -> Iterator[bytes]:
    """Lines until the other side closes. One that never ends is cut, so that it cannot fill our memory."""
    rest = b""
    while chunk := read_some(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            rest = rest[:LONGEST_LINE]
    if rest:
        yield rest


def read_some(fd: int) -> bytes:
    """The next piece; nothing when the other side has closed."""
    try:
        return os.read(fd, CHUNK)
    except OSError:
        return b""


class LineWriter:
    """Writes lines to a pipe, each whole, from any thread. Whoever does not listen any more is not an error."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self.is_broken = False

    def send(self, kind: str, **fields: object) -> None:
        data = memoryview(encode_line(kind, fields))
        with self._lock:
            try:
                while data and not self.is_broken:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                self.is_broken = True


class Budget:
    """So many lines at once, and so many a second on average: what goes beyond is counted and not kept."""

    def __init__(self, burst: float, per_second: float, now: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._left = burst
        self._at = now
        self.dropped = 0

    def allows(self, now: float) -> bool:
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True

    def take_dropped(self) -> int:
        """How many were dropped since the caller last asked."""
        count, self.dropped = self.dropped, 0
        return count


def known_level(level: str) -> str:
    """A level of the daemon's log."""
    meant = {"warning": "warn", "critical": "error"}.get(level, level)
    return meant if meant in LEVELS else "info"


def text_of(fields: Mapping[str, Plain], key: str, longest: int = 8192) -> str:
    """A text that the other end sent: of the right type and bounded, or empty."""
    value = fields.get(key)
    return value[:longest] if isinstance(value, str) else ""
