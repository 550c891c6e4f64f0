"""Access tokens on disk: implements `ports.access_tokens.AccessTokens`. Read anew whenever the file has changed."""

from __future__ import annotations

import os

from atm.access.formats import decode_tokens, encode_tokens
from atm.core.errors import UnreadableFile
from atm.files.adapters.refusals import explained
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.access.rules import AccessToken
    from atm.files.adapters.locking import Locks
    from atm.files.formats.file_stamp import FileStamp
    from atm.files.formats.layout import Layout


LARGEST = 1 << 20
"""Bytes. A thousand tokens have a fifth of that."""


class AccessTokenFile:
    """One file, for its owner alone."""

    def __init__(self, locks: Locks, layout: Layout) -> None:
        self._locks = locks
        self._path = layout.access_tokens
        self._seen: tuple[tuple[int, int, int], list[AccessToken]] | None = None

    def all(self) -> list[AccessToken]:
        with explained(self._path):
            stamp = self._locks.disk.look(self._path)
            if stamp is None:
                return []
            self._check_owner(stamp)
            if self._seen is None or self._seen[0] != stamp.signature:
                self._seen = (stamp.signature, self._read())
            return self._seen[1]

    def _check_owner(self, stamp: FileStamp) -> None:
        """Whoever may write this file may enter any name; then it says nothing that counts."""
        ours = (0, os.geteuid()) if hasattr(os, "geteuid") else (stamp.uid,)
        if stamp.kind != "file" or stamp.mode & 0o022 or stamp.uid not in ours:
            raise UnreadableFile(
                f"{self._path} can be changed by others",
                "look who could; then remove it and make new tokens: `atm mcp token new`",
                self._path,
            )
        if stamp.size > LARGEST:
            raise UnreadableFile(f"{self._path} is no file of ours: too large", "remove it", self._path)

    def _read(self) -> list[AccessToken]:
        try:
            return decode_tokens(read_whole(self._locks.disk, self._path))
        except NotJson as error:
            raise UnreadableFile(
                f"{self._path}: {error}", "remove the file and make new tokens: `atm mcp token new`", self._path
            ) from None

    def _known(self, stamp: FileStamp | None) -> list[AccessToken]:
        """Of a file that another user could have written, nothing may come into one that counts."""
        if stamp is None:
            return []
        self._check_owner(stamp)
        return self._read()

    def change(self, change: Callable[[list[AccessToken]], list[AccessToken]]) -> None:
        disk = self._locks.disk
        with explained(self._path):
            disk.make_folders(self._path.rpartition("/")[0], private=True)
            with self._locks.private(self._path):
                known = self._known(disk.look(self._path))
                write_over(disk, self._path, encode_tokens(change(known)), mode=0o600)
        self._seen = None
