"""Asking the daemon, starting it, and ending it. Everything here has a bound; no daemon is an ordinary answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

from atm.core.work_errors import DaemonTrouble
from atm.crew.rules.marks import NO_AGENT, VARIABLE
from atm.daemon.adapters.seat import Seat, find_running, holds_seat, is_free, take_seat
from atm.daemon.formats.control_line import LONGEST, BadLine, Request, decode_answer, encode_request
from atm.files.adapters.disk import make_private, open_private
from atm.files.adapters.machine import interruptions
from atm.files.adapters.processes import began, process_is_alive
from atm.files.formats.json_record import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from atm.core.plain import Plain
    from atm.daemon.adapters.seat import RunningDaemon
    from atm.files.formats.layout import Layout

QUERY_SECONDS = 0.5
READY_SECONDS = 30.0
"""A machine that is busy takes its time; one that ended is noticed at once."""

LOOK_EVERY = 0.02

_LEAVE = """\
import os, sys
note = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
pid = os.fork()
if pid:
    os.write(note, b"%d" % pid)
    os.write(1, b"%d" % pid)
    os._exit(0)
os.close(note)
os.setsid()
os.dup2(2, 1)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What stands between us and the daemon for a moment, so that the system's first process becomes its parent."""

HEALED_SECONDS = 12.0
"""A daemon whose socket was removed notices within five seconds."""


def ask(
    layout: Layout, do: str, fields: dict[str, Plain] | None = None, seconds: float = QUERY_SECONDS
) -> Plain | None:
    """The daemon's answer; None if no daemon runs or it does not answer in time. Raises DaemonTrouble on a refusal."""
    running = find_running(layout)
    if running is None:
        return None
    try:
        with _connect(running, seconds) as line:
            line.sendall(encode_request(Request(do, fields or {}, "1", seconds)))
            answer = _read_line(line, seconds)
    except (OSError, EOFError):
        return None
    return _result(answer)


def _result(data: bytes) -> Plain:
    try:
        answer = decode_answer(data)
    except BadLine as bad:
        raise _trouble(bad.code, str(bad)) from None
    if answer["ok"] is True:
        return answer.get("result")
    said = answer.get("error")
    parts = said if isinstance(said, dict) else {}
    raise _trouble(str(parts.get("code") or "error"), str(parts.get("message") or "it gave no reason"))


def _trouble(code: str, message: str) -> DaemonTrouble:
    is_other = code in ("unknown-request", "version-mismatch")
    return DaemonTrouble(
        f"the daemon did not do it ({code[:60]}): {message[:500]}",
        "it is of another version: `atm daemon restart`" if is_other else "ask again; or `atm daemon restart`",
    )


def listen(layout: Layout, fields: dict[str, Plain]) -> Iterator[dict[str, Plain]]:
    """Events as they happen, until the daemon ends. Empty if none runs."""
    running = find_running(layout)
    if running is None:
        return
    try:
        line = _connect(running, QUERY_SECONDS)
    except OSError as error:
        raise _trouble("no answer", f"process {running.pid} does not listen at {running.socket}: {error}") from None
    with line:
        line.sendall(encode_request(Request("events", fields, "1")))
        line.settimeout(None)
        for data in _lines(line):
            result = _result(data)
            if isinstance(result, dict):
                yield result


def _lines(line: socket.socket) -> Iterator[bytes]:
    """Until it is closed, or says more than a line may hold."""
    kept = b""
    while len(kept) <= LONGEST:
        interruptions.until_readable(line)
        part = line.recv(65_536)
        if not part:
            break
        *whole, kept = (kept + part).split(b"\n")
        yield from whole
    if kept:
        yield kept  # which is no answer, and is said to be none


