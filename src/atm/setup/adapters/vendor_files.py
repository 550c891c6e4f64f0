"""
The settings files of agent CLIs on disk: implements `ports.vendor_files.VendorFiles`.

A file is replaced as a whole: the new version is written beside it and renamed over it, with the mode and owner of the
old one. The CLI that owns it knows nothing of our locks, so the file is read once more before the rename, and the
change is made again on what is there then. A link is followed and stays a link.

Where nothing was before we came, that is noted under our own state folder, before the file is made.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys

from atm.core.errors import FileBusy, OutsideLink, UnreadableFile, WriteRefused
from atm.files.adapters.refusals import explained
from atm.files.adapters.whole_files import read_whole, temporary_of, write_over
from atm.files.formats.json_record import NotJson, decode_object, indent, to_bytes, to_text
from atm.vendors.settings import Before, Surroundings
from atm.vendors.settings_files import settings_of
from atm.vendors.settings_hooks import is_blank
from atm.vendors.versions import parse_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.core.plain import Plain
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.vendors.settings import ConfigFile
    from atm.vendors.vendor import Vendor

LARGEST_FILE = 32 << 20
"""Bytes. A larger settings file is a mistake, and to read it would be another."""

PATIENT = 30.0
"""Seconds that `atm init` waits for another one: it is typed once, and nobody's message waits for it."""

MOST_ROUNDS = 20
"""A program that changes its settings between every two of our looks is an attack."""

MOST_FOLDERS = 6
"""Above a program, in which its package may be."""
VERSION_SIGNS = frozenset("0123456789.")

NEW_FILE, PRIVATE_FILE = 0o644, 0o600
_ANY_WRITE = 0o222


