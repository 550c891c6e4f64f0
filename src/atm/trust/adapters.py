"""The user's consents on disk, and a repository's file as far as it may be read at all."""

from __future__ import annotations

import os

from atm.core.errors import UnreadableFile
from atm.files.adapters.refusals import explained
from atm.files.adapters.whole_files import write_over
from atm.files.formats.json_record import NotJson
from atm.trust.formats import Consents, decode_consents, encode_consents
from atm.trust.rules import FOREIGN, NONE, state_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout

LARGEST = 4 << 20
"""Bytes: of a settings file, and of all consents."""


class RepoFile:
    """One file of a repository, read once, so that what is judged is what is used."""

    __slots__ = ("content", "folder", "owner", "path", "sha256", "state")

    def __init__(
        self, folder: str, path: str, content: bytes, sha256: str, state: str, owner: int | None = None
    ) -> None:
        self.folder = folder
        """The real path of the folder that it speaks for; it may itself be a link that leads elsewhere."""
        self.path = path
        """Its real path."""
        self.content = content
        self.sha256 = sha256
        self.state = state
        self.owner = owner
        """The user to whom it belongs, if that is neither us nor root. Then it was not read."""


def read_repo_file(layout: Layout, path: str) -> RepoFile:
    """A file of a repository, and whether the user has said yes to it there. Raises OSError."""
    folder, real = _folder_of(path), _slashes(os.path.realpath(path))
    owner = foreign_owner(folder, real)
    if owner is not None:
        return RepoFile(folder, real, b"", "", FOREIGN, owner)
    fd = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(fd, "rb") as file:
        content = file.read(LARGEST + 1)
    digest = sha256_of(content)
    if len(content) > LARGEST:
        return RepoFile(folder, real, b"", digest, NONE)
    return RepoFile(folder, real, content, digest, state_of(read_consents(layout).trusted, folder, real, digest))


def repo_owner(path: str) -> int | None:
    """The other user to whom a repository's file, its folder or the repository belongs: then it is not read."""
    return foreign_owner(_folder_of(path), _slashes(os.path.realpath(path)))


def _folder_of(path: str) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    inside = os.path.basename(folder) in (".atm", ".claude")
    return _slashes(os.path.realpath(os.path.dirname(folder) if inside else folder))


def sha256_of(content: bytes) -> str:
    from hashlib import sha256  # here: only who works in a repository with settings pays for it

    return sha256(content).hexdigest()


def foreign_owner(folder: str, file: str) -> int | None:
    """The owner of a file, of its folders or of the repository's `.git`, if that is neither this user nor root."""
    if not hasattr(os, "geteuid"):
        return None
    ours = (os.geteuid(), 0)
    for place in (file, os.path.dirname(file), folder, *_git_of(folder)):
        try:
            owner = os.lstat(place).st_uid
        except OSError:
            continue
        if owner not in ours:
            return owner
    return None


def _git_of(folder: str) -> list[str]:
    """The nearest `.git` at or above a folder, and the folder that it lies in."""
    while True:
        if os.path.lexists(f"{folder}/.git"):
            return [f"{folder}/.git", folder]
        parent = os.path.dirname(folder)
        if parent == folder:
            return []
        folder = parent


def read_consents(layout: Layout) -> Consents:
    """Nothing is trusted by a file that is not there, that cannot be understood, or that others may write."""
    try:
        with open(layout.trust, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                return Consents()
            return decode_consents(file.read(LARGEST))
    except (OSError, NotJson):
        return Consents()


def _is_private(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or (found.st_uid in (os.geteuid(), 0) and not found.st_mode & 0o022)


def change_consents(locks: Locks, layout: Layout, change: Callable[[Consents], None]) -> None:
    """Apply a change under a lock. A file that cannot be understood is named, and not written over."""
    disk, path = locks.disk, layout.trust
    with explained(path):
        disk.make_folders(path.rpartition("/")[0], private=True)
        with locks.private(path):
            consents = _known(path)
            change(consents)
            write_over(disk, path, encode_consents(consents), mode=0o600)


def _known(path: str) -> Consents:
    """Of a file that others may have written, nothing may come into one that counts."""
    remedy = "look at it, then remove it and say yes again"
    try:
        with open(path, "rb") as file:
            if not _is_private(os.fstat(file.fileno())):
                raise UnreadableFile(f"{path} can be changed by others", remedy, path)
            return decode_consents(file.read(LARGEST))
    except FileNotFoundError:
        return Consents()
    except NotJson as error:
        raise UnreadableFile(f"{path}: {error}", remedy, path) from None


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
