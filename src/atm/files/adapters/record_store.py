"""
Records by key on disk, one file for each kind and team: implements `files.ports.records.Records`.

Only we write these files, each under a private lock of its own. One that cannot be used is put aside under that lock
and never by a reader, who might catch a writer in the middle; the part that needs it begins afresh.
"""

from __future__ import annotations

from atm.core.errors import NoSuchTeam, OutsideLink, WriteRefused
from atm.files.adapters.refusals import explained, in_team
from atm.files.adapters.team_data import KEPT_ASIDE, TeamData, put_aside, set_aside
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson
from atm.files.formats.record_file import LARGEST, no_records, read_records, spelled
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.core.plain import Record
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.formats.record_file import RecordFile
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk


class RecordFiles:
    """What the records say is the callers' business; here they are objects with keys."""

    __slots__ = ("_clock", "_disk", "_layout", "_locks", "_places")

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout
        self._places = TeamData(disk, layout)

    def read(self, team: str, shelf: str, keys: Collection[str] | None = None) -> dict[str, Record]:
        path = self._layout.records(team, shelf)
        with explained(path):
            try:
                self._places.check(team, path)
                return self._load(path, shelf).records(keys)
            except (NotJson, NoSuchTeam, OutsideLink):
                return {}  # what is wrong with it, `problem` says

    def change(
        self,
        team: str,
        shelf: str,
        change: Callable[[dict[str, Record]], dict[str, Record | None]],
        keys: Collection[str] | None = None,
    ) -> None:
        path = self._layout.records(team, shelf)
        with in_team(path), self._locks.private(path):
            home = self._places.check(team, path)
            former, found = self._usable(path, shelf, keys)
            answer = change(found)
            check_answer(answer, keys)
            content = former.changed(answer, to_iso(self._clock.now())) if answer else None
            if content is None:
                return
            if len(content) > LARGEST:
                raise WriteRefused(f"{path} would grow over {LARGEST >> 20} MB", "look at what is in it", path)
            self._places.prepare(team, path)
            if former.dropped:
                put_aside(self._disk, path, in_place=True)
            self._write(team, path, content, home)

    def _write(self, team: str, path: str, content: bytes, home: tuple[int, int]) -> None:
        if self._places.check(team, path) != home:
            # Deleted and made anew while we decided: what we know is about another team.
            raise FileNotFoundError(2, "the team was made anew", path)
        write_over(self._disk, path, content)

    def _usable(self, path: str, shelf: str, keys: Collection[str] | None) -> tuple[RecordFile, dict[str, Record]]:
        try:
            former = self._load(path, shelf)
            return former, former.records(keys)
        except NotJson:
            put_aside(self._disk, path)
            return no_records(shelf), {}

    def _load(self, path: str, shelf: str) -> RecordFile:
        """Raises NotJson for what cannot be used. A refusal of the disk is no damage: that is raised as it is."""
        found = self._disk.look(path)
        if found is None:
            return no_records(shelf)
        if found.kind != "file":
            raise NotJson(f"it is not a file but a {found.kind}" if found.kind != "other" else "it is not a file")
        if found.size > LARGEST:
            raise NotJson(f"it has more than {LARGEST >> 20} MB")
        try:
            return read_records(read_whole(self._disk, path), shelf)
        except FileNotFoundError:
            return no_records(shelf)

    # For people who look.

    def problem(self, team: str, shelf: str) -> str:
        path = self._layout.records(team, shelf)
        try:
            self._places.check(team, path)
            return "; ".join([*self._trouble_now(path, shelf), *self._trouble_before(path, shelf)])
        except NoSuchTeam:
            return ""
        except OutsideLink as error:
            return str(error)
        except OSError as error:
            return f"{path}: {error.strerror or error}"

    def _trouble_now(self, path: str, shelf: str) -> list[str]:
        why = self._fault(path, shelf)
        return [f"{path} cannot be used ({why}) and is put aside by the next change"] if why else []

    def _trouble_before(self, path: str, shelf: str) -> list[str]:
        aside = [set_aside(path, number) for number in range(1, KEPT_ASIDE + 1)]
        there = [one for one in aside if self._disk.look(one) is not None]
        if not there:
            return []
        why = self._fault(there[0], shelf) or "somebody has mended it since"
        return [f"{there[0]} was put aside ({why})", *([f"{len(there) - 1} older beside it"] if there[1:] else [])]

    def _fault(self, path: str, shelf: str) -> str:
        try:
            dropped = self._load(path, shelf).dropped
        except NotJson as error:
            return str(error)
        return f"not records: {', '.join(ascii(key)[:80] for key in dropped[:3])}" if dropped else ""


def check_answer(answer: dict[str, Record | None], keys: Collection[str] | None) -> None:
    """Who asked for some keys has not seen the others, and must not decide about them."""
    if keys is not None and (more := {*map(spelled, answer)} - {*map(spelled, keys)}):
        raise ValueError(f"{sorted(more)[:3]} were not asked for")
