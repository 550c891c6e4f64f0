"""Whose processes are, on disk: implements `team.ports.processes.AgentProcesses`."""

from __future__ import annotations

import os

from atm.files.adapters.processes import ancestors_of, began, boot_id, command_of
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson
from atm.team.formats.agent_process import decode_process, encode_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.team.rules.agent_processes import ProcessOwner


class ProcessFiles:
    """One file for each process, named by its number. A number that was used again is told by when it began."""

    __slots__ = ("_disk", "_folder")

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._folder = layout.processes

    def ancestors(self, pid: int) -> list[int]:
        return ancestors_of(pid)

    def owners(self, pid: int) -> list[ProcessOwner]:
        try:
            when, boot, owners = decode_process(read_whole(self._disk, f"{self._folder}/{pid}"))
        except (OSError, NotJson):
            return []
        return owners if when == began(pid) != "" and boot == boot_id() else []

    def record(self, pid: int, owner: ProcessOwner) -> None:
        """Two members of one program may do this at once; whoever is left out is recorded with its next prompt."""
        known = self.owners(pid)
        if owner in known:
            return
        content = encode_process(began(pid), boot_id(), [*known, owner])
        try:
            self._disk.make_folders(self._folder, private=True)
            self._forget_the_dead()
            write_over(self._disk, f"{self._folder}/{pid}", content, durable=False)
        except OSError:
            return

    def environment(self, pid: int) -> Mapping[str, str]:
        if pid == os.getpid():
            return os.environ
        from atm.team.adapters.speaker import environment_of  # here: only the daemon asks about other processes

        return environment_of(pid) or {}

    def command(self, pid: int) -> str:
        return command_of(pid)

    def _forget_the_dead(self) -> None:
        for name in self._disk.names(self._folder):
            if name.isdecimal() and not self.owners(int(name)):
                self._disk.remove(f"{self._folder}/{name}")
