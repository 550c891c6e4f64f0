"""
Running the user's commands: bounded in time and in what they may say. Implements `board.ports.programs.Programs`.

A command gets a process group of its own, so that stopping it stops its children too. Only the end of its output is
kept, however much it writes, and a child that outlives it holds nobody up.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import threading
import time

from atm.board.rules.acceptance import Ran
from atm.files.adapters.disk import make_private, open_private
from atm.files.adapters.machine import interruptions
from atm.files.formats.json_record import encode, to_bytes
from atm.git.adapters.asking import ask_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.git.adapters.asking import GitAnswer

KEPT = 256 * 1024
"""Bytes of each stream that are kept: a hook's whole answer, or the end of a long log."""

SIGN_EVERY = 30.0
GIT_SECONDS = 60.0
FIND_SECONDS = 60.0
MOST_PARTS = 100
"""Folders in a pattern; nobody nests deeper."""

LARGEST_LOG = 1 << 20
AFTERWARDS = 1.0
"""Seconds that output may still take to arrive once the program has ended."""


class RealPrograms:
    """Programs of this machine."""

    def __init__(self, layout: Layout, hears: Callable[[bytes], None] | None = None) -> None:
        self._layout = layout
        self._hears = hears or (lambda _: None)
        """Told of each command, and of what it says as it says it. By several threads."""

    def run(
        self,
        command: str,
        *,
        folder: str,
        seconds: float,
        stdin: bytes = b"",
        facts: dict[str, str] | None = None,
        meanwhile: Callable[[], None] | None = None,
        every: float = SIGN_EVERY,
    ) -> Ran:
        began = time.monotonic()
        self._hears(f"\n$ {command}\n".encode("utf-8", "replace"))
        try:
            process = _start(command, folder, facts or {})
        except (OSError, ValueError) as error:  # no such folder, no shell, a NUL in the command
            return Ran(None, str(error))
        tails = [_OutputTail(process.stdout, self._hears), _OutputTail(process.stderr, self._hears)]
        threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True).start()
        try:
            timed_out = not _wait(process, began + seconds, meanwhile, every)
        finally:
            _stop(process)  # also if we are interrupted: what it started must not go on with nobody to stop it
        output, errors = (tail.text() for tail in tails)
        code = None if timed_out else process.returncode
        return Ran(code, output, errors=errors, seconds=time.monotonic() - began, timed_out=timed_out)

    def find(self, folder: str, pattern: str) -> Ran:
        """By its name first: a name may look like a pattern, as `app/[id]/page.tsx` does."""
        base, wanted = folder or self.here(), os.path.expanduser(pattern)
        path = os.path.join(base, wanted)
        if "\0" in path:
            return Ran(1, "no file has such a name")
        try:
            found = path if os.path.isfile(path) else next(filter(os.path.isfile, _files_like(base, wanted)), None)
        except TimeoutError as error:
            return Ran(None, str(error), seconds=FIND_SECONDS, timed_out=True)
        return Ran(1, f"there is no file {path}") if found is None else Ran(0, found)

    def here(self) -> str:
        try:
            return os.getcwd()
        except OSError:  # it was deleted under us
            return "/"

    def stands_in(self, folder: str) -> bool:
        """By real paths. The way up ends at a repository's root: what lies above belongs to others."""
        if "\0" in folder:
            return False
        at, wanted = os.path.realpath(self.here()), os.path.realpath(folder)
        while at != wanted:
            parent = os.path.dirname(at)
            if parent == at or os.path.lexists(os.path.join(at, ".git")):
                return False
            at = parent
        return True

    def commit_of(self, folder: str, name: str) -> str:
        said = _resolve(folder, name)
        return said.text if said.code == 0 else ""

    def is_reachable(self, folder: str, commit: str, branch: str) -> Ran:
        found = []
        for name in (commit, branch):
            said = _resolve(folder, name)
            if said.code != 0:
                return Ran(said.code, said.text or f"git knows no commit {name!r} in {folder or self.here()}")
            found.append(said.text)
        said = ask_git(folder, "merge-base", "--is-ancestor", *found, seconds=GIT_SECONDS)
        return Ran(0, found[0]) if said.code == 0 else Ran(1, f"{commit} ({found[0][:12]}) is not part of {branch}")

    def log(self, record: dict[str, Plain]) -> None:
        path = self._layout.hook_log
        try:
            make_private(os.path.dirname(path), self._layout.private_roots)
            if os.path.exists(path) and os.path.getsize(path) > LARGEST_LOG:
                os.replace(path, f"{path}.1")
            fd = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(fd, to_bytes(encode(record) + "\n"))
            finally:
                os.close(fd)
        except OSError:
            return


