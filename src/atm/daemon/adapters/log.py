"""
The daemon's log: one JSON object a line, without secrets, in files that are turned over before they grow large.

Writing never raises and never waits for another process: what the disk refuses is counted, and the next line that goes
through says how many are missing. `turned_file` says how several processes write at once.
"""

from __future__ import annotations

import os
import stat
import threading
from contextlib import contextmanager

from atm.core.redaction import CUT, redact, redact_fields
from atm.events.adapters.turned_file import KEPT, LARGEST_FILE, TurnedFile
from atm.files.adapters.disk import PRIVATE_FILE, RealDisk, make_private, try_lock
from atm.files.formats.json_record import encode
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.core.plain import Plain
    from atm.files.ports.clock import Clock

    Record = dict[str, Plain]

LEVELS = ("debug", "info", "warn", "error")

LARGEST_LINE = 64 << 10

_SIZES = ((24_000, 2_000), (6_000, 200), (2_000, 0))
"""Characters of the text and of each field, in the order in which a line that is too long tries them."""

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link could lead anywhere; a pipe in the log's place would hold us up."""

_NAMES = {"warning": "warn", "critical": "error", "fatal": "error"}
_OURS = ("v", "ts", "level", "source", "text", "pid", "host", "dropped", "cut")


class JsonLog:
    """A log of structured lines, for any number of threads and processes."""

    def __init__(
        self,
        path: str,
        clock: Clock,
        *,
        largest: int = LARGEST_FILE,
        kept: int = KEPT,
        host: str = "",
        pid: int = 0,
        least: str = "debug",
        also: Callable[[Record], None] | None = None,
    ) -> None:
        self.path = path
        self.dropped = 0
        """Lines lost since the start. Each loss is also told in the log, as soon as it can be."""
        self.last_error = ""
        self._clock = clock
        self._file = TurnedFile(RealDisk(), path, self._held, largest=largest, kept=kept)
        self._host = host
        self._pid = pid
        self._least = rank(least)
        self._also = also
        # Not a plain lock: a signal handler may log while its own thread is logging.
        self._lock = threading.RLock()
        self._untold = 0

    def write(self, level: str, source: str, text: str, /, **fields: Plain) -> None:
        """Write one line. Names that the line has itself get an underscore, as `pid_`."""
        level = _NAMES.get(str(level).lower(), str(level).lower())
        level = level if level in LEVELS else "info"
        if rank(level) < self._least:
            return
        record: Record = {}
        try:
            with self._lock:
                record = self._record(level, source, text, fields)
                self._append(record)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a log must not stop whom it is about
            self._lose(error)
        self._tell(record)

    def _tell(self, record: Record) -> None:
        """Whoever listens hears of it even if the disk is full."""
        try:
            if self._also is not None and record:
                self._also(record)
        except Exception as error:  # noqa: BLE001 - the same of whoever listens
            self.last_error = str(error)

    def _record(self, level: str, source: str, text: str, fields: Record) -> Record:
        said = redact_fields({f"{key}_" if key in _OURS else key: value for key, value in fields.items()})
        record: Record = {"v": 1, "ts": to_iso(self._clock.now()), "level": level}
        record |= {"source": redact(source)[:100], "text": redact(text), "pid": self._pid}
        record |= {"host": self._host} if self._host else {}
        record |= {"dropped": self._untold} if self._untold else {}
        return record | said

    def _append(self, record: Record) -> None:
        data = _line(record)
        try:
            self._file.append(data)
        except FileNotFoundError:
            make_private(os.path.dirname(self.path))
            self._file.append(data)
        self._untold = 0

    @contextmanager
    def _held(self) -> Iterator[None]:
        lock = open_regular(f"{self.path}.lock", os.O_RDWR | os.O_CREAT)
        try:
            if not try_lock(lock):
                raise BlockingIOError(11, "another process turns the files over", self.path)
            yield
        finally:
            os.close(lock)

    def _lose(self, error: Exception) -> None:
        with self._lock:
            self.dropped += 1
            self._untold += 1
            self.last_error = f"{type(error).__name__}: {error}"


def rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else 0


def open_regular(path: str, flags: int) -> int:
    """Open a file that is a file. Raises OSError for links, pipes, devices and folders."""
    if not _FLAGS & getattr(os, "O_NOFOLLOW", 0) and os.path.islink(path):
        raise OSError(40, "is a link", path)
    fd = os.open(path, flags | _FLAGS, PRIVATE_FILE)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(22, "is not a regular file", path)
    return fd


def _line(record: Record) -> bytes:
    """One line, at most 64 KiB: a longer one loses the ends of its texts, then its fields."""
    data = _encoded(record)
    for text_size, field_size in _SIZES:
        if len(data) <= LARGEST_LINE:
            break
        data = _encoded(_shortened(record, text_size, field_size))
    return data


def _encoded(record: Record) -> bytes:
    return (encode(record) + "\n").encode("utf-8", "backslashreplace")


def _shortened(record: Record, text_size: int, field_size: int) -> Record:
    short: Record = {key: value for key, value in record.items() if key in _OURS}
    short["text"] = _cut(str(record["text"]), text_size)
    if field_size:
        fields = {key: value for key, value in record.items() if key not in _OURS}
        short |= {_cut(key, 100): _small(value, field_size) for key, value in list(fields.items())[:50]}
    return short | {"cut": True}


def _small(value: Plain, size: int) -> Plain:
    if value is None or isinstance(value, bool | float):
        return value
    return _cut(value if isinstance(value, str) else encode(value), size)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[:size] + CUT