class VendorFilesOnDisk:
    """One user's files, and those in a project."""

    __slots__ = ("_disk", "_environment", "_layout", "_locks", "_notes", "_permits")

    def __init__(
        self,
        locks: Locks,
        layout: Layout,
        environment: Mapping[str, str],
        *,
        permits: Callable[[bool], bool] = lambda _: False,
    ) -> None:
        self._permits = permits
        self._disk = locks.disk
        self._locks = locks
        self._layout = layout
        self._environment = environment
        self._notes = Notes(locks, layout.vendor_files)

    # Where things are.

    def places(self, project: str) -> Surroundings:
        sandbox = self._folder("ATM_HOME")
        return Surroundings(
            home=sandbox or self._folder("HOME") or self._folder("USERPROFILE"),
            project=_with_slashes(os.path.abspath(project)),
            claude_root=self._layout.claude_root,
            is_sandbox=bool(sandbox),
            platform=sys.platform,
            folder_of=self._folder,
        )

    def _folder(self, variable: str) -> str:
        value = self._environment.get(variable)
        return _with_slashes(os.path.abspath(value)) if value else ""

    def evidence(self, vendor: Vendor, places: Surroundings) -> str:
        known = settings_of(vendor.name)
        for program in known.programs:
            if found := self._on_path(program):
                return found
        root = known.root(places)
        try:
            names = self._disk.names(root) if root else []
        except OSError:
            return "" if known.evidence else root  # it is there, though not for us to look into
        return root if any(map(known.is_evidence, names)) else ""

    def version(self, vendor: Vendor) -> str:
        """npm links to a file of the package; others put each version into a folder that is called so."""
        programs = settings_of(vendor.name).programs
        found = next((path for program in programs if (path := self._on_path(program))), "")
        here = os.path.realpath(found) if found else ""
        for _ in range(MOST_FOLDERS):
            name, here = os.path.basename(here), os.path.dirname(here)
            if parse_version(name) is not None and VERSION_SIGNS.issuperset(name):
                return name
            if len(here) > 1 and (version := self._packaged(f"{here}/package.json", vendor)):
                return version
        return ""

    def _packaged(self, path: str, vendor: Vendor) -> str:
        try:
            if self._disk.look(path) is None:
                return ""
            fields = decode_object(to_text(read_whole(self._disk, path)))
        except (OSError, NotJson):
            return ""
        name, version = str(fields.get("name")), str(fields.get("version"))
        is_its = bool(vendor.package) and name.startswith((vendor.package, f"{vendor.name}-"))
        return version if is_its and parse_version(version) is not None else ""

    def program(self) -> tuple[str, ...]:
        if self._on_path("atm"):
            return ("atm",)
        beside_python = os.path.join(os.path.dirname(sys.executable), "atm.exe" if os.name == "nt" else "atm")
        for path in (sys.argv[0], beside_python):
            if os.path.basename(path).lower() in ("atm", "atm.exe") and os.access(path, os.X_OK):
                return (_with_slashes(os.path.abspath(path)),)
        return (_with_slashes(os.path.abspath(sys.executable)), "-m", "atm")

    def permits(self, *, project: bool) -> bool:
        return self._permits(project)

    def can_serve(self) -> bool:
        return importlib.util.find_spec("mcp") is not None

    def _on_path(self, program: str) -> str:
        return shutil.which(program, path=self._environment.get("PATH", "")) or ""

    # One file.

    def read(self, file: ConfigFile) -> str | None:
        with explained(file.path):
            data = self._content(self._real(file), file)
        return None if data is None else to_text(data)

    def change(self, file: ConfigFile, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
        with explained(file.path):
            real = self._real(file)
            with self._locks.private(real, PATIENT):
                for _ in range(MOST_ROUNDS):
                    data = self._content(real, file)
                    before = None if data is None else to_text(data)
                    after = change(before)
                    if after == before or self._put(real, file, data, after):
                        return before, after
        raise FileBusy(f"{file.path} is changed all the time by another program", "stop that program", file.path)

    def before(self, file: ConfigFile) -> Before | None:
        noted = self._notes.read().get(self._disk.real_path(file.path))
        if not isinstance(noted, dict) or "before" not in noted:
            return None
        text = noted["before"]
        return Before(text if isinstance(text, str) else None)

    def forget(self, file: ConfigFile) -> None:
        real = self._disk.real_path(file.path)
        noted = self._notes.read().get(real)
        if noted is None:
            return
        with explained(file.path):
            folders = noted.get("folders") if isinstance(noted, dict) else None
            left: list[str] = []
            if isinstance(folders, list) and self._disk.look(real) is None:
                left = self._remove_empty([str(folder) for folder in folders])
            self._notes.change(lambda notes: _forget(notes, real, left))

    def _remove_empty(self, folders: list[str]) -> list[str]:
        """Those that stay, because the user or another program keeps something in them."""
        while folders:
            try:
                self._disk.remove_folder(folders[-1])
            except FileNotFoundError:
                pass
            except OSError:
                break
            folders.pop()
        return folders

    def _real(self, file: ConfigFile) -> str:
        real = self._disk.real_path(file.path)
        if file.within and not real.startswith(self._disk.real_path(file.within).rstrip("/") + "/"):
            raise OutsideLink(
                f"{file.path} is a link that leads out of the project, to {real}",
                "replace the link by a file, or use --user",
                file.path,
            )
        return real

    def _content(self, real: str, file: ConfigFile) -> bytes | None:
        found = self._disk.look(real)
        if found is None:
            return None
        if found.kind != "file":
            what = {"folder": "a folder", "link": "a link that leads nowhere"}.get(found.kind, "not a plain file")
            raise UnreadableFile(f"{file.path} is {what}", "put a settings file there, or nothing", file.path)
        if found.size > LARGEST_FILE:
            raise UnreadableFile(
                f"{file.path} has {found.size:,} bytes, too many for settings", "look what is in it", file.path
            )
        return read_whole(self._disk, real)

    def _put(self, real: str, file: ConfigFile, data: bytes | None, after: str | None) -> bool:
        """Put the new version in place; False if another program has changed the file meanwhile."""
        if data is not None:
            _check_writable(self._disk, real, file)
        if after is None:
            return self._remove(real, file, data)
        folder = real.rpartition("/")[0]
        if data is None or is_blank(to_text(data)):
            self._note_before(real, None if data is None else to_text(data), _missing_folders(self._disk, folder))
        self._disk.make_folders(folder)
        temporary = self._written_beside(real, to_bytes(after), PRIVATE_FILE if file.is_private else NEW_FILE)
        if self._content(real, file) != data:
            self._disk.remove(temporary)
            return False
        self._disk.rename(temporary, real)
        self._disk.sync_folder(folder)
        return True

    def _written_beside(self, real: str, data: bytes, mode: int) -> str:
        temporary = temporary_of(real)
        if self._disk.look(temporary) is not None:  # a killed process left it; we hold the lock, so it is dead
            self._disk.remove(temporary)
        fd = self._disk.create(temporary, like=self._disk.look(real), mode=mode)
        try:
            self._disk.write(fd, data)
            self._disk.sync(fd)
        except BaseException:  # Ctrl-C too: half a file must not stay
            self._disk.close(fd)
            self._disk.remove(temporary)
            raise
        self._disk.close(fd)
        return temporary

    def _remove(self, real: str, file: ConfigFile, data: bytes | None) -> bool:
        if self._content(real, file) != data:
            return False
        self._disk.remove(real)
        self._disk.sync_folder(real.rpartition("/")[0])
        return True

    def _note_before(self, real: str, text: str | None, folders: list[str]) -> None:
        def note(notes: dict[str, Plain]) -> None:
            former = notes.get(real)
            made = former.get("folders") if isinstance(former, dict) else None  # by a process that was killed since
            notes[real] = {"before": text, "folders": [*(made if isinstance(made, list) else []), *folders]}

        self._notes.change(note)


class Notes:
    """What we remember of files that we made, by their real paths."""

    __slots__ = ("_disk", "_locks", "_path")

    def __init__(self, locks: Locks, path: str) -> None:
        self._disk = locks.disk
        self._locks = locks
        self._path = path

    def read(self) -> dict[str, Plain]:
        """Notes that cannot be read are none: then a file that we made stays behind, empty, and nobody loses one."""
        try:
            return decode_object(to_text(read_whole(self._disk, self._path)))
        except (OSError, NotJson):
            return {}

    def change(self, change: Callable[[dict[str, Plain]], object]) -> None:
        self._disk.make_folders(self._path.rpartition("/")[0], private=True)
        with self._locks.private(self._path, PATIENT):
            notes = self.read()
            former = dict(notes)
            change(notes)
            if notes != former:
                write_over(self._disk, self._path, to_bytes(indent(notes) + "\n"))


def _forget(notes: dict[str, Plain], real: str, left: list[str]) -> None:
    """Folders that stay because a file of ours is still in them go with that one: two vendors share `~/.gemini`."""
    notes.pop(real, None)
    for path, note in notes.items():
        shared: list[Plain] = [folder for folder in left if path.startswith(f"{folder}/")]
        if shared and isinstance(note, dict):
            made = note.get("folders")
            notes[path] = {**note, "folders": [*shared, *(made if isinstance(made, list) else [])]}
            return


def _with_slashes(path: str) -> str:
    return path.replace(os.sep, "/")


def _check_writable(disk: Disk, real: str, file: ConfigFile) -> None:
    """To rename a new file over it would get past a read-only mark, and past whoever set it on purpose."""
    found = disk.look(real)
    if found is not None and (not found.mode & _ANY_WRITE or not os.access(real, os.W_OK)):
        raise WriteRefused(f"{file.path} is read-only", "make it writable, or change it where it comes from", file.path)


def _missing_folders(disk: Disk, folder: str) -> list[str]:
    """Folders that will be made, from the outermost."""
    missing: list[str] = []
    while folder and disk.look(folder) is None:
        missing.insert(0, folder)
        folder = folder.rpartition("/")[0]
    return missing
