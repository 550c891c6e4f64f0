"""Our files as files, for `atm doctor`: whose they are, what they are, and whether there is room for more."""

from __future__ import annotations

import errno
import os

from atm.checkup.ports import Belonging, HomeOwner, HomeTrial, RoomLeft
from atm.files.adapters.processes import process_is_alive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from atm.files.formats.file_stamp import FileStamp
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

MOST_LOOKED_AT = 20_000
"""Archives and backups may hold more than anybody wants to wait for."""

TRIAL = ".atm-trial-"
TRIAL_SIZE = 8192

REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "full"),
    errno.EROFS: "read-only",
    errno.EACCES: "shut",
}


class HomeFiles:
    """The folders that the layout names, and everything below."""

    def __init__(self, disk: Disk, layout: Layout, environment: Mapping[str, str]) -> None:
        self._disk = disk
        self._layout = layout
        self._environment = environment
        self._names: dict[int, str] = {}

    def roots(self) -> tuple[str, ...]:
        return (*self._layout.private_roots, self._layout.teams, self._layout.task_lists)

    # The home.

    def missing_home(self) -> str:
        home = self._environment.get("ATM_HOME") or self._environment.get("HOME") or ""
        whole = os.path.abspath(home).replace(os.sep, "/") if home else ""
        is_used = any(root.startswith(f"{whole}/") for root in self.roots())
        return whole if whole and is_used and not os.path.isdir(whole) else ""

    def home_owner(self) -> HomeOwner:
        us: int = getattr(os, "geteuid", lambda: 0)()
        uid = os.stat(nearest(self._layout.claude_root)).st_uid if us == 0 else us
        return HomeOwner(uid, self._name(uid), is_asking_as_root=us == 0)

    def _name(self, uid: int) -> str:
        if uid not in self._names:
            self._names[uid] = _user_name(uid)
        return self._names[uid]

    def write_trials(self) -> list[HomeTrial]:
        layout = self._layout
        wanted = (layout.teams, layout.claude_root, *layout.private_roots)
        return [self._try(folder) for folder in dict.fromkeys(nearest(path) for path in wanted)]

    def _try(self, folder: str) -> HomeTrial:
        path = f"{folder}/{TRIAL}{os.getpid()}"
        try:
            self._remove_old_trials(folder)
            fd = self._disk.create(path)
            try:
                self._disk.write(fd, bytes(TRIAL_SIZE))
                self._disk.sync(fd)
            finally:
                self._disk.close(fd)
                self._disk.remove(path)
        except OSError as error:
            why = REASONS.get(error.errno or 0, "")
            owner = self.home_owner()
            if why == "shut" and os.stat(folder).st_uid != owner.uid:
                # Only what is surely meant to be ours is to be given to us: it may be /etc that somebody named.
                why = "foreign" if folder in (*self.roots(), self._layout.claude_root) else ""
            return HomeTrial(folder, error.strerror or str(error), why, owner.name)
        return HomeTrial(folder)

    def _remove_old_trials(self, folder: str) -> None:
        for name in self._disk.names(folder):
            pid = name.removeprefix(TRIAL)
            if pid != name and pid.isdecimal() and not process_is_alive(int(pid)):
                self._disk.remove(f"{folder}/{name}")

    def room_left(self) -> list[RoomLeft]:
        found: dict[int, RoomLeft] = {}
        for root in (self._layout.claude_root, *self._layout.private_roots) if hasattr(os, "statvfs") else ():
            folder = nearest(root)
            facts = os.statvfs(folder)
            inodes = facts.f_favail if facts.f_files else None
            found.setdefault(os.stat(folder).st_dev, RoomLeft(folder, facts.f_bavail * facts.f_frsize, inodes))
        return list(found.values())

    # What lies there.

    def belongings(self, teams: list[str]) -> Iterator[Belonging]:
        owner, left = self.home_owner(), MOST_LOOKED_AT
        kinds = Kinds(self._layout, teams)
        for root in self._layout.private_roots:
            left -= yield from self._below(root, owner, kinds, left)
        for team in teams:
            private = set(self._layout.private_in(team))
            for folder in (self._layout.team(team), self._layout.tasks(team)):
                left -= yield from self._below(folder, owner, kinds, left, private)

    def _below(
        self, top: str, owner: HomeOwner, kinds: Kinds, most: int, private: set[str] | None = None
    ) -> Generator[Belonging, None, int]:
        """Depth first; how many there were. In a folder of a team all but the `private` ones are shared."""
        waiting, count = [top], 0
        while waiting and count < most:
            path = waiting.pop()
            try:
                stamp = self._disk.look(path)
                names = self._disk.names(path) if stamp is not None and stamp.kind == "folder" else []
            except OSError:
                names = []  # it cannot be looked into; itself it is named all the same
            if stamp is None:
                continue
            count += 1
            is_shared = private is not None and not any(path == p or path.startswith(f"{p}/") for p in private)
            yield Belonging(
                path,
                stamp.kind,
                stamp.uid,
                self._name(stamp.uid),
                stamp.mtime_ns / 1e9,
                is_usable=_is_usable(path, stamp, owner),
                is_shared=is_shared,
                should_be=kinds.of(path) if stamp.kind in ("file", "folder") else "",
            )
            waiting += [f"{path}/{name}" for name in sorted(names, reverse=True)]
        return count


