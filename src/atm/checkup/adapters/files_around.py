"""Looking around for `atm doctor`: implements `checkup.ports.FilesAround`."""

from __future__ import annotations

import os

from atm.checkup.adapters.home_files import HomeFiles
from atm.checkup.ports import FoundLock, HeldLock, LoosePath
from atm.checkup.rules import private_mode
from atm.core.names import is_safe_name
from atm.files.adapters.locking import break_lock
from atm.files.adapters.processes import process_is_alive
from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.files.formats.layout import inbox_owner
from atm.setup.adapters.installation import read_installation
from atm.team.formats.team_config import member_names, unknown_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.setup.rules.installation import Installation


class FilesOnDisk(HomeFiles):
    """The real files."""

    def __init__(self, disk: Disk, clock: Clock, layout: Layout, environment: Mapping[str, str], *, host: str) -> None:
        super().__init__(disk, layout, environment)
        self._clock = clock
        self._host = host

    def installation(self) -> Installation:
        return read_installation()

    def locks(self, team: str) -> list[FoundLock]:
        folders = (self._layout.team(team), self._layout.inboxes(team), self._layout.tasks(team))
        paths = [f"{folder}/{name}" for folder in folders for name in sorted(self._disk.names(folder))]
        return [lock for path in paths if path.endswith((".json.lock", ".lock.lock")) and (lock := self._lock(path))]

    def _lock(self, path: str) -> FoundLock | None:
        found = self._disk.look(path)
        if found is None:
            return None
        age = max(0.0, self._clock.now() - found.mtime_ns / 1e9)
        owner, who = self._owner(path) if found.kind == "file" else ("unknown", "a lock directory names nobody")
        empty = found.kind != "folder" or not self._disk.names(path)
        pid = self._body(path).get("pid") if found.kind == "file" else None
        return FoundLock(path, found.kind, age, owner, who, empty, pid if isinstance(pid, int) else None)

    def _owner(self, path: str) -> tuple[str, str]:
        body = self._body(path)
        pid, host = body.get("pid"), body.get("host", self._host)
        if not isinstance(pid, int):
            return "unknown", "its body names no process"
        if host != self._host:
            return "unknown", f"process {pid} on {host}"
        return ("alive" if process_is_alive(pid) else "dead"), f"process {pid}"

    def held(self) -> list[HeldLock]:
        found = []
        for name in sorted(self._disk.names(self._layout.locks)):
            body = self._body(f"{self._layout.locks}/{name}")
            pid = body.get("pid")
            if isinstance(pid, int):
                target, since = str(body.get("target", "")), str(body.get("createdAt", ""))
                found.append(HeldLock(target, pid, since, process_is_alive(pid)))
        return found

    def _body(self, path: str) -> dict[str, Plain]:
        try:
            return decode_object(to_text(read_whole(self._disk, path)))
        except (OSError, NotJson):
            return {}

    def leftovers(self, team: str) -> list[str]:
        found = []
        for folder in (self._layout.team(team), self._layout.inboxes(team), self._layout.tasks(team)):
            for name in sorted(self._disk.names(folder)):
                _, mark, number = name.partition(".atm-")
                pid = number.partition("-")[0]
                if name.startswith(".") and mark and pid.isdecimal() and not process_is_alive(int(pid)):
                    found.append(f"{folder}/{name}")
        return found

    def loose_paths(self, teams: list[str]) -> list[LoosePath]:
        found = self._open_to_others(self._layout.private_roots)  # below one that is closed, all is out of reach
        for team in teams:
            folder = self._layout.our_data(team)
            if self._disk.real_path(folder) == f"{self._disk.real_path(self._layout.teams)}/{team}":
                found += self._open_to_others(self._layout.private_in(team))
            found += self._unwritable(team)
        return [*found, *self._shut(teams)]

    def _open_to_others(self, paths: tuple[str, ...]) -> list[LoosePath]:
        found = []
        for path in paths if os.name != "nt" else ():  # modes say nothing there
            stamp = self._disk.look(path)
            if stamp is not None and stamp.kind in ("file", "folder") and stamp.mode & 0o077:
                mode = private_mode(stamp.mode, stamp.kind)
                found.append(LoosePath(path, stamp.mode, mode, "other users can reach what is ours"))
        return found

    def _shut(self, teams: list[str]) -> list[LoosePath]:
        """Ours, and yet we may not: a folder without one of its rights, a file that cannot be read or written."""
        us, found = self.home_owner().uid, []
        for one in self.belongings(teams) if os.name != "nt" else ():
            stamp = self._disk.look(one.path) if one.uid == us and not one.is_shared else None
            if stamp is not None and stamp.kind in ("file", "folder"):
                mode = stamp.mode | private_mode(stamp.mode, stamp.kind)
                if mode != stamp.mode:
                    found.append(LoosePath(one.path, stamp.mode, mode, "its owner cannot use it"))
        return found

    def _unwritable(self, team: str) -> list[LoosePath]:
        folder = self._layout.inboxes(team)
        if self._disk.real_path(folder) != f"{self._disk.real_path(self._layout.teams)}/{team}/inboxes":
            return []  # behind a link: not ours to change
        paths = [folder, *(f"{folder}/{n}" for n in self._disk.names(folder) if n.endswith(".json"))]
        found = []
        for path in paths:
            stamp = self._disk.look(path)
            if stamp is not None and stamp.kind in ("file", "folder") and not stamp.mode & 0o200:
                found.append(
                    LoosePath(path, stamp.mode, stamp.mode | 0o200, "its owner cannot write it, so mail waits")
                )
        return found

    def other_home(self) -> str | None:
        home = self._environment.get("HOME") or ""
        usual = f"{home.rstrip('/')}/.claude"
        if not home or self._disk.real_path(usual) == self._disk.real_path(self._layout.claude_root):
            return None
        return usual if self._disk.names(f"{usual}/teams") else None

    def unsafe_names(self, team: str) -> list[str]:
        owners = [inbox_owner(name) for name in self._disk.names(self._layout.inboxes(team))]
        try:
            members = member_names(read_whole(self._disk, self._layout.team_config(team)))
        except (OSError, NotJson):
            members = []
        return sorted({name for name in [*owners, *members] if name is not None and not is_safe_name(name)})

    def team_folder(self, team: str) -> list[str]:
        try:
            return self._disk.names(self._layout.team(team))
        except OSError:
            return []

    def unknown_team_fields(self, team: str) -> list[str]:
        try:
            return unknown_fields(read_whole(self._disk, self._layout.team_config(team)))
        except (OSError, NotJson):
            return []

    def break_lock(self, path: str) -> bool:
        break_lock(self._disk, path)
        return self._disk.look(path) is None

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def touch(self, path: str) -> None:
        self._disk.touch(path)

    def tighten(self, path: LoosePath) -> None:
        found = self._disk.look(path.path)
        if found is not None and found.kind in ("file", "folder") and found.mode == path.mode:
            self._disk.chmod(path.path, path.should_be | path.mode & 0o700)  # never less for its owner
