"""A random secret for each team, readable by nobody else: implements `files.ports.records.TeamSecrets`."""

from __future__ import annotations

import binascii

from atm.files.adapters.refusals import in_team
from atm.files.adapters.team_data import TeamData, put_aside
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

VERSION = 1
LENGTH = 32
LARGEST = 4096


class SecretFiles:
    """Made under a lock, so that two processes agree. A new one only means that tokens are issued anew."""

    __slots__ = ("_disk", "_layout", "_locks", "_places", "_random")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout, random: Callable[[int], bytes]) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout
        self._random = random
        self._places = TeamData(disk, layout)

    def secret(self, team: str) -> bytes:
        path = self._layout.report_secret(team)
        with in_team(path):
            self._places.check(team, path)
            found = self._found(path)
            if found is not None:
                return found
            with self._locks.private(path):
                return self._found(path) or self._made(team, path)

    def _found(self, path: str) -> bytes | None:
        """None if there is none that can be used. A refusal of the disk is not that."""
        found = self._disk.look(path)
        if found is None or found.kind != "file" or found.size > LARGEST:
            return None
        try:
            secret = _decoded(read_whole(self._disk, path))
        except FileNotFoundError:
            return None
        if secret is not None and found.mode & 0o077:
            self._disk.chmod(path, 0o600)
        return secret

    def _made(self, team: str, path: str) -> bytes:
        home, secret = self._places.check(team, path), self._random(LENGTH)
        record = {"schemaVersion": VERSION, "secret": binascii.b2a_base64(secret, newline=False).decode()}
        self._places.prepare(team, path)
        found = self._disk.look(path)
        if found is not None and found.kind == "folder":
            put_aside(self._disk, path)  # nothing else is in the way of a rename
        if self._places.check(team, path) != home:
            raise FileNotFoundError(2, "the team was made anew", path)
        write_over(self._disk, path, to_bytes(encode(record) + "\n"))
        return secret


def _decoded(data: bytes) -> bytes | None:
    try:
        fields = decode_object(to_text(data))
        text = fields.get("secret")
        if fields.get("schemaVersion") != VERSION or not isinstance(text, str):
            return None
        secret = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # NotJson, no ASCII, no base64
        return None
    return secret if len(secret) == LENGTH else None
