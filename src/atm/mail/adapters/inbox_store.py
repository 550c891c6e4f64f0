"""Inboxes on disk: `teams/{team}/inboxes/{member}.json`, shared with Claude Code."""

from __future__ import annotations

from atm.core.errors import FileBusy, OutsideLink, UnreadableFile
from atm.core.names import check_known_name, is_claudes_team, is_safe_name
from atm.files.adapters.locking import PATIENCE, read_body, trusted_in
from atm.files.adapters.refusals import RealRoot, explained, in_team
from atm.files.adapters.whole_files import Version, fill_and_link, read_whole
from atm.files.formats.json_record import NotJson, to_bytes
from atm.files.formats.layout import inbox_owner
from atm.mail.formats.inbox import EMPTY, Inbox, unread, unread_spans
from atm.mail.rules.inbox_merge import Written
from atm.mail.rules.quotas import LARGEST_FOREIGN, LARGEST_INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import TypeVar

    from atm.files.adapters.archive import ArchiveFolder
    from atm.files.adapters.locking import Locks, PrivateLock
    from atm.files.adapters.rewriting import Edit
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.mail.formats.inbox_counts import InboxCounts
    from atm.mail.formats.row_index import IndexedInbox, RowIndex
    from atm.mail.rules.messages import Message
    from atm.mail.rules.quotas import Allowance
    from atm.mail.rules.surfacing import Glance

    Parsed = TypeVar("Parsed")

MOST_REMEMBERED = 2000
"""Inboxes of which a process keeps in mind how they were."""

READ_TRIES, READ_NAP = 5, 0.02
"""Readers take no lock; a writer in place may be caught in the middle of a write."""

RECENT_TAIL = 128 * 1024

MOST_DECODED = 4 << 20
"""Bytes of rows that a glance decodes: far more than a hook can show, and some ten milliseconds."""

SEARCHED_END = 8 << 20
"""Bytes at the end of an inbox that is too large to go through, in which urgent messages are looked for."""


