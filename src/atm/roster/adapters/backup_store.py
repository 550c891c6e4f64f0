"""
Backups on disk: implements `roster.ports.backups.Backups`.

A backup is written to a folder that nobody takes for one, made durable, and renamed: it exists whole or not at all.
All of it happens under one lock for each team, so whatever partial folder lies there was left by a killed process.
"""

from __future__ import annotations

import hashlib

from atm.core.names import is_claudes_team
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import DamagedBackup, NoSuchBackup
from atm.files.adapters.refusals import explained
from atm.files.adapters.trees import PLACING, files_in, remove_tree
from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson, decode, to_text
from atm.files.formats.layout import REPORT_SECRET, SYNC_FOLDER
from atm.files.formats.record_file import NAMES
from atm.files.formats.times import for_name, to_iso
from atm.roster.formats.backup_manifest import (
    CONFIG,
    HISTORY,
    LEDGER,
    NAME,
    STATE,
    TASKS,
    TEAM,
    Listed,
    Manifest,
    decode_manifest,
    encode_manifest,
    is_safe_path,
)
from atm.roster.ports.backups import Contents, Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

KEEP = 5
"""Plain backups of one team. Those of completed teams are kept for ever and not counted."""

PARTIAL, FINAL = ".partial-", "final-"
PATIENT = 60.0
"""Seconds that one backup waits for another of the same team."""

MOST_IN_ONE_MOMENT = 1000
READ_TRIES, READ_NAP = 5, 0.02
"""Claude Code writes in place at times: what is torn now may be whole in a moment."""