def _connect(running: RunningDaemon, seconds: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(seconds)
        made.connect(running.socket)
    except BaseException:  # also Ctrl-C: nobody else has the socket yet, so nobody else could close it
        made.close()
        raise
    return made


def _read_line(line: socket.socket, seconds: float) -> bytes:
    end, data = time.monotonic() + seconds, b""
    while not data.endswith(b"\n"):
        line.settimeout(max(0.001, end - time.monotonic()))
        part = line.recv(65_536)
        if not part or len(data) > LONGEST:
            raise EOFError
        data += part
    return data


def start(layout: Layout, environment: Mapping[str, str], *, wait: bool, seconds: float = READY_SECONDS) -> str:
    """Start it unless it runs. What went wrong, or nothing; `wait` until it answers, for so many seconds."""
    running = find_running(layout)
    if running is not None:
        return _wait_until_heard(layout, running, min(seconds, HEALED_SECONDS)) if wait else ""
    try:
        make_private(layout.daemon, layout.private_roots)
        _note_asked(layout, 0)  # the number of a daemon that was stopped before may be given to the new one
        process = _spawn(layout, environment)
    except OSError as error:
        return f"{error.filename or 'python'}: {error.strerror}"
    return _wait_until_ready(layout, process, seconds) if wait else ""


def _wait_until_heard(layout: Layout, running: RunningDaemon, seconds: float) -> str:
    """One that runs and cannot be reached is as good as none: it makes a socket that was removed again soon."""
    end = time.monotonic() + seconds
    while not _answers(layout):
        if time.monotonic() >= end:
            return f"process {running.pid} runs, but does not answer at {running.socket}; try `atm daemon restart`"
        if not running.is_alive:
            return f"process {running.pid} ended while it was waited for; start it again"
        time.sleep(LOOK_EVERY)
    return ""


def _spawn(layout: Layout, environment: Mapping[str, str]) -> int:
    """
    Its process. In a session of its own, so that it outlives the terminal, and no child of ours: an agent that ends its
    MCP server may end whatever stands under it. What it says before its log is open is kept.
    """
    fd = open_private(f"{layout.daemon}/start.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        # Not a fork of this process, which may have threads.
        middle = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LEAVE, _starting(layout), sys.executable, "-m", "atm", "daemon", "run"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=fd,
            cwd="/",
            env={**environment, VARIABLE: NO_AGENT},
            check=False,
        )
    finally:
        os.close(fd)
    return int(middle.stdout or b"0")


def _starting(layout: Layout) -> str:
    """Names the process that was started last, from before it has a seat."""
    return f"{layout.daemon}/starting"


def _is_starting(layout: Layout) -> bool:
    """Does a daemon hold the seat unannounced, or is one on its way there? Also true of one that just leaves."""
    if not is_free(layout):
        return True
    try:
        age = time.time() - os.stat(_starting(layout)).st_mtime
        with open(_starting(layout), "rb") as file:
            pid = int(file.read(20) or b"0")
    except (OSError, ValueError):
        return False
    # The number may be another process's by now, so it counts only for as long as a start may take.
    return pid > 0 and 0 <= age < READY_SECONDS and not _has_ended(pid)


def _find_started(layout: Layout) -> RunningDaemon | None:
    """The daemon of this home; one that is just starting is waited for."""
    end = time.monotonic() + READY_SECONDS
    while (running := find_running(layout)) is None and _is_starting(layout) and time.monotonic() < end:
        time.sleep(LOOK_EVERY)
    return running or find_running(layout)


def _wait_until_ready(layout: Layout, pid: int, seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if _answers(layout):
            return ""
        # Of several that start at once one takes the seat and the others end: then that one holds it, unannounced yet.
        if _has_ended(pid) and is_free(layout):
            if _was_asked_to_end(layout, pid):
                return "it was stopped while it started, by `atm daemon stop`; start it again: atm daemon start"
            return _last_words(layout) or "it ended without a word; a signal may have ended it"
        time.sleep(LOOK_EVERY)
    return f"it did not answer within {seconds:.0f} s; see `atm logs`"


def _asked(layout: Layout) -> str:
    """Names the process that was asked to end last, for a caller that waits until it answers."""
    return f"{layout.daemon}/asked-to-end"


def _note_asked(layout: Layout, pid: int) -> None:
    try:
        with open(_asked(layout), "wb", opener=open_private) as file:
            file.write(b"%d" % pid)
    except OSError:
        return  # a full disk keeps no daemon alive; its starter only knows less


def _was_asked_to_end(layout: Layout, pid: int) -> bool:
    try:
        with open(_asked(layout), "rb") as file:
            return file.read(20) == b"%d" % pid
    except OSError:
        return False


def _has_ended(pid: int) -> bool:
    """Whoever adopted it may never ask after it: where the system tells that, it counts as ended too."""
    return not process_is_alive(pid) or (os.path.isdir("/proc/self") and not began(pid))


def _answers(layout: Layout) -> bool:
    try:
        return ask(layout, "ping") is not None
    except DaemonTrouble:
        return True


def _last_words(layout: Layout) -> str:
    try:
        with open(f"{layout.daemon}/start.log", encoding="utf-8", errors="replace") as file:
            return " ".join(file.read(2000).split())
    except OSError:
        return ""


def stop(layout: Layout, seconds: float) -> str:
    """
    End it, one that is just starting too: `stopped`, `not running`, or `killed` if it did not leave in time.

    Raises DaemonTrouble.
    """
    running = _find_started(layout)
    if running is None:
        return "not running"
    _note_asked(layout, running.pid)
    try:
        if not _signal(layout, running, signal.SIGTERM) or _is_gone(running, seconds):
            return "stopped"
        if not _signal(layout, running, signal.SIGKILL):
            return "stopped"
    except ProcessLookupError:
        return "stopped"
    _is_gone(running, READY_SECONDS)
    _clear_seat(layout, READY_SECONDS)
    return "killed"


def _signal(layout: Layout, running: RunningDaemon, number: int) -> bool:
    """False if it is gone. Only to the process that was found, and only if it is proven to be the daemon."""
    if not holds_seat(layout, running.pid):
        if not running.is_alive:
            return False
        path = f"{layout.daemon}/pid.json"
        raise DaemonTrouble(
            f"{path} says that process {running.pid} is the daemon, but that process does not hold the daemon's lock",
            "nothing was ended; remove that file, and end the daemon by its own number (`ps`)",
            path,
        )
    if not running.is_alive:
        return False
    os.kill(running.pid, number)
    return True


def _clear_seat(layout: Layout, seconds: float) -> None:
    """
    Whoever was killed left its socket behind, perhaps in a folder of its own among temporary files.

    Its lock goes with the last of its threads, and that may be a while after the process counts as dead.
    """
    end = time.monotonic() + seconds
    while (seat := take_seat(layout)) is None and time.monotonic() < end:
        time.sleep(LOOK_EVERY)
    if isinstance(seat, Seat):
        seat.leave()


def what_was_left(layout: Layout) -> list[str]:
    """What the daemon that ended last could not finish."""
    try:
        with open(f"{layout.daemon}/left.json", encoding="utf-8") as file:
            found = decode(file.read(65_536))
    except (OSError, ValueError):
        return []
    return [str(one) for one in found] if isinstance(found, list) else []


def _is_gone(running: RunningDaemon, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while running.is_alive:
        if time.monotonic() >= end:
            return False
        time.sleep(LOOK_EVERY)
    return True