class InboxStore:
    """Implements `mail.ports.stores.Inboxes`."""

    __slots__ = ("_archive", "_clock", "_disk", "_layout", "_locks", "_root", "_untouched")

    def __init__(
        self, disk: Disk, clock: Clock, locks: Locks, layout: Layout, archive: Callable[[], ArchiveFolder]
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout
        self._archive = archive
        self._root = RealRoot(disk, layout.teams)
        self._untouched: dict[str, tuple[int, int, int, int]] = {}
        """Versions that are as we left them: what a daemon found out once it need not look up again."""

    # Writing. What it takes is imported here: an agent's hook mostly looks, and finds nothing.

    def append(
        self,
        team: str,
        agent: str,
        rows: list[Message],
        *,
        fresh: bool,
        patience: float | None = None,
        allowance: Allowance | None = None,
    ) -> Written:
        from atm.mail.adapters.inbox_edits import Append

        edit = Append(rows, fresh=fresh, allowance=allowance)
        merged = self._edit(team, agent, edit, PATIENCE if patience is None else patience)
        return Written(merged, len(edit.added))

    def claim(self, team: str, agent: str, choose: Callable[[list[Message]], list[Message]]) -> list[Message]:
        from atm.mail.adapters.inbox_edits import ClaimRows

        edit = ClaimRows(choose)
        self._edit(team, agent, edit)
        return edit.claimed or []

    def claim_named(self, team: str, agent: str, keys: Collection[object]) -> list[Message]:
        from atm.mail.adapters.inbox_edits import ClaimNamed

        edit = ClaimNamed(keys)
        self._edit(team, agent, edit)
        return edit.claimed

    def mark(self, team: str, agent: str, keys: Collection[object], read: bool, patience: float | None = None) -> None:
        from atm.mail.adapters.inbox_edits import Mark

        self._edit(team, agent, Mark(keys, read), PATIENCE if patience is None else patience)

    def change(
        self,
        team: str,
        agent: str,
        change: Callable[[list[Message]], list[Message]],
        patience: float | None = None,
    ) -> Written:
        from atm.mail.adapters.inbox_edits import ChangeRows

        return Written(self._edit(team, agent, ChangeRows(change), PATIENCE if patience is None else patience))

    def recheck(self, team: str, agent: str, patience: float | None = None) -> int | None:
        path = self._path(team, agent)
        with explained(path):
            try:
                fd = self._disk.open_read(self._locks.file_for(path))
            except FileNotFoundError:
                return None
            try:
                body = read_body(self._disk, fd)
            finally:
                self._disk.close(fd)
            if ("carried" not in body and "rewrite" not in body) or self._disk.look(path) is None:
                return None
        return self.change(team, agent, lambda rows: rows, patience).merged

    def create(self, team: str, agent: str) -> bool:
        path = self._path(team, agent)
        with in_team(path):
            return self._create(path)

    def remove(self, team: str, agent: str) -> bool:
        path = self._path(team, agent)
        with in_team(path):
            if self._disk.look(path) is None:
                return True
        with in_team(path), self._locks.shared(path):
            if self.rows(team, agent):
                return False
            self._disk.remove(path)
            self._disk.sync_folder(path.rpartition("/")[0])
        return True

    def exclusively(self, team: str, agent: str) -> PrivateLock:
        return self._locks.private(f"{self._path(team, agent)}/answers")

    def _create(self, path: str) -> bool:
        """An empty inbox by link: whoever comes first makes it, and no later comer overwrites it."""
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.atm-{self._locks.pid}-new"
        try:
            fd = self._disk.create(temporary, mode=0o644)
        except FileNotFoundError:
            self._make_inboxes(folder)
            fd = self._disk.create(temporary, mode=0o644)
        except FileExistsError:
            self._disk.remove(temporary)
            fd = self._disk.create(temporary, mode=0o644)
        try:
            fill_and_link(self._disk, temporary, fd, EMPTY, path)
        except FileExistsError:
            return False
        self._disk.sync_folder(folder)
        return True

    def _make_inboxes(self, folder: str) -> None:
        """Never the team's folder itself: if that is gone, the team is gone."""
        try:
            self._disk.make_folder(folder)
        except FileExistsError:
            pass

    def _edit(self, team: str, agent: str, edit: Edit, patience: float = PATIENCE) -> int:
        from atm.files.adapters.shared_edit import edit_shared
        from atm.mail.adapters.inbox_edits import Append

        path = self._path(team, agent)
        with in_team(path):
            if self._disk.look(path) is None:
                self._create(path)
            is_ours = not is_claudes_team(team)  # else absence means consumed or unknown: nothing may be placed twice
            return edit_shared(
                *(self._locks, path, edit, lambda data: self._archive().put_aside(team, agent, data), patience),
                rows_of=rows_by_key,
                watch=is_not_booked if is_ours else None,
                insist=is_ours and isinstance(edit, Append),
            )

    # Reading, without a lock.

    def unread(self, team: str, agent: str) -> list[Message]:
        return self._parsed(team, agent, unread)

    def has_room(self, team: str, agent: str, allowance: Allowance) -> bool:
        from atm.mail.adapters.inbox_edits import has_room

        path = self._path(team, agent)
        with in_team(path):
            try:
                version = Version(self._disk, self._disk.open_read(path))
            except FileNotFoundError:
                return True
            try:
                return has_room(version, allowance)
            except NotJson:
                return True
            finally:
                version.close()

    def glance(self, team: str, agent: str, people: Callable[[str], bool], most_rows: int) -> Glance:
        from atm.mail.rules.surfacing import Glance

        path = self._path(team, agent)
        with in_team(path):
            try:
                version = Version(self._disk, self._disk.open_read(path))
            except FileNotFoundError:
                return Glance([])
            try:
                if version.size <= LARGEST_INBOX:
                    data = version.read()
                    spans = unread_spans(data)
                    if spans == []:
                        return Glance([], size=version.size)
                    from atm.mail.formats.large_inbox import glance_at

                    found = glance_at(data, spans, people, most_rows, MOST_DECODED) if spans else None
                    if found is not None:
                        return found
                if version.size > LARGEST_FOREIGN:
                    from atm.mail.formats.large_inbox import urgent_at_end

                    urgent = urgent_at_end(version.tail(SEARCHED_END), people, most_rows, MOST_DECODED)
                    return Glance(urgent, size=version.size, is_whole=False)
            finally:
                version.close()
        return Glance(self.unread(team, agent), size=version.size)

    def indexed(self, team: str, agent: str, former: RowIndex | None) -> IndexedInbox:
        from atm.mail.formats.row_index import indexed

        return self._parsed(team, agent, lambda data: indexed(data, former))

    def counts(self, team: str, agent: str) -> InboxCounts:
        from atm.mail.formats.inbox_counts import count_rows

        return self._parsed(team, agent, count_rows)

    def rows(self, team: str, agent: str) -> list[Message]:
        return self._parsed(team, agent, lambda data: Inbox(data).rows)

    def _parsed(self, team: str, agent: str, parse: Callable[[bytes], Parsed]) -> Parsed:
        path = self._path(team, agent)
        problem = "empty"
        with in_team(path):
            for attempt in range(READ_TRIES):
                if attempt:
                    self._clock.sleep(READ_NAP)
                try:
                    return parse(read_whole(self._disk, path))
                except FileNotFoundError:
                    return parse(EMPTY)
                except NotJson as error:
                    problem = str(error)
        raise UnreadableFile(
            f"{path} cannot be read as an inbox: {problem}",
            "look at the file; `atm doctor` says what is wrong, and new mail waits in the spool",
            path,
        )

    def touched(self, team: str, agent: str) -> bool | None:
        path = self._path(team, agent)
        with explained(path):
            found = self._disk.look(path)
            if found is None:
                return True
            if self._untouched.get(path) == found.content:
                return False
            try:
                fd = self._disk.open_read(self._locks.file_for(path))
            except FileNotFoundError:
                return True
            try:
                body = read_body(self._disk, fd)
            finally:
                self._disk.close(fd)
        pid = body.get("pid")
        if isinstance(pid, int) and self._locks.is_alive(pid):
            return None
        if trusted_in(body) != list(found.content):
            return True
        if len(self._untouched) >= MOST_REMEMBERED:
            self._untouched.clear()
        self._untouched[path] = found.content
        return False

    def missing(self, team: str, agent: str, ids: Iterable[str]) -> list[str]:
        path = self._path(team, agent)
        with in_team(path):
            try:
                version = Version(self._disk, self._disk.open_read(path))
            except FileNotFoundError:
                return list(ids)
            try:
                absent = self._absent(version, list(ids))
            finally:
                version.close()
            if not absent:
                self._trust(path, version)
            return absent

    def _absent(self, version: Version, ids: list[str]) -> list[str]:
        """Recent rows stand at the end, so that is searched first."""
        tail = version.tail(RECENT_TAIL)
        absent = [id for id in ids if to_bytes(id) not in tail]
        if not absent or version.size <= RECENT_TAIL:
            return absent
        whole = version.read()
        return [id for id in absent if to_bytes(id) not in whole]

    def _trust(self, path: str, version: Version) -> None:
        """Nothing is missing in this version. If we cannot note that now, the next command looks again."""
        lock = self._locks.private(path, patience=0)
        try:
            lock.acquire(self._clock.monotonic())
            if not lock.left_behind and version.is_stamped_like(path):
                lock.trusted = list(version.stamp.content)
        except (FileBusy, OSError):
            return
        finally:
            lock.release()

    def exists(self, team: str, agent: str) -> bool:
        path = self._path(team, agent)
        with explained(path):
            return self._disk.look(path) is not None

    def size(self, team: str, agent: str) -> int:
        path = self._path(team, agent)
        with explained(path):
            found = self._disk.look(path)
            return found.size if found else 0

    def version(self, team: str, agent: str) -> object:
        path = self._path(team, agent)
        with explained(path):
            found = self._disk.look(path)
            if found is None:
                return None
            # A second write within a tick of the file system's clock would not show in one that was just written.
            is_settled = self._clock.now() - found.mtime_ns / 1e9 > 2.0
            return found.content if is_settled else object()

    def most_rows(self, team: str, agent: str) -> int:
        path = self._path(team, agent)
        with in_team(path):
            return read_whole(self._disk, path).count(b"{")  # each message begins with one

    def owners(self, team: str) -> list[str]:
        folder = self._layout.inboxes(team)
        with explained(folder):
            names = [inbox_owner(name) for name in self._disk.names(folder)]
        return sorted(name for name in names if name is not None and is_safe_name(name))

    # Where it really lies.

    def _path(self, team: str, agent: str) -> str:
        """The real path of an inbox. A link may not lead out of the team's own folder (G11)."""
        check_known_name(agent, "member")
        given = self._layout.inbox(team, agent)
        with explained(given):
            real = self._root.inside(given[len(self._layout.teams) + 1 :])
        if not real.startswith(f"{self._root.known}/{team}/"):
            raise OutsideLink(
                f"{given} leads out of its team's folder, to {real}", "remove the link, then try again", given
            )
        return real


def rows_by_key(data: bytes) -> dict[object, str]:
    return {row.key: row.raw for row in Inbox(data).rows}


def is_not_booked(raw: str) -> bool:
    """Is this row another program's? Ours are put back from the ledger, in their place; only those have this field."""
    return '"message_id"' not in raw
