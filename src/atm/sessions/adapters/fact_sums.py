"""Checksums of what a team's state rests on: implements `sessions.ports.surroundings.Facts`."""

from __future__ import annotations

import glob
import hashlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.ports.programs import Programs
    from atm.sessions.ports.surroundings import FactSource

MISSING, FAILED = "missing", "failed"
SECONDS = 60.0
MOST_FILES = 10_000
PIECE = 1 << 20


class FactSums:
    """SHA-256 over names and contents, or over what a command says."""

    __slots__ = ("_programs",)

    def __init__(self, programs: Programs) -> None:
        self._programs = programs

    def checksum(self, folder: str, source: FactSource) -> str:
        if source.command:
            ran = self._programs.run(source.command, folder=folder, seconds=SECONDS)
            return hashlib.sha256(ran.output.encode("utf-8", "replace")).hexdigest() if ran.code == 0 else FAILED
        names = sorted(
            {name for path in source.paths for name in glob.iglob(path, root_dir=folder or None, recursive=True)}
        )
        files = [name for name in names[:MOST_FILES] if os.path.isfile(os.path.join(folder, name))]
        return _sum_of(folder, files) if files else MISSING


def _sum_of(folder: str, names: list[str]) -> str:
    found = hashlib.sha256()
    for name in names:
        found.update(os.fsencode(name) + b"\0")
        try:
            with open(os.path.join(folder, name), "rb") as file:
                while piece := file.read(PIECE):
                    found.update(piece)
        except OSError as error:
            found.update(f"unreadable: {error.errno}".encode())
        found.update(b"\0")
    return found.hexdigest()
