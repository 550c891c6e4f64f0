"""
Which folders matter to the daemon, and what a change in one of them is about.

On Linux the kernel tells (`inotify`, directly: other ways to it look at a clock many times a second), and a quiet
machine costs nothing. Elsewhere, and when the user's watches are used up, `native` is False: then the caller calls
`collect` once a second, and the folders are looked through.

What is told is a hint: this inbox, that board may be different now. Nothing here reads a file. Changes made on
another machine of a network file system do not reach our kernel: pass `native=False` there.

    watch = TreeWatch(layout)             # first: from here on nothing is missed
    events.prime()                        # then look at what there is
    loop.add_reader(watch.fileno(), …)    # and call collect()
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from atm.board.formats.task import task_number
from atm.core.names import is_safe_name
from atm.events.adapters.inotify import Inotify, ways_to
from atm.files.formats.layout import REPO_FILES, inbox_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.events.adapters.inotify import Changes
    from atm.files.formats.layout import Layout

KINDS = ("teams", "rescan", "roster", "tasks", "inbox", "ledger", "spool", "endpoints", "heartbeat", "settings")
"""In the order in which `collect` tells them: whoever is gone is known to be gone before anything else is read."""

TEAMS, LISTS, OWN_TEAMS = "teams", "lists", "own teams"
TEAM, OWN_TEAM, INBOXES, LIST, HEARTBEATS, ENDPOINTS = "team", "own team", "inboxes", "list", "heartbeats", "endpoints"
PENDING, SETTINGS = "pending", "settings"

ARRIVALS: dict[str, tuple[str, ...]] = {TEAM: ("teams",), LIST: ("tasks",)}
"""What may be different when a folder is there that was not, beside what is in it."""

LOSSES: dict[str, tuple[str, ...]] = {
    TEAM: ("teams", "rescan"),
    LIST: ("tasks",),
    OWN_TEAM: ("ledger", "heartbeat", "endpoints"),
    HEARTBEATS: ("heartbeat",),
    ENDPOINTS: ("endpoints",),
    PENDING: ("spool",),
    SETTINGS: ("settings",),
    **dict.fromkeys((INBOXES, TEAMS, LISTS, OWN_TEAMS), ("rescan",)),
}
"""What may be different when a folder is gone, or another one lies at its place."""

REPO_FOLDER = ".atm"
HIGH_WATER = ".highwatermark"
MOST_SETTLING = 10
TICK_NS = 20_000_000
"""A file that changed so shortly before we looked may change again within the same time stamp."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Something that may be different now. Without a name: any of that kind. `rescan` without a team: anything."""

    kind: str
    team: str = ""
    name: str = ""
    """The member, the spooled file's name, or the path of the settings file."""


RESCAN = Touched("rescan")


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """What a folder is for."""

    kind: str
    team: str = ""

    def said_by(self, table: dict[str, tuple[str, ...]]) -> list[Touched]:
        return [Touched(kind, self.team) for kind in table.get(self.kind, ())]


class WatchedPlaces:
    """What the names in a folder mean. Knows paths, touches none."""

    def __init__(self, layout: Layout, settings: Iterable[str]) -> None:
        self._layout = layout
        self._files = {layout.settings, layout.daemon_settings, layout.trust}
        folders = {layout.config_root: None}
        for path in settings:
            is_file = path.endswith(".toml")
            self._files |= {path} if is_file else {f"{path}/{name}" for name in REPO_FILES}
            folders[os.path.dirname(path) if is_file else path] = None
        self.roots: list[tuple[str, WatchedPlace]] = [
            (layout.teams, WatchedPlace(TEAMS)),
            (layout.task_lists, WatchedPlace(LISTS)),
            (os.path.dirname(layout.our_data("session-")), WatchedPlace(OWN_TEAMS)),
            (layout.spool_pending, WatchedPlace(PENDING)),
            *((folder, WatchedPlace(SETTINGS)) for folder in folders),
        ]

    def inside(self, place: WatchedPlace, folder: str, name: str) -> WatchedPlace | None:
        """What a folder in this folder is for; None if it is nothing to us."""
        if not is_safe_name(name):
            is_repos = place.kind == SETTINGS and f"{folder}/{name}/config.toml" in self._files
            return place if is_repos else None
        if place.kind in (TEAM, OWN_TEAM):
            return self._inside_team(f"{folder}/{name}", place.team)
        kind = {TEAMS: TEAM, LISTS: LIST, OWN_TEAMS: OWN_TEAM}.get(place.kind)
        return WatchedPlace(kind, name) if kind else None

    def _inside_team(self, path: str, team: str) -> WatchedPlace | None:
        endpoints = os.path.dirname(self._layout.endpoint(team, "x"))
        known = {self._layout.inboxes(team): INBOXES, self._layout.heartbeats(team): HEARTBEATS, endpoints: ENDPOINTS}
        return WatchedPlace(known[path], team) if path in known else None

    def file_meaning(self, place: WatchedPlace, folder: str, name: str) -> Touched | None:
        """What it says when a file of this name changes; None for locks, temporary files and what is not ours."""
        if place.kind == SETTINGS:
            path = f"{folder}/{name}"
            return Touched("settings", "", path) if path in self._files else None
        if place.kind == LIST:
            return Touched("tasks", place.team) if name == HIGH_WATER or task_number(name) is not None else None
        if name.startswith(".") or name.endswith((".lock", ".tmp")):
            return None
        if place.kind == PENDING:
            return Touched("spool", "", name)
        if place.kind in (TEAM, OWN_TEAM):
            return self._team_file(f"{folder}/{name}", place.team)
        kind = {INBOXES: "inbox", HEARTBEATS: "heartbeat", ENDPOINTS: "endpoints"}.get(place.kind)
        member = inbox_owner(name)
        return Touched(kind, place.team, member) if kind and member and is_safe_name(member) else None

    def _team_file(self, path: str, team: str) -> Touched | None:
        if path == self._layout.ledger(team):
            return Touched("ledger", team)
        about = (self._layout.team_config(team), self._layout.completed_mark(team), self._layout.state(team))
        return Touched("roster", team) if path in about else None