class Kinds:
    """What should lie where, as far as we know: a file or a folder."""

    def __init__(self, layout: Layout, teams: list[str]) -> None:
        state, config = layout.state_root, layout.config_root
        below = ("surfacing", "upkeep", "intents", "boards", "pasted", "plugins")
        folders = [state, config, layout.locks, layout.daemon, layout.spool_pending, layout.spool_failed]
        folders += [f"{config}/{name}" for name in ("archive", "backups", "share", "spool")]
        folders += [f"{state}/{name}" for name in below]
        files = [layout.settings, layout.claude_version, layout.trust, layout.daemon_settings, layout.access_tokens]
        files += [layout.drift_log, layout.hook_log, layout.vendor_files, layout.daemon_log]
        self._of_files = {layout.locks, f"{state}/boards", layout.spool_pending, layout.spool_failed}
        for team in teams:
            files += [layout.ledger(team), layout.task_history(team), layout.state(team), layout.completed_mark(team)]
            files += [layout.task_intent(team), layout.report_secret(team), layout.sync_journal(team)]
            folders += [layout.heartbeats(team), layout.sync_folder(team), f"{layout.our_data(team)}/endpoints"]
            self._of_files |= {layout.heartbeats(team), f"{layout.our_data(team)}/endpoints"}
            self._of_files |= {f"{state}/{name}/{team}" for name in ("surfacing", "upkeep", "intents")}
        self._known = {**dict.fromkeys(folders, "folder"), **dict.fromkeys(files, "file")}

    def of(self, path: str) -> str:
        """Folders of ours that hold files alone need no list of them."""
        return self._known.get(path) or ("file" if path.rpartition("/")[0] in self._of_files else "")


def nearest(path: str) -> str:
    """The folder itself, or the nearest one above it that is there."""
    while not os.path.isdir(path):
        above = os.path.dirname(path)
        if above == path:
            return path
        path = above
    return path


def _is_usable(path: str, stamp: FileStamp, owner: HomeOwner) -> bool:
    """By the owner of the home. Root, who asks for somebody else, can use everything and must look at the mode."""
    if stamp.uid == owner.uid or stamp.kind not in ("file", "folder"):
        return True
    if owner.is_asking_as_root:
        rights = 0o007 if stamp.kind == "folder" else 0o006
        return owner.uid == 0 or stamp.mode & rights == rights
    return os.access(path, os.R_OK | os.W_OK | (os.X_OK if stamp.kind == "folder" else 0))


def _user_name(uid: int) -> str:
    """As `chown` takes it: the name, or the number of somebody without one."""
    try:
        from pwd import getpwuid

        return getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)
