"""One pass over a backup: what comes back into a team, and what stays away."""

from __future__ import annotations

from atm.board.formats.task import decode_task, task_mark
from atm.board.formats.task import detached as detached_task
from atm.core.errors import AtmError
from atm.core.names import is_safe_name
from atm.core.plain import counted
from atm.core.work_errors import DamagedBackup
from atm.files.formats.json_record import NotJson
from atm.mail.formats.inbox import Inbox, only, with_read
from atm.mail.formats.journal import histories
from atm.mail.rules.inbox_merge import put_back
from atm.mail.rules.receipts import ARCHIVED, RESTORED, already_read
from atm.mail.services.bookkeeping import record
from atm.roster.formats.backup_manifest import CONFIG, HIGH_WATER, HISTORY, INBOXES, LEDGER, MARK, STATE, TASKS, TEAM
from atm.roster.services.backups import inboxes_in, tasks_in
from atm.team.formats.team_config import decode_team, detached, detached_entry, with_member
from atm.team.rules.liveness import ONLINE
from atm.team.services import presence
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.roster.ports.backups import Contents
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team


BELONGINGS = (LEDGER, HISTORY, STATE)
"""Put back only where they are missing: each of them is a history, and two histories cannot be mixed."""


class Restored:
    """What came back, or would; and what did not, with the reason."""

    __slots__ = ("anew", "high_water", "inboxes", "members", "messages", "path", "skipped", "tasks", "team")

    def __init__(self, team: str, path: str) -> None:
        self.team = team
        self.path = path
        self.anew = False
        """Was there no such team any more?"""
        self.members: list[str] = []
        self.inboxes: list[str] = []
        self.messages = 0
        self.tasks: list[int] = []
        self.high_water = 0
        self.skipped: list[dict[str, object]] = []

    def skip(self, kind: str, name: str, reason: str) -> None:
        self.skipped.append({"kind": kind, "name": name, "reason": reason})


def restore_again(room: Teamroom, team: str, note: str) -> None:
    """Finish a restore that was cut off. A backup that is gone meanwhile leaves it at what came back."""
    what, _, path = note.partition(":")
    try:
        contents = room.backups.read(team, path)
        if contents.manifest.team == team:
            RestorePass(room, team, contents, skip_tasks=what == "without-tasks").run()
    except AtmError:
        return


