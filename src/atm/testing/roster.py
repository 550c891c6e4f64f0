"""Twins of the ports of team life, in memory. They share the rosters, inboxes and ledger of the mail twins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from atm.board.formats.task import decode_task
from atm.core.errors import NoSuchTeam, UnreadableFile
from atm.core.work_errors import DamagedBackup, NoSuchBackup
from atm.files.formats.json_record import NotJson
from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import Inbox, only
from atm.roster.formats.backup_manifest import CONFIG, INBOXES, LEDGER, MARK, STATE, TASKS, TEAM, Listed, Manifest
from atm.roster.ports.backups import Contents, Kept
from atm.roster.ports.team_files import Deletion, TasksFound

if TYPE_CHECKING:
    from atm.testing.mail import MemoryInboxes, MemoryLedger
    from atm.testing.team import MemoryRosters

KEEP = 5


class MemoryStates:
    """Twin of `States`."""

    def __init__(self, rosters: MemoryRosters) -> None:
        self._rosters = rosters
        self.content: dict[str, bytes] = {}

    def read(self, team: str) -> bytes | None:
        return self.content.get(team)

    def begin(self, team: str, content: bytes) -> bool:
        if team in self.content:
            return False
        self.content[team] = content
        return True

    def change(self, team: str, change: Callable[[bytes | None], bytes | None]) -> None:
        if self._rosters.find(team) is None:
            raise NoSuchTeam(f"the folder of {team} is gone", "see `atm teams`")
        try:
            changed = change(self.content.get(team))
        except NotJson as error:
            raise UnreadableFile(f"the state of {team} cannot be read: {error}", "mend it") from None
        if changed is not None:
            self.content[team] = changed

    def mark(self, team: str) -> bytes | None:
        return self._rosters.marks.get(team)

    def complete(self, team: str, mark: bytes) -> bool:
        if team in self._rosters.marks:
            return False
        self._rosters.marks[team] = mark
        return True

    def set_lead_away(self, team: str, mark: bytes | None) -> bool:
        former = self._rosters.away.pop(team, None)
        if mark is not None:
            self._rosters.away[team] = mark
        return (former is None) != (mark is None)


class MemoryTeamFiles:
    """Twin of `TeamFiles`: what the other twins do not hold, and taking all of it away."""

    def __init__(
        self, rosters: MemoryRosters, inboxes: MemoryInboxes, ledger: MemoryLedger, states: MemoryStates
    ) -> None:
        self._rosters = rosters
        self._inboxes = inboxes
        self._ledger = ledger
        self._states = states
        self.others: dict[tuple[str, str], bytes] = {}
        self.lists: dict[str, dict[int, bytes]] = {}
        self.marks: dict[str, int] = {}
        self.aside: dict[str, dict[str, bytes]] = {}
        """What was set aside, by its name: the files it held."""
        self._cut_off: list[Deletion] = []

    def prepare(self, team: str) -> None:  # noqa: ARG002 - there is nothing to prepare in memory
        return None

    def put(self, team: str, path: str, data: bytes) -> bool:
        if (team, path) in self.others:
            return False
        if path == LEDGER:
            return self._ledger.put(team, data)
        if path == STATE:
            return self._states.begin(team, data)
        if path == MARK:
            return self._states.complete(team, data)
        if path.startswith("inboxes/"):
            agent = path.removeprefix("inboxes/").removesuffix(".json")
            if not self._inboxes.create(team, agent):
                return False
            self._inboxes.change(team, agent, lambda _: Inbox(data).rows)
            return True
        self.others.setdefault((team, path), data)
        return True

    def holds(self, team: str, path: str) -> bool:
        return TEAM + path in self.files_of(team, with_team=self._rosters.find(team) is not None)

    def content(self, team: str, path: str) -> bytes | None:
        return self.files_of(team, with_team=self._rosters.find(team) is not None).get(TEAM + path)

    def tasks(self, team: str) -> TasksFound:
        files = {number: decode_task(data) for number, data in self.lists.get(team, {}).items()}
        return TasksFound({**files}, self.marks.get(team, 0))

    def put_tasks(self, team: str, files: dict[int, bytes], least_mark: int) -> tuple[list[int], int]:
        here = self.lists.setdefault(team, {})
        new = {number: data for number, data in files.items() if number not in here}
        here.update(new)
        self.marks[team] = max([least_mark, self.marks.get(team, 0), *here, *files])
        return sorted(new), self.marks[team]

    def deleting(self, team: str, aside: str) -> _Deleting:  # noqa: ARG002 - a twin has one user
        return _Deleting(self._cut_off, team)

    def cut_off_deletion(self, team: str, aside: str) -> None:
        """What a killed process leaves."""
        self._cut_off.append(Deletion(team, aside))

    def cut_off(self) -> list[Deletion]:
        return list(self._cut_off)

    def set_aside(self, deletion: Deletion) -> None:
        files = self.files_of(deletion.team, with_team=self._rosters.find(deletion.team) is not None)
        self.aside.setdefault(deletion.aside, {}).update(files)
        self._rosters.take_away(deletion.team)
        self._inboxes.take_away(deletion.team)
        self._ledger.take_away(deletion.team)
        self._states.content.pop(deletion.team, None)
        self.lists.pop(deletion.team, None)
        self.marks.pop(deletion.team, None)

    def is_set_aside(self, deletion: Deletion) -> bool:
        return deletion.aside in self.aside

    def clear(self, deletion: Deletion) -> None:
        self.aside.pop(deletion.aside, None)

    def leftovers(self, team: str) -> list[str]:
        return sorted(name for name in self.aside if name.startswith(f".deleted-{team}-"))

    def files_of(self, team: str, *, with_team: bool = True) -> dict[str, bytes]:
        """Everything of a team, as the files that a backup holds."""
        found: dict[str, bytes] = {}
        if with_team:
            found[TEAM + CONFIG] = self._rosters.content(team)
            for agent in self._inboxes.owners(team):
                rows = [row.raw for row in self._inboxes.rows(team, agent)]
                found[f"{INBOXES}{agent}.json"] = only(rows)
            mark, state, log = self._states.mark(team), self._states.read(team), self._ledger.content(team)
            found |= {TEAM + MARK: mark} if mark is not None else {}
            found |= {TEAM + STATE: state} if state is not None else {}
            found |= {TEAM + LEDGER: log} if log else {}
            found |= {TEAM + path: data for (where, path), data in self.others.items() if where == team}
        found |= {f"{TASKS}{number}.json": data for number, data in self.lists.get(team, {}).items()}
        if team in self.marks:
            found[TASKS + ".highwatermark"] = str(self.marks[team]).encode()
        return found


class _Deleting:
    def __init__(self, cut_off: list[Deletion], team: str) -> None:
        self._cut_off = cut_off
        self._team = team

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._cut_off[:] = [one for one in self._cut_off if one.team != self._team]


class MemoryBackups:
    """Twin of `Backups`. `damage` names a backup that is found to be damaged."""

    def __init__(self, files: MemoryTeamFiles) -> None:
        self._files = files
        self._made: dict[str, list[tuple[Kept, Contents]]] = {}
        self.left_behind: dict[str, list[str]] = {}
        self.damage: str | None = None

    def make(self, team: str, at: float, *, final: bool = False, aside: str | None = None) -> Contents:
        files = dict(self._files.aside[aside]) if aside else self._files.files_of(team)
        made = self._made.setdefault(team, [])
        name = f"{'final-' if final else ''}{to_iso(at)}-{len(made) + 1}"
        listed = [Listed(path, len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items()]
        contents = Contents(f"backups/{team}/{name}", Manifest(team, to_iso(at), listed), files)
        made.append((Kept(name, contents.path, final), contents))
        plain = [one for one in made if not one[0].is_final]
        self._made[team] = [one for one in made if one not in plain[:-KEEP]]
        self.sweep(team)
        return contents

    def kept(self, team: str) -> list[Kept]:
        return [kept for kept, _ in self._made.get(team, [])]

    def read(self, team: str, given: str | None) -> Contents:
        found = [one for kept, one in self._made.get(team, []) if given is None or given in (kept.name, kept.path)]
        if not found:
            raise NoSuchBackup(f"team {team!r} has no backup {given or ''}", "make one")
        if self.damage is not None and found[-1].path.endswith(self.damage):
            raise DamagedBackup(f"{found[-1].path} is not what was backed up", "choose another backup")
        return found[-1]

    def covers(self, team: str, aside: str) -> bool:
        made = self._made.get(team, [])
        return bool(made) and self._files.aside.get(aside, {}).items() <= made[-1][1].files.items()

    def partial(self, team: str) -> list[str]:
        return list(self.left_behind.get(team, []))

    def sweep(self, team: str) -> None:
        self.left_behind.pop(team, None)
