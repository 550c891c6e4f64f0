"""What a host does with the machine: implements `crew.ports.children`."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace

from atm.core.work_errors import SpawnFailed
from atm.files.adapters.disk import make_private, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.files.formats.layout import Layout
    from atm.vendors.driver import Brief, Driver
    from atm.vendors.runtime import Runtime

LARGEST_LOG = 1 << 20
SLICE = 0.1
_CHILD_SUBREAPER = 36


class ProgramChild:
    """A program with pipes, or with the host's own terminal."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.pid = process.pid

    def code(self) -> int | None:
        return self.process.poll()

    def driver(self, runtime: Runtime, brief: Brief) -> Driver:
        from atm.vendors.drivers.choice import build_driver

        assert self.process.stdin is not None
        assert self.process.stdout is not None
        told = replace(brief, writable=[*brief.writable, *git_folder_of(brief.cwd)])
        return build_driver(runtime, self.process.stdin, self.process.stdout, told)

    def ask_to_end(self) -> None:
        try:
            self.process.terminate()
        except OSError:
            return


def git_folder_of(worktree: str) -> list[str]:
    """Where git keeps the index of a worktree. Codex cannot commit unless its sandbox is told of this very folder."""
    try:
        with open(f"{worktree}/.git", encoding="utf-8", errors="surrogateescape") as file:
            found = file.read(4096).partition("gitdir:")[2].strip()
    except OSError:
        return []  # no worktree: a repository of its own, or none
    return [os.path.join(worktree, found)] if found else []


class RealHostMachine:
    """Of the host of one member."""

    def __init__(self, layout: Layout, team: str, member: str, log: str = "") -> None:
        self._layout = layout
        self._team = team
        self._member = member
        self._log = log or layout.agent_log(team, member)
        self._is_midline = False
        self._has_output = False
        """Since the last question. Set by the threads that read a command's output."""

    def adopt_orphans(self) -> None:
        """Linux alone. Elsewhere an orphan is still known by its mark."""
        try:
            import ctypes

            ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
        except (OSError, AttributeError):
            return

    def enter(self, folder: str) -> None:
        os.chdir(folder)

    def start(
        self, words: Sequence[str], folder: str, environment: Mapping[str, str], *, in_terminal: bool
    ) -> ProgramChild:
        try:
            if in_terminal:
                return ProgramChild(subprocess.Popen([*words], cwd=folder, env={**environment}))
            make_private(os.path.dirname(self._log), self._layout.private_roots)
            with open(self._log, "ab", opener=open_private) as complaints:
                process = subprocess.Popen(
                    [*words],
                    cwd=folder,
                    env={**environment},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                )
        except (OSError, ValueError) as error:
            raise SpawnFailed(f"`{words[0]}` could not be started: {error}", "is it installed?") from None
        return ProgramChild(process)

    def log(self, text: str) -> None:
        if text:
            self._write(f"{chr(10) if self._is_midline else ''}{text}\n".encode("utf-8", "replace"))

    def hear(self, said: bytes) -> None:
        """The output of a command, as it comes: `atm peek` shows how far the command is."""
        self._has_output = True
        self._write(said)

    def has_output(self) -> bool:
        had, self._has_output = self._has_output, False
        return had

    def _write(self, said: bytes) -> None:
        self._is_midline = not said.endswith(b"\n")
        try:
            make_private(os.path.dirname(self._log), self._layout.private_roots)
            if os.path.exists(self._log) and os.path.getsize(self._log) > LARGEST_LOG:
                os.replace(self._log, f"{self._log}.1")
            fd = open_private(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(fd, said)
            finally:
                os.close(fd)
        except OSError:
            return

    def news(self) -> object:
        layout, team, member = self._layout, self._team, self._member
        paths = (layout.agent_record(team, member), layout.tasks(team), layout.inbox(team, member))
        return tuple(_stamp(path) for path in paths)

    def pause(self, seconds: float, until: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while not until() and (left := end - time.monotonic()) > 0:
            time.sleep(min(SLICE, left))


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
