"""Rosters on disk: `teams/{team}/config.json`."""

from __future__ import annotations

from atm.core.errors import FileBusy, NoSuchTeam, OutsideLink, TeamNotOurs, UnreadableFile
from atm.core.names import find_name, is_claudes_team, nearest_name, same_name
from atm.files.adapters.locking import PATIENCE
from atm.files.adapters.refusals import RealRoot, explained, refused
from atm.files.adapters.whole_files import read_whole, write_new, write_over
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.team.formats.team_config import decode_team, member_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.archive import ArchiveFolder
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.team.rules.team import Team

READ_TRIES, READ_NAP = 5, 0.02
SETTLED = 2.0
MOST_KNOWN = 500


class TeamStore:
    """Implements `mail.ports.stores.Rosters`."""

    __slots__ = ("_archive", "_clock", "_disk", "_known", "_layout", "_locks", "_root")

    def __init__(
        self, disk: Disk, clock: Clock, locks: Locks, layout: Layout, archive: Callable[[], ArchiveFolder]
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout
        self._archive = archive
        self._root = RealRoot(disk, layout.teams)
        self._known: dict[str, tuple[tuple[int, ...], Team]] = {}

    def teams(self) -> list[str]:
        with explained(self._layout.teams):
            names = self._disk.names(self._layout.teams)
        return sorted(name for name in names if not name.startswith(".") and self._is_team(name))

    def _is_team(self, name: str) -> bool:
        """A folder that we may not look into may well be one: whoever loads it is told, and the others are found."""
        try:
            return self._disk.look(self._layout.team_config(name)) is not None
        except PermissionError:
            return True

    def find(self, team: str) -> str | None:
        with explained(self._layout.team(team)):
            if self._disk.look(self._layout.team_config(team)) is not None:
                return team
        return find_name(team, self.teams())

    def load(self, team: str) -> Team:
        with explained(self._layout.team_config(team)):
            path = self._inside(team)
        problem = ""
        for attempt in range(READ_TRIES):
            if attempt:
                self._clock.sleep(READ_NAP)
            try:
                return self._stamped(self._decoded(team, path), path)
            except (FileNotFoundError, NotADirectoryError):
                raise self._no_such(team) from None
            except NotJson as error:
                problem = str(error)
            except OSError as error:
                raise refused(path, error) from error
        raise UnreadableFile(f"{path} cannot be read as a team: {problem}", "mend it, or restore a backup", path)

    def _decoded(self, team: str, path: str) -> Team:
        """
        A daemon looks at the same roster all day, and one of a thousand members takes 40 ms to decode. One that was
        written a moment ago is read all the same: a second write within a tick of the file system's clock, of the
        same size, would not show.
        """
        stamp = self._disk.look(path)
        version = (stamp.dev, stamp.ino, stamp.size, stamp.mtime_ns) if stamp is not None else ()
        known = self._known.get(team)
        if known is not None and known[0] == version:
            return known[1].copy()
        found = decode_team(read_whole(self._disk, path), team)
        if stamp is not None and self._clock.now() - stamp.mtime_ns / 1e9 > SETTLED:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[team] = (version, found.copy())
        return found

    def _stamped(self, team: Team, path: str) -> Team:
        stamp = self._disk.look(path)
        team.read_from = path
        team.written_at = stamp.mtime_ns / 1e9 if stamp else None
        team.completed = self.is_completed(team.name)
        team.lead_is_away = self.is_lead_away(team.name)
        return team

    def is_completed(self, team: str) -> bool:
        path = self._layout.completed_mark(team)
        with explained(path):
            return not is_claudes_team(team) and self._disk.look(path) is not None

    def is_lead_away(self, team: str) -> bool:
        path = self._layout.lead_away(team)
        if is_claudes_team(team) or self._disk.look(path) is None:
            return False
        from atm.files.adapters.processes import began, boot_id
        from atm.team.formats.lead_fields import decode_away

        try:
            pid, when, boot = decode_away(read_whole(self._disk, path))
        except OSError:
            return False
        return pid > 0 and boot == boot_id() and began(pid) == when != ""

    def _no_such(self, team: str) -> NoSuchTeam:
        known = self.teams()
        near = nearest_name(team, known)
        if near:
            remedy = f"did you mean {near!r}?"
        elif known:
            remedy = f"known teams: {', '.join(known[:10])}"
        else:
            from atm.core.untrusted_text import shell_words

            remedy = f"create it with `atm teams create {shell_words(team)}`"
        return NoSuchTeam(f"there is no team {team!r} under {self._layout.teams}", remedy, self._layout.team(team))

    def _inside(self, team: str) -> str:
        path = self._layout.team_config(team)
        real = self._root.inside(path[len(self._layout.teams) + 1 :])
        if not real.startswith(f"{self._root.known}/{team}/"):
            raise OutsideLink(
                f"{path} leads out of the teams' folder, to {real}", "remove the link", self._layout.team(team)
            )
        return real

    def create(self, team: str, content: bytes) -> bool:
        path = self._layout.team_config(team)
        try:
            self._inside(team)
            self._disk.make_folders(self._layout.inboxes(team))
            write_new(self._disk, path, content, mode=0o644)
        except FileExistsError:
            return False
        except OSError as error:
            raise refused(path, error) from error
        return True

    def change(self, team: str, change: Callable[[bytes], bytes]) -> None:
        if is_claudes_team(team):
            raise TeamNotOurs(
                f"{team!r} is a team of Claude Code, which overwrites its roster",
                "ask the lead of that session to change it",
                self._layout.team_config(team),
            )
        from atm.files.adapters.shared_edit import EditWhole, edit_shared

        with explained(self._layout.team_config(team)):
            path = self._inside(team)
        try:
            edit_shared(self._locks, path, EditWhole(change), self._put_aside(team))
        except FileNotFoundError:
            raise self._no_such(team) from None
        except OSError as error:
            raise refused(path, error) from error

    def _put_aside(self, team: str) -> Callable[[bytes], str]:
        return lambda data: self._archive().put_aside(team, "config", data)

    def undertaking(self, team: str, verb: str, name: str, detail: str = "") -> WrittenDown:
        said = {"verb": verb, "name": name, "detail": detail}
        return WrittenDown(self._locks, self._layout.roster_intent(team, name), said)

    def abandoned(self, team: str) -> list[dict[str, str]]:
        """Undertakings that nobody is at any more: their process is gone, so their lock is free."""
        return cut_off_in(self._locks, self._layout.roster_intents(team))


def cut_off_in(locks: Locks, folder: str) -> list[dict[str, str]]:
    """What is written down in a folder and nobody is at any more."""
    found = []
    with explained(folder):
        names = sorted(locks.disk.names(folder))
    for file in names:
        path = f"{folder}/{file}"
        if file.startswith(".") or not _is_abandoned(locks, path):
            continue
        try:
            fields = decode_object(to_text(read_whole(locks.disk, path)))
        except (OSError, NotJson):
            continue
        found.append({key: str(value) for key, value in fields.items()})
    return found


def _is_abandoned(locks: Locks, path: str) -> bool:
    lock = locks.private(path, patience=0)
    try:
        lock.acquire(locks.clock.monotonic())
    except (FileBusy, OSError):
        return False
    lock.release()
    return True


class WrittenDown:
    """A change of several files, written down while it is made. What was cut off is found by `cut_off_in`."""

    __slots__ = ("_disk", "_lock", "_path", "_said")

    def __init__(self, locks: Locks, path: str, said: dict[str, str], patience: float = PATIENCE) -> None:
        self._disk = locks.disk
        self._lock = locks.private(path, patience)
        self._path = path
        self._said = to_bytes(encode({key: value for key, value in said.items() if value}))

    def __enter__(self) -> None:
        with explained(self._path):
            self._lock.acquire(self._lock.locks.clock.monotonic() + self._lock.patience)
            try:
                self._disk.make_folders(self._path.rpartition("/")[0], private=True)
                write_over(self._disk, self._path, self._said)
            except OSError:
                self._lock.release()
                raise

    def __exit__(self, *_: object) -> None:
        try:
            self._disk.remove(self._path)
        except OSError:
            pass  # found as abandoned by the next roster command, which then has nothing to do
        self._lock.release()


def is_member(layout: Layout, team: str, who: str) -> bool:
    """For whoever knows only where files lie. A roster that cannot be read has nobody."""
    try:
        with open(layout.team_config(team), "rb") as file:
            return any(same_name(who, name) for name in member_names(file.read()))
    except (OSError, NotJson):
        return False