class TreeWatch:
    """
    Watches everything that matters below a layout's roots, whether they exist yet or not. For one thread at a time.

    `settings` are folders of repositories whose settings files matter, or settings files (`*.toml`) themselves.
    """

    def __init__(
        self, layout: Layout, settings: Iterable[str] = (), *, native: bool = True, notifier: Inotify | None = None
    ) -> None:
        self._layout = layout
        self._places = WatchedPlaces(layout, settings)
        self._notifier = notifier or (_open_notifier() if native else None)
        self._watched: dict[str, WatchedPlace] = {}
        self._ways: dict[str, set[str]] = {}
        """Folders on the way to a root, and the names in them that lead there. Other names are not our business."""
        self._refused: dict[str, WatchedPlace | None] = {}
        """Folders for which there were no watches left; None for one on the way."""
        self._touched: dict[Touched, None] = {}
        self._seen: dict[Touched, int] | None = None
        self._is_closed = False
        self._settle()
        self._touched = {}
        if not self.native:
            self._seen = self._survey()

    @property
    def native(self) -> bool:
        """Does the system tell us everything? If not, call `collect` once a second as well."""
        return self._notifier is not None and not self._refused

    def fileno(self) -> int | None:
        """Readable when there is something to collect; None if only looking helps, and after `close`."""
        fd = self._notifier.fd if self._notifier is not None else -1
        return fd if fd >= 0 else None

    def watch_settings_of(self, settings: Iterable[str]) -> None:
        """From now on these settings files matter, instead of those that were named before."""
        self._places = WatchedPlaces(self._layout, settings)
        kept = {folder for path, _ in self._places.roots for folder in (path, f"{path}/{REPO_FOLDER}")}
        for folder in [folder for folder, place in self._watched.items() if place.kind == SETTINGS]:
            if folder not in kept:
                self._leave(folder)
        self._settle()
        if self._seen is not None:
            self._seen = self._survey() | {old: stamp for old, stamp in self._seen.items() if old.kind != "settings"}

    def collect(self) -> list[Touched]:
        """What may be different since the last call, each once. Never waits."""
        if self._is_closed:
            return []
        if self._notifier is not None:
            self._take_in(self._notifier.read())
            self._try_refused()
        if not self.native:
            self._compare()
        return self._told()

    def close(self) -> None:
        self._is_closed = True
        if self._notifier is not None:
            self._notifier.close()

    def _told(self) -> list[Touched]:
        touched, self._touched = self._touched, {}
        if RESCAN in touched:
            return [RESCAN]
        again = {one.team for one in touched if one.kind == "rescan"}
        told = [one for one in touched if one.team not in again or one.kind not in ("roster", "tasks", "inbox")]
        return sorted(told, key=lambda one: KINDS.index(one.kind))

    def _tell(self, *touched: Touched | None) -> None:
        self._touched |= {one: None for one in touched if one is not None}

    # As the kernel tells.

    def _take_in(self, changes: Changes) -> None:
        if changes.overflowed:
            self._start_over()
            return
        must_settle = not changes.lost.isdisjoint(self._ways)
        for folder in changes.lost & self._watched.keys():
            if folder in self._watched:  # it may have gone with the folder that it was in
                self._enter(folder, self._watched[folder])
        unclosed = changes.unclosed
        for folder, name, is_folder in changes.paths:
            must_settle = must_settle or name in self._ways.get(folder, ())
            place = self._watched.get(folder)
            if place is not None and is_folder:
                self._look_into(place, folder, name)
            elif place is not None:
                meaning = self._places.file_meaning(place, folder, name)
                # Writers in place make a file empty first. Whoever reads at that moment learns nothing and has to
                # try again; but the writer is not done, so there will be more news.
                is_half_made = meaning is not None and (folder, name) in unclosed and _is_empty(f"{folder}/{name}")
                self._tell(None if is_half_made else meaning)
        if must_settle:
            self._settle()

    def _look_into(self, place: WatchedPlace, folder: str, name: str) -> None:
        inner = self._places.inside(place, folder, name)
        if inner is not None:
            self._enter(f"{folder}/{name}", inner)

    def _enter(self, folder: str, place: WatchedPlace) -> None:
        """Watch what lies here now, and everything in it, unless it is the folder that we watch already."""
        assert self._notifier is not None
        former = self._notifier.watch_of(folder) if folder in self._watched else None
        if self._watch(folder, place) and former is not None and former == self._notifier.watch_of(folder):
            return
        self._leave(folder, but_watch_it=True)
        if self._notifier.watch_of(folder) is None:
            return
        self._watched[folder] = place
        self._tell(*place.said_by(ARRIVALS))
        # First the watch, then the look: what comes in between is told twice, and nothing never.
        for name, is_folder in _entries(folder):
            if is_folder:
                self._look_into(place, folder, name)
            else:
                self._tell(self._places.file_meaning(place, folder, name))

    def _watch(self, folder: str, place: WatchedPlace | None) -> bool:
        """Links are followed on the way to a root. Below it they could lead anywhere: nobody reads what is there."""
        assert self._notifier is not None
        self._notifier.is_exhausted = False
        is_root = place is None or (folder, place) in self._places.roots
        is_watched = self._notifier.add(folder, names_only=place is None, follow=is_root)
        self._refused.pop(folder, None)
        if self._notifier.is_exhausted:
            self._refused[folder] = place
        return is_watched

    def _leave(self, folder: str, *, but_watch_it: bool = False) -> None:
        """Forget a folder that is gone, or is another one now, and everything that was in it."""
        assert self._notifier is not None
        place = self._watched.pop(folder, None)
        if place is None:
            return
        self._tell(*place.said_by(LOSSES))
        for path in [path for path in self._watched if path.startswith(f"{folder}/")]:
            del self._watched[path]
            self._notifier.drop(path)
        if not but_watch_it:
            self._notifier.drop(folder)

    def _settle(self) -> None:
        """Watch every root that exists, and the ways to all of them, so that the others are noticed when they come."""
        if self._notifier is None:
            return
        for _ in range(MOST_SETTLING):
            ways = ways_to([path for path, _ in self._places.roots])
            former, self._ways = self._ways, ways
            for folder in ways:
                self._watch(folder, None)
            for folder in former.keys() - ways.keys():
                self._notifier.drop(folder)
            # A folder that came before the watch on its parent did was told by nobody: is the way still the same?
            if ways == ways_to([path for path, _ in self._places.roots]):
                break
        for path, place in self._places.roots:
            self._enter(path, place)

    def _start_over(self) -> None:
        """News was lost: folders may have come, gone or been replaced. What did not change keeps its watch."""
        assert self._notifier is not None
        former, self._watched, self._refused = self._watched, {}, {}
        self._settle()
        for folder in former.keys() - self._watched.keys():
            self._notifier.drop(folder)
        self._touched = {RESCAN: None}

    def _try_refused(self) -> None:
        if not self._refused:
            return
        refused, self._refused = self._refused, {}
        self._settle()
        for folder, place in refused.items():
            if place is not None:
                self._enter(folder, place)
        if not self._refused:
            self._seen = None

    # As we see for ourselves.

    def _compare(self) -> None:
        former, self._seen = self._seen, self._survey()
        if former is None:  # until now the kernel told; what it could not tell is somewhere
            self._tell(RESCAN)
        else:
            self._tell(*(one for one in {**former, **self._seen} if former.get(one) != self._seen.get(one)))

    def _survey(self) -> dict[Touched, int]:
        """Everything that matters, with a number that is another one when it looks different."""
        found: dict[Touched, int] = {}
        for path, place in self._places.roots:
            self._look_through(path, place, found)
        return found

    def _look_through(self, folder: str, place: WatchedPlace, found: dict[Touched, int]) -> None:
        for arrival in place.said_by(ARRIVALS):
            found[arrival] = found.get(arrival, 0) ^ _stamp(folder, is_folder=True)
        for name, is_folder in _entries(folder):
            inner = self._places.inside(place, folder, name) if is_folder else None
            meaning = self._places.file_meaning(place, folder, name) if not is_folder else None
            if inner is not None:
                self._look_through(f"{folder}/{name}", inner, found)
            elif meaning is not None:
                found[meaning] = found.get(meaning, 0) ^ _stamp(f"{folder}/{name}", is_folder=False)


def _open_notifier() -> Inotify | None:
    try:
        return Inotify()
    except OSError:
        return None


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder itself; nothing if it cannot be looked into."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _is_empty(path: str) -> bool:
    try:
        return os.lstat(path).st_size == 0
    except OSError:
        return False


def _stamp(path: str, *, is_folder: bool) -> int:
    try:
        seen = os.lstat(path)
    except OSError:
        return 0
    if is_folder:
        return hash((path, seen.st_dev, seen.st_ino))
    is_fresh = time.time_ns() - seen.st_mtime_ns < TICK_NS
    return hash((path, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, is_fresh))