class RestorePass:
    """One pass over a backup."""

    def __init__(
        self, room: Teamroom, team: str, contents: Contents, *, skip_tasks: bool, dry_run: bool = False
    ) -> None:
        self._room = room
        self._team = team
        self._contents = contents
        self._skip_tasks = skip_tasks
        self._dry_run = dry_run
        self._done = Restored(team, contents.path)
        self._config = contents.files[TEAM + CONFIG]
        try:
            self._then = decode_team(self._config, team)
        except NotJson as error:
            raise DamagedBackup(
                f"the roster in {contents.path} cannot be read: {error}", "choose another backup", contents.path
            ) from None

    def run(self) -> Restored:
        now = None if self._room.rosters.find(self._team) is None else find_team(self._room, self._team)
        self._done.anew = now is None
        if now is None and not self._dry_run:
            self._room.files.prepare(self._team)
        self._tasks()
        self._inboxes()
        self._belongings()
        if now is None:
            self._others()
            self._make_anew()
        else:
            self._members(now)
        return self._done

    # Members.

    def _make_anew(self) -> None:
        """Last of all: from here on there is a team. If it was complete, it is so again."""
        self._done.members = self._then.names
        if self._dry_run:
            return
        mark = self._contents.files.get(TEAM + MARK)
        if mark is not None:
            self._put(MARK, mark)
        self._room.rosters.create(self._team, detached(self._config))

    def _members(self, now: Team) -> None:
        missing = []
        for member in self._then.members:
            if self._then.is_lead(member.name) or now.is_lead(member.name):
                self._done.skip("member", member.name, "the lead is never restored into a team that lives")
            elif now.member(member.name) is not None:
                self._done.skip("member", member.name, "is there already")
            else:
                missing.append(member)
        self._done.members = [member.name for member in missing]
        if missing and not self._dry_run:
            entries = {member.name: detached_entry(member.raw) for member in missing}
            self._room.rosters.change(self._team, lambda data: self._entered(data, entries))

    def _entered(self, data: bytes, entries: dict[str, str]) -> bytes:
        here = decode_team(data, self._team)
        for name, entry in entries.items():
            if here.member(name) is None:
                data = with_member(data, entry)
        return data

    # Mail.

    def _inboxes(self) -> None:
        past = histories(self._room.ledger.entries(self._team)[0])
        for owner, data in inboxes_in(self._contents).items():
            if not is_safe_name(owner):
                self._done.skip("inbox", owner, "such a name could lead out of its folder")
                continue
            try:
                rows = Inbox(data).rows
            except NotJson:
                self._unreadable(owner, data)
                continue
            self._inbox(owner, data, rows, past)

    def _unreadable(self, owner: str, data: bytes) -> None:
        """It was no inbox when it was backed up. Put back as it was, if there is room for it."""
        if self._room.inboxes.exists(self._team, owner):
            self._done.skip("inbox", owner, "was unreadable when it was backed up, and there is one now")
        else:
            self._done.inboxes.append(owner)
            self._put(f"{INBOXES.removeprefix(TEAM)}{owner}.json", data)

    def _inbox(self, owner: str, data: bytes, rows: list[Message], past: dict[tuple[str, str], list[str]]) -> None:
        room, existed = self._room, self._room.inboxes.exists(self._team, owner)
        place = {row.key: number for number, row in enumerate(rows)}
        came: list[Message] = []
        kept_away: list[Message] = []

        def change(here: list[Message]) -> list[Message]:
            present = {row.key for row in here}
            absent = [row for row in rows if row.key not in present]
            kept_away[:] = [row for row in absent if not _may_return(row, past.get((row.id or "", owner), []))]
            gone = {row.key for row in kept_away}
            came[:] = [_returning(row, existed) for row in absent if row.key not in gone]
            return put_back(here, came, lambda row: place.get(row.key))

        whole = change([] if not existed else room.inboxes.rows(self._team, owner))
        content = data if len(whole) == len(rows) and not existed else only([row.raw for row in whole])
        if not self._dry_run and not self._put(f"{INBOXES.removeprefix(TEAM)}{owner}.json", content):
            room.inboxes.change(self._team, owner, change)
        if kept_away:
            self._done.skip("messages", owner, f"{len(kept_away)} were read, answered or archived since")
        if came or not existed:
            self._done.inboxes.append(owner)
        self._done.messages += len(came)
        self._note_return(owner, [row.id for row in came if row.id], bool(past))

    def _note_return(self, owner: str, ids: list[str], has_ledger: bool) -> None:
        """In a ledger that goes on; one that comes back with the team tells its own story."""
        if self._dry_run or not has_ledger:
            return
        try:
            record(self._room, self._team, owner, ids, RESTORED, f"restored from {self._contents.path}")
        except AtmError as error:
            self._done.skip("ledger", owner, f"the return of {counted(len(ids), 'message')} was not entered: {error}")

    # Tasks.

    def _tasks(self) -> None:
        if self._skip_tasks:
            self._done.skip("tasks", self._team, "--skip-tasks")
            return
        then, now = tasks_in(self._contents), self._room.files.tasks(self._team)
        mark = max([task_mark(self._contents.files.get(TASKS + HIGH_WATER, b"")), now.mark, *then, *now.numbers])
        for number in sorted(set(then) & now.numbers):
            self._done.skip("task", str(number), "is there already")
        for number in sorted(set(then) & (now.finished - now.numbers)):
            self._done.skip("task", str(number), "was finished since")
        taken = now.numbers | now.finished
        wanted = {number: self._free(data) for number, data in then.items() if number not in taken}
        self._done.tasks, self._done.high_water = sorted(wanted), mark
        if not self._dry_run and (then or mark > now.mark):  # also to clear up after a restore that was killed
            self._done.tasks, self._done.high_water = self._room.files.put_tasks(self._team, wanted, mark)

    def _free(self, data: bytes) -> bytes:
        """Nobody works on a task of the past, unless its owner is known to be there."""
        try:
            task = decode_task(data)
        except NotJson:
            return data
        if not task.is_claimed:
            return data
        known = presence.liveness(self._room.presence, self._team, task.owner, self._room.clock.now())
        return data if known.value == ONLINE else detached_task(data)

    # The rest.

    def _belongings(self) -> None:
        for name in BELONGINGS:
            data = self._contents.files.get(TEAM + name)
            if data is not None and not self._put(name, data):
                self._done.skip("file", name, "is there already")

    def _others(self) -> None:
        """What other programs kept in the folder of a team that is made anew."""
        ours = {TEAM + name for name in (CONFIG, MARK, *BELONGINGS)}
        for path, data in self._contents.files.items():
            if path.startswith(TEAM) and not path.startswith(INBOXES) and path not in ours:
                self._put(path.removeprefix(TEAM), data)

    def _put(self, path: str, data: bytes) -> bool:
        if self._dry_run:
            return not self._room.files.holds(self._team, path)
        return self._room.files.put(self._team, path, data)


def _may_return(row: Message, states: list[str]) -> bool:
    """Has its owner not had it since? One that was read when it was backed up comes back as read."""
    return ARCHIVED not in states and (row.read or not already_read(states))


def _returning(row: Message, existed: bool) -> Message:
    """A row without an id cannot be followed through the ledger: into a living inbox it comes back as read."""
    return with_read(row, True) if existed and row.id is None else row