def _resolve(folder: str, name: str) -> GitAnswer:
    wanted = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return ask_git(folder, "rev-parse", *wanted, seconds=GIT_SECONDS)


def _start(command: str, folder: str, facts: dict[str, str]) -> subprocess.Popen[bytes]:
    words = ["cmd", "/c", command] if os.name == "nt" else ["/bin/sh", "-c", command]
    return subprocess.Popen(
        words,
        cwd=folder or None,
        env={**os.environ, **facts},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name != "nt",
    )


def _feed(stdin: IO[bytes] | None, data: bytes) -> None:
    """In a thread of its own: a program that never reads must not hold us up."""
    assert stdin is not None
    try:
        stdin.write(data)
    except (OSError, ValueError):
        pass  # it ended, or does not want to know
    try:
        stdin.close()
    except OSError:
        return


class _OutputTail:
    """The end of what a program writes."""

    def __init__(self, stream: IO[bytes] | None, hears: Callable[[bytes], None]) -> None:
        assert stream is not None
        self._stream = stream
        self._hears = hears
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            with self._stream:  # closed by whoever reads it last: a child may hold the other end for long
                while data := os.read(self._stream.fileno(), 65_536):
                    self._kept = (self._kept + data)[-KEPT:]
                    self._hears(data)
        except (OSError, ValueError):
            return

    def text(self) -> str:
        self._thread.join(AFTERWARDS)
        return self._kept.decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], end: float, meanwhile: Callable[[], None] | None, every: float) -> bool:
    """Until it ends, or time is up (False)."""
    while (left := end - time.monotonic()) > 0:
        try:
            with interruptions:
                process.wait(timeout=min(left, every))
            return True
        except subprocess.TimeoutExpired:
            if meanwhile is not None:
                meanwhile()
    return process.poll() is not None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """It and everything it started, also what it left in the background."""
    try:
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _files_like(base: str, pattern: str) -> Iterator[str]:
    """
    What a pattern may mean, part by part.

    `glob` walks once for each way to split a path among the `**` of a pattern, and again through each link that leads
    up: a pattern of a dozen, which anybody may write into a task, would not end. Here each part sees a folder once.
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if pattern.endswith("/") or len(parts) > MOST_PARTS:
        return iter(())
    until = time.monotonic() + FIND_SECONDS
    places: Iterator[str] = iter(["/" if pattern.startswith("/") else base])
    for part in [*parts, "*"] if parts[-1:] == ["**"] else parts:
        places = _below(places, until) if part == "**" else _inside(places, part, until)
    return places


def _inside(places: Iterable[str], part: str, until: float) -> Iterator[str]:
    seen: set[str] = set()
    for place in places:
        if _is_new(place, seen, until):
            yield from glob.iglob(os.path.join(glob.escape(place), part))


def _below(places: Iterable[str], until: float) -> Iterator[str]:
    """These folders and all in them, but for hidden ones. Links are not followed."""
    seen: set[str] = set()
    for place in places:
        for folder, folders, _ in os.walk(place):
            is_new = _is_new(folder, seen, until)
            folders[:] = [name for name in folders if is_new and not name.startswith(".")]
            if is_new:
                yield folder


def _is_new(place: str, seen: set[str], until: float) -> bool:
    if time.monotonic() > until:
        raise TimeoutError(f"looking for the file took more than {FIND_SECONDS:.0f} s")
    real, known = os.path.realpath(place), len(seen)
    seen.add(real)
    return len(seen) > known