class BackupFolders:
    """One folder for each backup, named by its time."""

    __slots__ = ("_clock", "_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout

    # Making.

    def make(self, team: str, at: float, *, final: bool = False, aside: str | None = None) -> Contents:
        folder, stamp = self._layout.backups(team), for_name(at)
        with explained(folder), self._locks.private(folder, PATIENT):
            self._disk.make_folders(folder, private=True)
            partial = f"{folder}/{PARTIAL}{stamp}"
            remove_tree(self._disk, partial)
            try:
                made = self._write(partial, team, to_iso(at), dict(self._sources(team, aside)))
                made.path = self._put_in_place(partial, f"{folder}/{FINAL if final else ''}{stamp}")
            except OSError:
                self._give_up(partial)
                raise
            self._disk.sync_folder(folder)
            self._prune(folder)
        return made

    def _give_up(self, partial: str) -> None:
        try:
            remove_tree(self._disk, partial)
        except OSError:
            return  # the disk is worse than we thought; the next backup or clean-up removes it

    def _sources(self, team: str, aside: str | None) -> Iterator[tuple[str, str]]:
        """Names in the backup, and where each file lies now."""
        place = aside or team
        for prefix, folder in ((TEAM, self._layout.team(place)), (TASKS, self._layout.tasks(place))):
            for relative in files_in(self._disk, folder, _is_kept):
                yield f"{prefix}{relative}", f"{folder}/{relative}"
        if is_claudes_team(team):  # our data about it lies elsewhere
            data = self._layout.our_data(team)
            records = {self._layout.records(team, shelf).removeprefix(f"{data}/") for shelf in NAMES}
            wanted = {LEDGER, HISTORY, STATE, SYNC_FOLDER} | records
            for relative in files_in(self._disk, data, wanted.__contains__):
                yield f"{TEAM}{relative}", f"{data}/{relative}"

    def _write(self, folder: str, team: str, at: str, sources: dict[str, str]) -> Contents:
        files, folders = {}, {folder}
        self._disk.make_folders(folder, private=True)
        for name, path in sources.items():
            data = self._settled(path)
            if data is None:
                continue  # it went away meanwhile
            files[name] = data
            target = f"{folder}/{name}"
            parent = target.rpartition("/")[0]
            while parent not in folders:
                self._disk.make_folders(parent, private=True)
                folders.add(parent)
                parent = parent.rpartition("/")[0]
            self._write_file(target, data)
        manifest = Manifest(team, at, [Listed(name, len(data), _sum(data)) for name, data in files.items()])
        self._write_file(f"{folder}/{NAME}", encode_manifest(manifest))
        for parent in sorted(folders, key=len, reverse=True):
            self._disk.sync_folder(parent)
        return Contents(folder, manifest, files)

    def _write_file(self, path: str, data: bytes) -> None:
        fd = self._disk.create(path)
        try:
            self._disk.write(fd, data)
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)

    def _settled(self, path: str) -> bytes | None:
        """A file's content; of a JSON file that is being written in place, what it is a moment later."""
        data = None
        for attempt in range(READ_TRIES):
            if attempt:
                self._clock.sleep(READ_NAP)
            try:
                data = read_whole(self._disk, path)
                if path.endswith(".json"):
                    decode(to_text(data))
            except FileNotFoundError:
                return None
            except NotJson:
                continue
            return data
        return data  # unreadable, and kept as it is

    def _put_in_place(self, partial: str, wanted: str) -> str:
        """Two in one millisecond do not collide: the second gets a number."""
        for number in range(1, MOST_IN_ONE_MOMENT):
            target = wanted if number == 1 else f"{wanted}-{number}"
            if self._disk.look(target) is None:
                self._disk.rename(partial, target)
                return target
        raise FileExistsError(17, "too many backups at one moment", wanted)

    def _prune(self, folder: str) -> None:
        """Only after the new one is in place. What goes is first renamed, so that half a backup is never found."""
        plain = [kept for kept in self._listed(folder) if not kept.is_final]
        for old in plain[:-KEEP]:
            self._disk.rename(old.path, f"{folder}/{PARTIAL}{old.name}")
        for name in self._partial(folder):
            remove_tree(self._disk, f"{folder}/{name}")

    def discard(self, team: str, path: str) -> None:
        folder = self._layout.backups(team)
        with explained(folder), self._locks.private(folder, PATIENT):
            for kept in self._listed(folder):
                if kept.path == path:
                    self._disk.rename(path, f"{folder}/{PARTIAL}{kept.name}")  # half a backup is never found
            for name in self._partial(folder):
                remove_tree(self._disk, f"{folder}/{name}")
            if not self._disk.names(folder):
                remove_tree(self._disk, folder)

    # Finding and reading.

    def kept(self, team: str) -> list[Kept]:
        folder = self._layout.backups(team)
        with explained(folder):
            return self._listed(folder)

    def _listed(self, folder: str) -> list[Kept]:
        found = []
        for name in self._disk.names(folder):
            stamp = self._disk.look(f"{folder}/{name}/{NAME}") if not name.startswith(".") else None
            if stamp is not None and stamp.kind == "file":
                found.append(Kept(name, f"{folder}/{name}", name.startswith(FINAL)))
        return sorted(found, key=lambda kept: _age(kept.name))

    def read(self, team: str, given: str | None) -> Contents:
        folder = self._layout.backups(team)
        if given is not None and "/" in given:
            return self._read(given)
        with explained(folder), self._locks.private(folder, PATIENT):
            return self._read(self._named(team, folder, given))

    def _named(self, team: str, folder: str, given: str | None) -> str:
        kept = self._listed(folder)
        chosen = [one for one in kept if given is None or one.name == given]
        if chosen:
            return chosen[-1].path
        if given is not None and kept:
            names = ", ".join(one.name for one in kept[-10:])
            raise NoSuchBackup(f"team {team!r} has no backup {given!r}", f"known: {names}", folder)
        raise NoSuchBackup(
            f"team {team!r} has no backup",
            f"make one with `atm teams backup {shell_words(team)}`, or give a path",
            folder,
        )

    def _read(self, path: str) -> Contents:
        """Every file, each checked. No link may stand inside: it could lead to any file of the user's."""
        with explained(path):
            root = self._disk.real_path(path)
            try:
                manifest = decode_manifest(self._plain(root, NAME))
            except NotJson as error:
                raise DamagedBackup(
                    f"the manifest of {path} cannot be trusted: {error}", "choose another backup", f"{path}/{NAME}"
                ) from None
            wanted = [listed for listed in manifest.files if listed.path.casefold() != TEAM + REPORT_SECRET]
            files = {listed.path: self._checked(root, listed) for listed in wanted}
        if TEAM + CONFIG not in files:
            raise DamagedBackup(f"{path} holds no roster", "choose another backup", path)
        return Contents(path, manifest, files)

    def _checked(self, root: str, listed: Listed) -> bytes:
        data = self._plain(root, listed.path, listed.size)
        if len(data) != listed.size or _sum(data) != listed.sha256:
            raise DamagedBackup(
                f"{root}/{listed.path} is not what was backed up", "choose another backup", f"{root}/{listed.path}"
            )
        return data

    def _plain(self, root: str, name: str, size: int | None = None) -> bytes:
        path = f"{root}/{name}"
        found = self._disk.look(path)
        if found is None and name == NAME:
            raise NoSuchBackup(f"{root} is no backup: it has no {NAME}", "see `atm teams show TEAM`", path)
        if found is None or found.kind != "file" or self._disk.real_path(path) != path:
            what = "is missing" if found is None else "is not a plain file"
            raise DamagedBackup(f"{path} {what}", "choose another backup", path)
        if size is not None and found.size != size:
            return b""  # not worth reading: it cannot be the file that was backed up
        return read_whole(self._disk, path)

    def covers(self, team: str, aside: str) -> bool:
        kept = self.kept(team)
        if not kept:
            return False
        folder = self._layout.backups(team)
        with explained(folder):
            try:
                manifest = decode_manifest(self._plain(self._disk.real_path(kept[-1].path), NAME))
            except (NotJson, DamagedBackup, NoSuchBackup):
                return False
            known = {listed.path: listed.sha256 for listed in manifest.files}
            now = {name: self._settled(path) for name, path in self._sources(team, aside)}
        return all(data is None or known.get(name) == _sum(data) for name, data in now.items())

    # What killed backups left.

    def partial(self, team: str) -> list[str]:
        folder = self._layout.backups(team)
        with explained(folder):
            return self._partial(folder)

    def _partial(self, folder: str) -> list[str]:
        return sorted(name for name in self._disk.names(folder) if name.startswith(PARTIAL))

    def sweep(self, team: str) -> None:
        folder = self._layout.backups(team)
        with explained(folder), self._locks.private(folder, PATIENT):
            for name in self._partial(folder):
                remove_tree(self._disk, f"{folder}/{name}")


def _age(name: str) -> tuple[str, int]:
    stamp, _, number = name.removeprefix(FINAL).partition("-")
    return stamp, int(number) if number.isdecimal() else 1


def _is_kept(relative: str) -> bool:
    """
    Locks, what another process is writing at the moment, signs of life and journals that were turned over are not worth
    keeping. A team that comes back gets a new secret: whoever has a copy of the old one must not speak in its name.
    """
    if relative == REPORT_SECRET or relative.startswith(f"{SYNC_FOLDER}/journal.jsonl."):
        return False
    name = relative.rpartition("/")[2]
    is_passing = name.startswith(".") and (".atm-" in name or ".new" in name or name.endswith(PLACING))
    return not (name.endswith(".lock") or is_passing or relative == "heartbeats") and is_safe_path(TEAM + relative)


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
